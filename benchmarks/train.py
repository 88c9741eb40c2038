#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training speed of `wsc run` beside PyTorch: the same model, weights, batches and threads.

    train.py --wsc PROGRAM --dir DIR [--seconds 300] [--rounds 5] [--steps 10] [--wait 30]
             [--case NAME ...]

DIR/data/train holds the dataset; everything else goes to DIR too.  First both programs take one
step from the same weights; unless losses and gradient norms agree nothing is timed, and unless
PyTorch has a BLAS that is made for speed nothing is compared (Debian: libopenblas0-openmp).  Then every
case runs in rounds, the first one of all cases, then the second one of all, until --rounds are done
or --seconds are over; a line is printed for each.  A round is wsc, PyTorch.  A run's rate is the median over its steps
after the warm-up; what counts is the median over the rounds and the ratio within each.

Another program on the machine falsifies a rate, so every run waits (up to --wait seconds) for an
idle machine and notes which share of the processors others took meanwhile; a round that was
disturbed is tried again, up to twice, and the quietest attempt is kept.  Rates per CPU second, which
suffer less, stand beside the rates per second.  DIR/train.json has all of it.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

from runs import HERE, LARGE_BLOCKS, LOSS_TOLERANCE, WARM_UP, is_reference, spread

BATCH, T, C, L, V = 8, 256, 384, 6, 256
TOKENS = BATCH * T
# Products of a training step per token; attention over what causality lets through.
FLOP_PER_TOKEN = 6 * (L * 12 * C * C + V * C) + 6 * L * T * C
QUIET = 0.10  # of all processors
# name: format, threads, wafers (one rank each when more than one) or processes
CASES = {
    "fp32, 1 thread": ("fp32", 1, 1),
    "fp32, 2 threads": ("fp32", 2, 1),
    "fp32, 2 x 1 thread": ("fp32", 1, 2),
    "bf16, 1 thread": ("bf16", 1, 1),
    "bf16, 2 threads": ("bf16", 2, 1),
    "bf16, 2 x 1 thread": ("bf16", 1, 2),
}
TOLERANCE = {"fp32": (LOSS_TOLERANCE, 1e-3), "bf16": (5e-3, 2e-2)}  # loss; gradient norm, relative


def environment(threads):
    env = dict(os.environ)
    env["OMP_NUM_THREADS"] = str(threads)
    env["GLIBC_TUNABLES"] = LARGE_BLOCKS
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                 "OMPI_MCA_orte_execute_quiet", "OMPI_MCA_mpi_yield_when_idle"):
        env[name] = "1"
    env.pop("OMP_WAIT_POLICY", None)  # the machine is this benchmark's own: threads may spin
    return env


