#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Scaling of the emulator: wall time of a step on 1, 2 and 4 ranks, strong and weak, beside DDP.

    scaling.py --wsc PROGRAM --dir DIR [--ranks 1,2,4] [--batch 8] [--share 2] [--rounds 3]
               [--steps 7] [--ddp] [--one-host] [--seconds 3600] [--out DIR/scaling.json]

The model is train_384.yaml (10.8 M parameters, fp32) on DIR/data/train; every rank computes on one
thread.
  strong  one job for all numbers of ranks: as many wafers and MemoryX shards as the most ranks, with
          --batch sequences a step
  weak    a job that grows with the ranks: a wafer and a MemoryX shard for each rank, with --share
          sequences a step each
Each rank has a host of its own, a network namespace without a limit of its rate (hosts.py); with
--one-host, or where there is no right to make namespaces, all of them are on this one.  With --ddp
PyTorch's DistributedDataParallel over gloo (ddp.py) takes the same steps on the same hosts in the
same round, as many processes as there are ranks, each on one thread.

First every job takes two steps in one process and on its ranks: losses, norms and virtual times must
be equal, and the loss of the first step must be that of DDP from the same weights and batch.
In a round of P processors, with t(n) the median step of n ranks after the warm-up and w(n) the work
of a step over that of one rank (1, or n of a weak job):

  efficiency      t(1) w(n) / (n t(n))
  of processors   t(1) w(n) / (min(n, P) t(n)), which differs where more ranks than processors
                  compute: such rows are marked as oversubscribed, for both programs

