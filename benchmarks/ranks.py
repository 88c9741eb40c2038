#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One run of 4 systems as one process, on 2 ranks and on 17, and beside a busy neighbour.

    ranks.py --wsc PROGRAM [--wsc ANOTHER] --dir DIR [--rounds 3] [--steps 20] [--seconds 240]

configs/params/default.yaml on DIR/data/train.  A round runs all cases of all programs one after the
other; it is the ratio to the folded run of the same round that counts, and printed are medians over
the rounds.  The neighbour is a process that spins, bound to the first processor.  Losses, norms and
virtual times of all cases must be equal.  A round that would not end in --seconds is left out, with
a line that says so.  DIR/ranks.json has all of it.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WARM_UP = 3
EQUAL = ("loss", "grad_norm", "virtual_time_ps", "step_time_ps")
# name: ranks (1: folded), threads of each, neighbour
CASES = {
    "folded, 2 threads": (1, 2, False),
    "2 ranks": (2, 1, False),
    "17 ranks": (17, 1, False),
    "folded, busy neighbour": (1, 2, True),
}


class Bench:
    def __init__(self, args):
        self.args, self.reference = args, None

    def command(self, wsc, ranks, model_dir):
        command = [wsc, "run", "--params", os.path.join(HERE, "../configs/params/default.yaml"),
                   "--num_csx", "4", "--num_steps", str(self.args.steps), "--model_dir", model_dir,
                   "--set", "train_input.data_dir=" + os.path.join(self.args.dir, "data/train"),
                   "--set", "runconfig.checkpoint_steps=0", "--set", "runconfig.log_steps=1"]
        mpi = ["mpirun", "--quiet", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
        return (mpi if ranks > 1 else []) + command

    def run(self, wsc, ranks, threads, neighbour):
        """The median step after the warm-up, seconds."""
        model_dir = os.path.join(self.args.dir, "ranks_model")
        shutil.rmtree(model_dir, ignore_errors=True)
        env = dict(os.environ, OMP_NUM_THREADS=str(threads), OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
        env.pop("OMP_WAIT_POLICY", None)
        spin = subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"]) \
            if neighbour else None
        try:
            with open(os.path.join(self.args.dir, "ranks.log"), "w", encoding="utf-8") as log:
                subprocess.run(self.command(wsc, ranks, model_dir), env=env, stdout=log, stderr=log,
                               check=True)
        finally:
            if spin:
                spin.kill()
                spin.wait()
        with open(os.path.join(model_dir, "metrics.jsonl"), encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        values = [[row[key] for key in EQUAL] for row in rows]
        if self.reference not in (None, values):
            raise SystemExit("ranks: losses, norms or virtual times differ between runs")
        self.reference = values
        return statistics.median(4 / row["host_samples_per_s"] for row in rows[WARM_UP:])

    def measure(self):
        rows, began, longest = [], time.monotonic(), 0
        print("round  case                     step s  of folded", flush=True)
        for number in range(self.args.rounds):
            since = time.monotonic()
            if number and since - began + longest > self.args.seconds:
                print(f"round {number}: left out, it would not end in {self.args.seconds} s")
                break
            for which, wsc in enumerate(self.args.wsc):
                folded = None
                for name, case in CASES.items():
                    step = self.run(wsc, *case)
                    folded = folded or step
                    rows.append({"round": number, "program": which, "case": name, "step_s": step,
                                 "ratio": step / folded})
                    print(f"{number:5}  {name:24} {step:6.3f}  {step / folded:9.2f}", flush=True)
            longest = max(longest, time.monotonic() - since)
        return rows

    def summary(self, rows):
        print("case                     step s  of folded [min, max]")
        for which, wsc in enumerate(self.args.wsc):
            for name in CASES:
                mine = [r for r in rows if (r["program"], r["case"]) == (which, name)]
                ratios = [r["ratio"] for r in mine]
                print(f"{name:24} {statistics.median(r['step_s'] for r in mine):6.3f}  "
                      f"{statistics.median(ratios):9.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"
                      f"{'  ' + wsc if len(self.args.wsc) > 1 else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wsc", required=True, action="append")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=240)
    args = parser.parse_args()
    args.dir, args.wsc = os.path.abspath(args.dir), [os.path.abspath(p) for p in args.wsc]
    bench = Bench(args)
    rows = bench.measure()
    bench.summary(rows)
    with open(os.path.join(args.dir, "ranks.json"), "w", encoding="utf-8") as out:
        json.dump(rows, out, indent=1)


if __name__ == "__main__":
    sys.exit(main())
