#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training speed of `wsc run` beside PyTorch and llm.c: the same model, weights, batches, threads.

    train.py --wsc PROGRAM --dir DIR [--model NAME] [--llmc DIR] [--seconds 300] [--rounds 5]
             [--steps N] [--wait 30] [--tries 3] [--case NAME ...]

NAME is a row of train_models.py: gpt_384 (without --model), gpt2_small_64 or gpt2_small_1024.
DIR/data/train holds the dataset of gpt_384; the tokens of other models are made here; everything
else goes to DIR too.  First both programs take one step from the same weights; a format in which
losses and gradient norms differ is not timed, and unless PyTorch has a BLAS that is made for speed
nothing is compared (Debian: libopenblas0-openmp).  Where the environment asks OpenBLAS for kernels,
PyTorch runs without them if its own choice is faster.  Where PyTorch's step in bf16 is not that of
its own fp32 (oneDNN's kernels for some processors), wsc is verified against the latter and timed
alone.  The exit status is 1 when something differed.  Then every case runs in rounds, the first one
of all cases, then the second one of all, until --rounds are done or --seconds are over; a line is
printed for each.  A round is wsc, PyTorch, llm.c.  A run's rate is the median over its steps after
the warm-up; what counts is the median over the rounds and the ratio within each.

--llmc names a checkout of llm.c with its CPU program built (train_llmc.py); its loss of the first
step has to agree, too.

Another program on the machine falsifies a rate, so every run waits (up to --wait seconds) for an
idle machine and notes which share of the processors others took meanwhile; a round that was
disturbed is tried again, --tries times in all, and the quietest attempt is kept.  Rates per CPU
second, which suffer less, stand beside the rates per second.  Peak memory is the largest resident
set of a process.  DIR/train.json, or train_NAME.json of another model than gpt_384, has all of it.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

from runs import HERE, LARGE_BLOCKS, LOSS_TOLERANCE, is_reference, of_torch, spread
from train_llmc import Llmc, LeftOut
from train_models import MODELS, write_tokens

FIRST = "gpt_384"  # the model of `make bench`
GIB = 1 << 30
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
# Losses; llm.c approximates gelu by tanh, the others do not.
LLMC_TOLERANCE = 1e-3
# Loss; gradient norm, relative.
TOLERANCE = {"fp32": (LOSS_TOLERANCE["fp32"], 1e-3), "bf16": (LOSS_TOLERANCE["bf16"], 2e-2)}


def is_near(step, reference, kind):
    """Loss and gradient norm of a first step, within the tolerance of the format."""
    loss, norm = TOLERANCE[kind]
    off = abs(step["grad_norm"] - reference["grad_norm"]) / reference["grad_norm"]
    return abs(step["loss"] - reference["loss"]) < loss and off < norm


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
    """Run to the end; returns standard output, CPU seconds, share of the processors of others, peak
    memory of the process in GiB."""
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
    return output, cpu, max(others, 0.0), usage.ru_maxrss / (GIB >> 10)


def need_memory(program, gib):
    """One program runs at a time; one that would not fit is not started."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        kib = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    if kib < gib * (GIB >> 10):
        raise RunFailed(f"{program}: {gib} GiB of memory are needed, "
                        f"{kib / (GIB >> 10):.1f} GiB are available")


class RunFailed(Exception):
    pass


class Bench:
    def __init__(self, args):
        self.args, self.dir, self.model = args, args.dir, MODELS[args.model]
        self.suffix = "" if args.model == FIRST else "_" + args.model
        self.weights = self.path(f"initial{self.suffix}.h5")
        self.data = self.path(f"data{self.suffix}/train")
        self.start_cpu = {}
        self.torch_steps = {}
        self.alone = set()  # formats in which PyTorch's own step is wrong
        self.blas = ""
        self.llmc = None
        self.deadline = time.monotonic() + args.seconds
        if self.model.synthetic:
            write_tokens(self.model, self.data)

    def path(self, name):
        return os.path.join(self.dir, name)

    def run_wsc(self, case, steps, leaf=None):
        (kind, threads, wafers), model = case, self.model
        model_dir = self.path("model_dir")
        shutil.rmtree(model_dir, ignore_errors=True)
        settings = model.settings + (
            "train_input.data_dir=" + self.data, f"reduction_leaf={leaf or model.leaf}",
            f"cluster.memoryx.shards={wafers}",
            f"model.mixed_precision={'true' if kind == 'bf16' else 'false'}")
        command = [self.args.wsc, "run", "--params", os.path.join(HERE, "..", model.params),
                   "--checkpoint_path", self.weights, "--model_dir", model_dir,
                   "--num_steps", str(steps), "--num_csx", str(wafers)]
        for setting in settings:
            command += ["--set", setting]
        if wafers > 1:
            command = ["mpirun", "--quiet", "-n", str(wafers), "--bind-to", "core"] + command
        need_memory("wsc", model.memory_gib)
        _, cpu, others, peak = execute(command, environment(threads), self.path("wsc.log"))
        with open(os.path.join(model_dir, "metrics.jsonl"), encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        result = {"loss": rows[0]["loss"], "grad_norm": rows[0]["grad_norm"], "others": others}
        if wafers == 1:
            result["peak_gib"] = peak
        if steps <= model.warm_up:
            self.start_cpu[kind] = cpu  # set-up and first step
            return result
        rates = [row["host_tokens_per_s"] for row in rows[model.warm_up:]]
        result["tokens_per_s"] = statistics.median(rates)
        if wafers == 1:
            seconds = (cpu - self.start_cpu[kind]) / (steps - 1)
            result["tokens_per_cpu_s"] = model.batch_tokens / seconds
        return result

    def run_torch(self, case, steps):
        (kind, threads, processes), model = case, self.model
        command = [sys.executable, os.path.join(HERE, "train_torch.py"), "--model", self.args.model,
                   "--data", self.data, "--weights", self.weights, "--threads", str(threads),
                   "--processes", str(processes), "--steps", str(steps)]
        if kind == "bf16":
            command.append("--bf16")
        need_memory("PyTorch", model.memory_gib)
        output, _, others, peak = execute(command, of_torch(environment(threads)),
                                          self.path("torch.log"))
        raw = json.loads(output.strip().splitlines()[-1])
        result = {"loss": raw["loss"][0], "grad_norm": raw["grad_norm"][0], "others": others}
        self.blas = raw.get("blas", self.blas)
        if processes == 1:
            result["peak_gib"] = peak
        if steps > model.warm_up:
            rate = model.batch_tokens / statistics.median(raw["seconds"][model.warm_up:])
            result["tokens_per_s"] = rate
            if processes == 1:
                seconds = statistics.median(raw["cpu_seconds"][model.warm_up:])
                result["tokens_per_cpu_s"] = model.batch_tokens / seconds
        return result

    def run_llmc(self, case, steps):
        busy, total = processor_seconds()
        need_memory("llm.c", self.llmc.bytes_needed() / GIB)
        raw = self.llmc.run(steps, environment(case[1]))
        busy_after, total_after = processor_seconds()
        others = (busy_after - busy - raw["cpu"]) / max(total_after - total, 1e-3)
        first, tokens = self.model.warm_up, self.model.batch_tokens
        result = {"loss": raw["loss"][0], "others": max(others, 0.0), "peak_gib": raw["peak"] / GIB}
        if steps > first:
            result["tokens_per_s"] = tokens / statistics.median(raw["seconds"][first:])
            result["tokens_per_cpu_s"] = tokens / statistics.median(raw["cpu_seconds"][first:])
        return result

    def torch_step(self, kind):
        """PyTorch's first step in a format, taken once."""
        if kind not in self.torch_steps:
            self.torch_steps[kind] = self.run_torch((kind, 1, 1), 1)
        return self.torch_steps[kind]

    def verify(self, kind):
        """One step of both, and of two wafers; the weights are written by the first."""
        theirs = self.torch_step(kind)
        fp32 = self.torch_step("fp32")
        if not is_near(theirs, fp32, kind):
            print(f"{kind}: PyTorch's gradient norm is {theirs['grad_norm']:.5f}, in fp32 "
                  f"{fp32['grad_norm']:.5f}: it is not compared, wsc is verified against fp32",
                  flush=True)
            self.alone.add(kind)
            theirs = fp32
        ours, two = self.run_wsc((kind, 1, 1), 1), None
        if 2 in self.model.wafers:
            two = self.run_wsc((kind, 1, 2), 1)
            ours = self.run_wsc((kind, 1, 1), 1)
        same = not two or all(ours[key] == two[key] for key in ("loss", "grad_norm"))
        valid = is_near(ours, theirs, kind) and same
        of_two = f", two wafers {'the same bits' if same else 'DIFFER'}" if two else ""
        print(f"{kind}: first step, loss {ours['loss']:.6f} (PyTorch {theirs['loss']:.6f}), "
              f"gradient norm {ours['grad_norm']:.5f} ({theirs['grad_norm']:.5f})"
              f"{of_two}: {'valid' if valid else 'NOT VALID'}", flush=True)
        return {"wsc": ours, "torch": theirs, "two_wafers_same": same if two else None,
                "valid": valid}

    def verify_llmc(self, ours):
        """One step of llm.c from the weights of the others, beside @p ours; None: left out."""
        try:
            self.llmc = Llmc(self.args.llmc, self.model, self.path("llmc" + self.suffix))
            self.llmc.write_files(self.weights)
            theirs = self.run_llmc(("fp32", 1, 1), 1)
        except (LeftOut, RunFailed) as why:
            self.llmc = None
            print(f"llm.c is left out: {why}", flush=True)
            return None
        valid = abs(ours["loss"] - theirs["loss"]) < LLMC_TOLERANCE
        print(f"llm.c: first step, loss {theirs['loss']:.6f} (wsc {ours['loss']:.6f}): "
              f"{'valid' if valid else 'NOT VALID'}", flush=True)
        return dict(theirs, valid=valid)

    def seconds_left(self):
        return max(0.0, self.deadline - time.monotonic())

    def wait(self):
        """For an idle machine, a tenth of what is left at most."""
        wait_until_quiet(min(self.args.wait, self.seconds_left() / 10))

    def round(self, case):
        """wsc, PyTorch, llm.c; again when others took part, the quietest attempt counts."""
        best, run = None, {"wsc": self.run_wsc, "torch": self.run_torch}
        if case[0] in self.alone:
            del run["torch"]
        if self.llmc:
            run["llmc"] = self.run_llmc
        for _ in range(self.args.tries):
            attempt = {}
            for who, run_it in run.items():
                self.wait()
                attempt[who] = run_it(case, self.args.steps)
            others = max(result["others"] for result in attempt.values())
            if best is None or others < best["others"]:
                best = dict(attempt, others=others)
            if others < QUIET or not self.seconds_left():
                break
        return best

    def other_leaf(self, name):
        """The rate with micro-shards of another size; None for a model without this row."""
        leaf = self.model.other_leaf
        if not leaf:
            return None
        self.wait()
        return dict(self.run_wsc(CASES[name], self.args.steps, leaf=leaf), leaf=leaf)

    def result(self, name, rounds, other_leaf):
        result = {"case": name, "rounds": rounds, "leaf": self.model.leaf, "other_leaf": other_leaf}
        programs = [who for who in ("wsc", "torch", "llmc") if who in rounds[0]]
        for key in ("tokens_per_s", "tokens_per_cpu_s"):
            if key not in rounds[0]["wsc"]:
                continue
            rates = {who: [r[who][key] for r in rounds] for who in programs}
            result[key] = {who: spread(rates[who]) for who in programs}
            if "torch" in rates:
                result[key]["ratio"] = spread([a / b for a, b in zip(rates["wsc"], rates["torch"])])
            if "llmc" in rates:
                ratios = [a / b for a, b in zip(rates["wsc"], rates["llmc"])]
                result[key]["llmc_ratio"] = spread(ratios)
        if "peak_gib" in rounds[0]["wsc"]:
            result["peak_gib"] = {who: max(r[who]["peak_gib"] for r in rounds) for who in programs}
        result["others"] = max(r["others"] for r in rounds)
        result["quiet"] = result["others"] < QUIET
        return result


def peak_of(path):
    """GFLOP/s of the large square product by format: one thread per CPU second, all per second."""
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            products = json.load(file)["products"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"--peak {path}: no results of sgemm_peak: {error!r}")
    return {p["format"]: p for p in products if p["shape"] == "square_1024"}


def share_of_peak(result, peaks, flop_per_token):
    """Of the products' peak per CPU second of one thread, where CPU seconds are known."""
    kind = result["case"].split(",")[0]
    if kind not in peaks or "tokens_per_cpu_s" not in result:
        return None
    rate = result["tokens_per_cpu_s"]["wsc"]["median"] * flop_per_token / 1e9
    return rate / peaks[kind]["one_gflop_per_cpu_s"]


def head(other_leaf):
    leaf = f"leaf {other_leaf}" if other_leaf else "-"
    return (f"{'tokens/s':<19} {'wsc':>16} {'PyTorch':>18} {'ratio':>18} {'per CPU s':>11} "
            f"{'of peak':>7} {leaf:>7} {'others':>8} {'GiB':>11}")


def show(result):
    rate, leaf = result["tokens_per_s"], result["other_leaf"]
    per_cpu, peak = result.get("tokens_per_cpu_s"), result.get("peak_gib")
    ours, compared = rate["wsc"], f"{'-':>18} {'-':>18}"
    if "torch" in rate:
        theirs, ratio = rate["torch"], rate["ratio"]
        compared = (f"{theirs['median']:6.0f} ({theirs['min']:.0f}-{theirs['max']:.0f}) "
                    f"{ratio['median']:6.2f} ({ratio['min']:.2f}-{ratio['max']:.2f})")
    cpu = f"{per_cpu['ratio']['median']:11.2f}" if per_cpu and "torch" in rate else f"{'-':>11}"
    share = f"{100 * result['share_of_peak']:5.0f} %" if result["share_of_peak"] else f"{'-':>7}"
    lone = f"{leaf['tokens_per_s']:7.0f}" if leaf else f"{'-':>7}"
    memory = " ".join(f"{peak[who]:5.2f}" for who in ("wsc", "torch") if who in peak) if peak else "-"
    print(f"{result['case']:<19} {ours['median']:6.0f} ({ours['min']:.0f}-{ours['max']:.0f}) "
          f"{compared} {cpu} {share} "
          f"{lone} {100 * result['others']:6.0f} % {memory:>11}", flush=True)
    if "llmc" in rate:
        theirs, ratio = rate["llmc"], rate["llmc_ratio"]
        print(f"  llm.c: {theirs['median']:.1f} ({theirs['min']:.1f}-{theirs['max']:.1f}) "
              f"tokens/s, wsc over llm.c {ratio['median']:.2f} ({ratio['min']:.2f}-"
              f"{ratio['max']:.2f}), per CPU s {per_cpu['llmc_ratio']['median']:.2f}, "
              f"{peak['llmc']:.2f} GiB", flush=True)


def of_round(programs):
    """Rates of a round, those per CPU second in brackets."""
    texts = []
    for who, name in (("wsc", "wsc"), ("torch", "PyTorch"), ("llmc", "llm.c")):
        if who in programs:
            rate = programs[who]
            per_cpu = rate.get("tokens_per_cpu_s")
            texts.append(f"{name} {rate['tokens_per_s']:.1f}" +
                         (f" ({per_cpu:.1f} a CPU s)" if per_cpu else ""))
    return ", ".join(texts) + " tokens/s"


def measure(bench, names, results):
    """Rounds of all cases in turn, as long as there is time for one like the longest so far."""
    rounds, other_leaf, longest = {name: [] for name in names}, {}, 0.0
    for k in range(bench.args.rounds):
        for name in names:
            if k and name not in other_leaf:
                continue  # it failed before
            began = time.monotonic()
            if bench.seconds_left() <= longest:
                print(f"  round {k + 1}: {name}: skipped, no time left", flush=True)
                continue
            try:
                rounds[name].append(bench.round(CASES[name]))
                if name not in other_leaf:
                    other_leaf[name] = bench.other_leaf(name)
            except (RunFailed, LeftOut) as failure:
                other_leaf.pop(name, None)
                results["valid"] = False
                results["cases"].append({"case": name, "error": str(failure)})
                print(f"{name}: FAILED: {failure}", flush=True)
                continue
            longest = max(longest, time.monotonic() - began)
            print(f"  round {k + 1}: {name:<19} {of_round(rounds[name][-1])}", flush=True)
    return [bench.result(name, rounds[name], other_leaf[name]) for name in names if name in other_leaf]


def save(bench, results):
    with open(bench.path(f"train{bench.suffix}.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wsc", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--model", choices=list(MODELS), default=FIRST)
    parser.add_argument("--llmc", help="checkout of llm.c with train_gpt2 built")
    parser.add_argument("--peak", help="JSON of sgemm_peak")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of a run; without it as the model's row says")
    parser.add_argument("--wait", type=float, default=30)
    parser.add_argument("--tries", type=int, default=3, help="of a round that others disturb")
    parser.add_argument("--case", action="append", choices=sorted(CASES))
    args = parser.parse_args()
    model = MODELS[args.model]
    args.steps = args.steps or model.steps
    if args.steps <= model.warm_up or args.rounds < 1 or args.tries < 1:
        parser.error(f"--steps: more than {model.warm_up}; --rounds, --tries: at least 1")
    cases = [name for name, (kind, _, wafers) in CASES.items()
             if kind in model.kinds and wafers in model.wafers]
    for name in args.case or []:
        if name not in cases:
            parser.error(f"--case {name}: {args.model} is measured in {'; '.join(cases)}")
    args.case = args.case or cases
    return args


def verify(bench, kinds):
    """Losses and gradient norms of the first step of all programs."""
    results = {"verification": {kind: bench.verify(kind) for kind in kinds}}
    results["valid"] = all(v["valid"] for v in results["verification"].values())
    if bench.args.llmc and "fp32" in kinds:
        llmc = bench.verify_llmc(results["verification"]["fp32"]["wsc"])
        results["verification"]["llmc"] = llmc
        results["valid"] = results["valid"] and (not llmc or llmc["valid"])
    elif bench.model.synthetic or bench.args.llmc:
        print("llm.c is left out: " + ("it has fp32 only" if bench.args.llmc else "no --llmc DIR"),
              flush=True)
    return results


def worth_timing(bench, names, verification):
    """The cases whose first steps agree; what differs is left out by name."""
    for kind in sorted({CASES[name][0] for name in names}, reverse=True):
        if not verification[kind]["valid"]:
            print(f"{kind}: left out, since the first step differs", flush=True)
    if bench.llmc and not verification["llmc"]["valid"]:
        bench.llmc = None
        print("llm.c: left out, since the first step differs", flush=True)
    return [name for name in names if verification[CASES[name][0]]["valid"]]


def main():
    args = arguments()
    bench, names = Bench(args), args.case
    kinds = sorted({CASES[name][0] for name in names}, reverse=True)
    results = {"model": args.model, "flop_per_token": bench.model.flop_per_token, "cases": []}
    peaks = peak_of(args.peak)  # before anything is measured: a file that cannot be read ends it
    try:
        results.update(verify(bench, kinds))
    except RunFailed as failure:
        sys.exit(str(failure))
    results["blas"] = bench.blas
    names = worth_timing(bench, names, results["verification"])
    if is_reference(bench.blas):
        print(f"PyTorch multiplies with the reference BLAS ({bench.blas}): nothing is compared; "
              "install libopenblas0-openmp")
        names = []
    save(bench, results)
    measured = measure(bench, names, results)
    if measured:
        print(head(bench.model.other_leaf), flush=True)
    for result in measured:
        result["share_of_peak"] = share_of_peak(result, peaks, bench.model.flop_per_token)
        show(result)
        results["cases"].append(result)
    save(bench, results)
    sys.exit(0 if results["valid"] else 1)


if __name__ == "__main__":
    main()