A row is printed when it is known, and one that would not end within --seconds is skipped with a line
that says so.  At the end the medians over the rounds are printed; the file of --out has all rows.
"""
import argparse
import contextlib
import itertools
import os
import statistics
import time

import hosts as network_hosts
import runs

PARAMS = os.path.join(runs.HERE, "train_384.yaml")
KINDS = ("strong", "weak")
VERIFIED_STEPS = 2
HEAD = (f"{'job':>6}  {'ranks':>5}  {'step s':>6}  {'efficiency':>10}  {'of processors':>13}  "
        f"{'DDP s':>6}  {'efficiency':>10}  {'of processors':>13}  {'rate over DDP':>13}")


def figure(row, key, width, digits=2):
    return f"{row[key]:{width}.{digits}f}" if row.get(key) else f"{'-':>{width}}"


def line_of(row, processors):
    """The figures of a round, or their medians, under HEAD."""
    columns = (("step_s", 6, 3), ("efficiency", 10, 2), ("of_processors", 13, 2), ("ddp_s", 6, 3),
               ("ddp_efficiency", 10, 2), ("ddp_of_processors", 13, 2), ("of_ddp", 13, 2))
    text = f"{row['job']:>6}  {row['ranks']:5}  " + "  ".join(
        figure(row, *column) for column in columns)
    if row["ranks"] > processors:
        text += f"  oversubscribed: {row['ranks']} ranks on {processors} processors"
    return text


class Bench(runs.Runs):
    def __init__(self, args, hosts):
        super().__init__("scaling", args.dir, PARAMS)
        self.args, self.hosts = args, hosts
        self.budget = runs.Budget(args.seconds)
        self.values, self.first_loss = {}, {}
        self.processors, cores = runs.processors()
        self.result = {"processors": self.processors, "cores": cores,
                       "hosts": "namespaces" if hosts else "one", "rows": []}

    def job(self, kind, ranks):
        """Wafers and sequences of a step."""
        if kind == "strong":
            return max(self.args.ranks), self.args.batch
        return ranks, ranks * self.args.share

    def run(self, wsc, kind, job, ranks, steps):
        """Seconds of each step after the warm-up."""
        wafers, batch = job
        command, model_dir = self.command(wsc, wafers, {
            "cluster.memoryx.shards": wafers, "train_input.batch_size": batch})
        command += ["--num_steps", str(steps)]
        if self.args.ddp:
            command += ["--checkpoint_path", self.weights()]
        if self.hosts and ranks > 1:
            command = self.on_hosts(self.hosts, [1] * ranks) + command
        else:
            command = self.on_this_host(ranks) + command
        self.wait_for([command], runs.environment(1, GLIBC_TUNABLES=runs.LARGE_BLOCKS,
                                                  OMPI_MCA_mpi_yield_when_idle="1"))
        rows = self.metrics(model_dir)
        self.values.setdefault((kind, job), runs.Values("scaling")).check(rows)
        self.first_loss[job] = rows[0]["loss"]
        return self.seconds_of(rows, batch)

    def run_ddp(self, job, ranks, steps):
        """Seconds of each step after the warm-up."""
        if self.hosts:
            result = self.ddp([self.hosts.inside(i) for i in range(ranks)],
                              self.hosts.address(0), "eth0", job[1], steps)
        else:
            result = self.ddp([[]] * ranks, "127.0.0.1", "lo", job[1], steps)
        self.same_first_loss(self.first_loss[job], result["loss"][0])
        return result["seconds"][runs.WARM_UP:]

    def verified(self):
        """Takes all jobs in one process, on their ranks and with DDP, and ends the program unless
        they are equal; false when there was no time for that."""
        for wsc, kind, ranks in itertools.product(self.args.wsc, KINDS, self.args.ranks):
            job, since = self.job(kind, ranks), time.monotonic()
            what = f"{kind} on {ranks} rank{'s' * (ranks > 1)}"
            if not self.budget.fits("verification", what):
                return False
            for n in sorted({1, ranks}):
                self.run(wsc, kind, job, n, VERIFIED_STEPS)
            beside = ""
            if self.args.ddp:
                self.run_ddp(job, ranks, 1)
                beside = ", of DDP too"
            self.budget.took("verification", since)
            print(f"{what}: losses, norms and virtual times as in one process; first loss "
                  f"{self.first_loss[job]:.6f}{beside}", flush=True)
        return True

    def efficiencies(self, row, first):
        """Adds them to a row, which `first`, of one rank in the same round, can be, too."""
        work = row["ranks"] if row["job"] == "weak" else 1
        for seconds, prefix in (("step_s", ""), ("ddp_s", "ddp_")):
            if seconds in row:
                speedup = first[seconds] * work / row[seconds]
                row[prefix + "efficiency"] = speedup / row["ranks"]
                row[prefix + "of_processors"] = speedup / min(row["ranks"], self.processors)
        if "ddp_s" in row:
            row["of_ddp"] = row["ddp_s"] / row["step_s"]

    def row(self, number, which, kind, ranks):
        job = self.job(kind, ranks)
        row = {"round": number, "program": which, "job": kind, "ranks": ranks, "wafers": job[0],
               "batch": job[1], "oversubscribed": ranks > self.processors,
               "step_s": statistics.median(self.run(self.args.wsc[which], kind, job, ranks,
                                                    self.args.steps))}
        if self.args.ddp:
            row["ddp_s"] = statistics.median(self.run_ddp(job, ranks, self.args.steps))
        return row

    def measure(self):
        print(f"{self.processors} processors, {self.result['cores']} cores; " +
              ("each rank on a host of its own" if self.hosts else "all ranks on this host"),
              flush=True)
        if not self.verified():
            return
        print("round  " + HEAD, flush=True)
        for number, which, kind in itertools.product(range(self.args.rounds),
                                                     range(len(self.args.wsc)), KINDS):
            first = None
            for ranks in self.args.ranks:
                what = f"round {number}, {kind}, {ranks} rank{'s' * (ranks > 1)}"
                if ranks > 1 and not first:
                    print(f"{what}: skipped, nothing to compare it with", flush=True)
                    continue
                if not self.budget.fits((kind, ranks), what):
                    continue
                since = time.monotonic()
                row = self.row(number, which, kind, ranks)
                first = first or row
                self.efficiencies(row, first)
                self.budget.took((kind, ranks), since)
                self.result["rows"].append(row)
                runs.save(self.args.out, self.result)
                print(f"{number:5}  {line_of(row, self.processors)}"
                      f"{'  ' + self.args.wsc[which] if which else ''}", flush=True)

    def summary(self):
        print("       " + HEAD + "  [min, max] of efficiency")
        for which, kind, ranks in itertools.product(range(len(self.args.wsc)), KINDS,
                                                    self.args.ranks):
            mine = [row for row in self.result["rows"]
                    if (row["program"], row["job"], row["ranks"]) == (which, kind, ranks)]
            if not mine:
                continue
            of = {key: kind if key == "job" else statistics.median(row[key] for row in mine)
                  for key in mine[0]}
            of["ranks"] = ranks
            efficiency = [row["efficiency"] for row in mine]
            print(f"       {line_of(of, self.processors)}  "
                  f"[{min(efficiency):.2f}, {max(efficiency):.2f}]"
                  f"{'  ' + self.args.wsc[which] if which else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    runs.add_options(parser, steps=7)
    parser.add_argument("--ranks", default="1,2,4", help="numbers of ranks, 1 first",
                        type=lambda text: [int(x) for x in text.split(",")])
    parser.add_argument("--batch", type=int, default=8, help="sequences of a strong step")
    parser.add_argument("--share", type=int, default=2, help="sequences of a rank in a weak step")
    parser.add_argument("--ddp", action="store_true", help="PyTorch's DDP in the same rounds")
    parser.add_argument("--one-host", action="store_true", help="all ranks on this host")
    args = runs.arguments(parser)
    if args.ranks[0] != 1 or args.ranks != sorted(set(args.ranks)) or args.share < 1:
        parser.error("--ranks: rising, from 1; --share: at least 1")
    if any(args.batch % n or max(args.ranks) % n for n in args.ranks):
        parser.error("--ranks: each divides --batch and the most ranks")
    if not args.one_host:
        reason = "" if network_hosts.has_own_network() else network_hosts.missing()
        if reason:
            print(f"scaling: {reason}: all ranks on this host", flush=True)
            args.one_host = True
        else:
            network_hosts.own_network("scaling")
    blas, reason = runs.ddp_blas() if args.ddp else (None, "")
    if reason:
        print(f"scaling: no DDP beside it: {reason}", flush=True)
        args.ddp = False
    with contextlib.ExitStack() as ending:
        hosts = None
        if not args.one_host:
            hosts = network_hosts.Hosts(args.dir, max(args.ranks))
            ending.callback(hosts.stop)
        bench = Bench(args, hosts)
        bench.result["blas"] = blas
        bench.measure()
    bench.summary()


if __name__ == "__main__":
    main()
