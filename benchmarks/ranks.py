#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One run of 4 systems as one process, on 2 ranks and on 17, and beside a busy neighbour.

    ranks.py --wsc PROGRAM [--wsc ANOTHER] --dir DIR [--rounds 3] [--steps 20] [--seconds 240]
             [--out DIR/ranks.json]

configs/params/default.yaml on DIR/data/train, on this host: what it costs to have more ranks than
processors, or another program beside them (scaling.py has the gain of several ranks).  A round runs
all cases of all programs one after the other; it is the ratio to the folded run of the same round
that counts, and printed are medians over the rounds.  The neighbour is a process that spins, bound
to the first processor.  Losses, norms and virtual times of all cases must be equal.  A case that
would not end within --seconds is skipped with a line that says so.  The file of --out has all rows.
"""
import argparse
import itertools
import os
import statistics
import subprocess
import time

import runs

WAFERS = 4
# name: ranks (1: folded), threads of each, neighbour
CASES = {
    "folded, 2 threads": (1, 2, False),
    "2 ranks": (2, 1, False),
    "17 ranks": (17, 1, False),
    "folded, busy neighbour": (1, 2, True),
}


class Bench(runs.Runs):
    def __init__(self, args):
        super().__init__("ranks", args.dir, os.path.join(runs.HERE, "../configs/params/default.yaml"))
        self.args, self.values = args, runs.Values("ranks")
        self.budget = runs.Budget(args.seconds)
        self.result = {"processors": runs.processors()[0], "rows": []}

    def run(self, wsc, ranks, threads, neighbour):
        """The median step after the warm-up, seconds."""
        command, model_dir = self.command(wsc, WAFERS, {"runconfig.checkpoint_steps": 0,
                                                        "runconfig.log_steps": 1})
        command += ["--num_steps", str(self.args.steps)]
        env = runs.environment(threads, OMPI_MCA_mpi_yield_when_idle="1")
        env.pop("OMP_WAIT_POLICY")  # threads of a folded run may spin
        spin = subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"]) \
            if neighbour else None
        try:
            self.wait_for([self.on_this_host(ranks) + command], env)
        finally:
            if spin:
                spin.kill()
                spin.wait()
        rows = self.metrics(model_dir)
        self.values.check(rows)
        return statistics.median(self.seconds_of(rows, WAFERS))

    def measure(self):
        print("round  case                     step s  of folded", flush=True)
        for number, (which, wsc) in itertools.product(range(self.args.rounds),
                                                      enumerate(self.args.wsc)):
            folded = None
            for name, case in CASES.items():
                if not self.budget.fits(name, f"round {number}, {name}"):
                    if not folded:
                        break  # ratios are to the folded run of the round
                    continue
                since = time.monotonic()
                step = self.run(wsc, *case)
                folded = folded or step
                self.budget.took(name, since)
                self.result["rows"].append({"round": number, "program": which, "case": name,
                                            "step_s": step, "ratio": step / folded})
                runs.save(self.args.out, self.result)
                print(f"{number:5}  {name:24} {step:6.3f}  {step / folded:9.2f}", flush=True)

    def summary(self):
        print("case                     step s  of folded [min, max]")
        for which, name in itertools.product(range(len(self.args.wsc)), CASES):
            mine = [r for r in self.result["rows"] if (r["program"], r["case"]) == (which, name)]
            if mine:
                print(f"{name:24} {statistics.median(r['step_s'] for r in mine):6.3f}  "
                      f"{runs.range_of([r['ratio'] for r in mine]):>9}"
                      f"{'  ' + self.args.wsc[which] if len(self.args.wsc) > 1 else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    runs.add_options(parser, steps=20, seconds=240)
    args = runs.arguments(parser)
    bench = Bench(args)
    bench.measure()
    bench.summary()


if __name__ == "__main__":
    main()