def processor_seconds():
    """Busy (other machines' share of this virtual one included) and all seconds of all processors."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK"), sum(ticks) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet(limit):
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        busy, total = processor_seconds()
        time.sleep(0.5)
        busy_after, total_after = processor_seconds()
        if busy_after - busy < QUIET * (total_after - total):
            return


def execute(command, env, log):
    """Run to the end; returns standard output, CPU seconds, share of the processors of others."""
    busy, total = processor_seconds()
    with open(log, "w", encoding="utf-8") as errors:
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors)
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        with open(log, encoding="utf-8") as errors:
            said = errors.read()[-2000:].strip()
        raise RunFailed(f"{' '.join(command)}: exit status {process.returncode}: {said}")
    busy_after, total_after = processor_seconds()
    cpu = usage.ru_utime + usage.ru_stime
    others = (busy_after - busy - cpu) / max(total_after - total, 1e-3)
    return output, cpu, max(others, 0.0)


class RunFailed(Exception):
    pass


class Bench:
    def __init__(self, args):
        self.args, self.dir = args, args.dir
        self.weights = os.path.join(args.dir, "initial.h5")
        self.start_cpu = {}
        self.blas = ""
        self.deadline = time.monotonic() + args.seconds

    def path(self, name):
        return os.path.join(self.dir, name)

    def run_wsc(self, case, steps, leaf=4):
        kind, threads, wafers = case
        model_dir = self.path("model_dir")
        shutil.rmtree(model_dir, ignore_errors=True)
        command = [self.args.wsc, "run", "--params", os.path.join(HERE, "train_384.yaml"),
                   "--checkpoint_path", self.weights, "--model_dir", model_dir,
                   "--num_steps", str(steps), "--num_csx", str(wafers),
                   "--set", "train_input.data_dir=" + self.path("data/train"),
                   "--set", f"reduction_leaf={leaf}", "--set", f"cluster.memoryx.shards={wafers}",
                   "--set", f"model.mixed_precision={'true' if kind == 'bf16' else 'false'}"]
        if wafers > 1:
            command = ["mpirun", "--quiet", "-n", str(wafers), "--bind-to", "core"] + command
        _, cpu, others = execute(command, environment(threads), self.path("wsc.log"))
        with open(os.path.join(model_dir, "metrics.jsonl"), encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        result = {"loss": rows[0]["loss"], "grad_norm": rows[0]["grad_norm"], "others": others}
        if steps <= WARM_UP:
            self.start_cpu[kind] = cpu  # set-up and first step
            return result
        result["tokens_per_s"] = statistics.median(r["host_tokens_per_s"] for r in rows[WARM_UP:])
        if wafers == 1:
            seconds = (cpu - self.start_cpu[kind]) / (steps - 1)
            result["tokens_per_cpu_s"] = TOKENS / seconds
        return result

    def run_torch(self, case, steps):
        kind, threads, processes = case
        command = [sys.executable, os.path.join(HERE, "train_torch.py"),
                   "--data", self.path("data/train"), "--weights", self.weights,
                   "--threads", str(threads), "--processes", str(processes), "--steps", str(steps)]
        if kind == "bf16":
            command.append("--bf16")
        output, _, others = execute(command, environment(threads), self.path("torch.log"))
        raw = json.loads(output.strip().splitlines()[-1])
        result = {"loss": raw["loss"][0], "grad_norm": raw["grad_norm"][0], "others": others}
        self.blas = raw.get("blas", self.blas)
        if steps > WARM_UP:
            result["tokens_per_s"] = TOKENS / statistics.median(raw["seconds"][WARM_UP:])
            if processes == 1:
                result["tokens_per_cpu_s"] = TOKENS / statistics.median(raw["cpu_seconds"][WARM_UP:])
        return result

    def verify(self, kind):
        """One step of both, and of two wafers; the weights are written by the first."""
        theirs = self.run_torch((kind, 1, 1), 1)
        ours, two = self.run_wsc((kind, 1, 1), 1), self.run_wsc((kind, 1, 2), 1)
        ours = self.run_wsc((kind, 1, 1), 1)
        loss_tolerance, norm_tolerance = TOLERANCE[kind]
        loss = abs(ours["loss"] - theirs["loss"])
        norm = abs(ours["grad_norm"] - theirs["grad_norm"]) / theirs["grad_norm"]
        same = all(ours[key] == two[key] for key in ("loss", "grad_norm"))
        valid = loss < loss_tolerance and norm < norm_tolerance and same
        print(f"{kind}: first step, loss {ours['loss']:.6f} (PyTorch {theirs['loss']:.6f}), "
              f"gradient norm {ours['grad_norm']:.5f} ({theirs['grad_norm']:.5f}), "
              f"two wafers {'the same bits' if same else 'DIFFER'}: "
              f"{'valid' if valid else 'NOT VALID'}", flush=True)
        return {"wsc": ours, "torch": theirs, "two_wafers_same": same, "valid": valid}

    def seconds_left(self):
        return max(0.0, self.deadline - time.monotonic())

    def wait(self):
        """For an idle machine, a tenth of what is left at most."""
        wait_until_quiet(min(self.args.wait, self.seconds_left() / 10))

    def round(self, case):
        """wsc, then PyTorch; again when others took part, the quietest attempt counts."""
        best = None
        for _ in range(3):
            self.wait()
            ours = self.run_wsc(case, self.args.steps)
            self.wait()
            theirs = self.run_torch(case, self.args.steps)
            others = max(ours["others"], theirs["others"])
            if best is None or others < best["others"]:
                best = {"wsc": ours, "torch": theirs, "others": others}
            if others < QUIET or not self.seconds_left():
                break
        return best

    def leaf_1(self, name):
        """The rate with micro-shards of one sample."""
        self.wait()
        return self.run_wsc(CASES[name], self.args.steps, leaf=1)

    @staticmethod
    def result(name, rounds, leaf_1):
        result = {"case": name, "rounds": rounds, "leaf": 4, "leaf_1": leaf_1}
        for key in ("tokens_per_s", "tokens_per_cpu_s"):
            if key not in rounds[0]["wsc"]:
                continue
            ours, theirs = ([r[who][key] for r in rounds] for who in ("wsc", "torch"))
            ratios = [a / b for a, b in zip(ours, theirs)]
            result[key] = {"wsc": spread(ours), "torch": spread(theirs), "ratio": spread(ratios)}
        result["others"] = max(r["others"] for r in rounds)
        result["quiet"] = result["others"] < QUIET
        return result


def peak_of(path):
    """GFLOP/s of the large square product by format: one thread per CPU second, all per second."""
    if not path:
        return {}
    with open(path, encoding="utf-8") as file:
        products = json.load(file)["products"]
    return {p["format"]: p for p in products if p["shape"] == "square_1024"}


def share_of_peak(result, peaks):
    """Of the products' peak per CPU second of one thread, where CPU seconds are known."""
    kind = result["case"].split(",")[0]
    if kind not in peaks or "tokens_per_cpu_s" not in result:
        return None
    rate = result["tokens_per_cpu_s"]["wsc"]["median"] * FLOP_PER_TOKEN / 1e9
    return rate / peaks[kind]["one_gflop_per_cpu_s"]


def show(result):
    rate, leaf = result["tokens_per_s"], result["leaf_1"]["tokens_per_s"]
    ours, theirs, ratio = rate["wsc"], rate["torch"], rate["ratio"]
    per_cpu = result.get("tokens_per_cpu_s")
    cpu = f"{per_cpu['ratio']['median']:11.2f}" if per_cpu else f"{'-':>11}"
    share = f"{100 * result['share_of_peak']:5.0f} %" if result["share_of_peak"] else f"{'-':>7}"
    print(f"{result['case']:<19} {ours['median']:6.0f} ({ours['min']:.0f}-{ours['max']:.0f}) "
          f"{theirs['median']:6.0f} ({theirs['min']:.0f}-{theirs['max']:.0f}) "
          f"{ratio['median']:6.2f} ({ratio['min']:.2f}-{ratio['max']:.2f}) {cpu} {share} "
          f"{leaf:7.0f} {100 * result['others']:6.0f} %", flush=True)


def measure(bench, names, results):
    """Rounds of all cases in turn, as long as there is time for one like the longest so far."""
    rounds, leaf_1, longest = {name: [] for name in names}, {}, 0.0
    for k in range(bench.args.rounds):
        for name in names:
            if k and name not in leaf_1:
                continue
            began = time.monotonic()
            if bench.seconds_left() <= longest:
                print(f"  round {k + 1}: {name}: skipped, no time left", flush=True)
                continue
            try:
                rounds[name].append(bench.round(CASES[name]))
                leaf_1[name] = leaf_1.get(name) or bench.leaf_1(name)
            except RunFailed as failure:
                leaf_1.pop(name, None)
                results["valid"] = False
                results["cases"].append({"case": name, "error": str(failure)})
                print(f"{name}: FAILED: {failure}", flush=True)
                continue
            longest = max(longest, time.monotonic() - began)
            rate = {who: rounds[name][-1][who]["tokens_per_s"] for who in ("wsc", "torch")}
            print(f"  round {k + 1}: {name:<19} {rate['wsc']:6.0f} tokens/s, "
                  f"PyTorch {rate['torch']:6.0f}", flush=True)
    return [bench.result(name, rounds[name], leaf_1[name]) for name in names if name in leaf_1]


def save(bench, results):
    with open(bench.path("train.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wsc", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--peak", help="JSON of sgemm_peak")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--wait", type=float, default=30)
    parser.add_argument("--case", action="append", choices=sorted(CASES))
    args = parser.parse_args()
    if args.steps <= WARM_UP or args.rounds < 1:
        sys.exit(f"--steps: more than {WARM_UP}; --rounds: at least 1")
    bench, names = Bench(args), args.case or list(CASES)
    kinds = sorted({CASES[name][0] for name in names}, reverse=True)
    results = {"flop_per_token": FLOP_PER_TOKEN, "cases": []}
    try:
        results["verification"] = {kind: bench.verify(kind) for kind in kinds}
    except RunFailed as failure:
        sys.exit(str(failure))
    results["valid"] = all(v["valid"] for v in results["verification"].values())
    results["blas"] = bench.blas
    if not results["valid"]:
        names = []  # what differs is not worth timing
    elif is_reference(bench.blas):
        print(f"PyTorch multiplies with the reference BLAS ({bench.blas}): nothing is compared; "
              "install libopenblas0-openmp")
        names = []
    save(bench, results)
    measured = measure(bench, names, results)
    if measured:
        print(f"{'tokens/s':<19} {'wsc':>16} {'PyTorch':>18} {'ratio':>18} {'per CPU s':>11} "
              f"{'of peak':>7} {'leaf 1':>7} {'others':>8}", flush=True)
    for result in measured:
        result["share_of_peak"] = share_of_peak(result, peak_of(args.peak))
        show(result)
        results["cases"].append(result)
    save(bench, results)
    sys.exit(0 if results["valid"] else 1)


if __name__ == "__main__":
    main()
