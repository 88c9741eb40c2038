#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training over a slow network: time of a step beside the longer of computing and moving.

    network.py --wsc PROGRAM [--wsc ANOTHER] --dir DIR [--rates 0.5,1,2,5,10] [--delays 0]
               [--rounds 3] [--steps 9] [--batch 8] [--shards 1] [--wafers 1] [--threads 1] [--ddp]
               [--format fp32|bf16] [--option OPTION_OF_WSC_RUN ...] [--seconds 3600]
               [--out DIR/network.json]

Hosts are network namespaces of this machine (hosts.py), whose links have one of --rates in Gbit/s in
both directions (0: no limit) and one of --delays in milliseconds per direction, so that a message
and its answer take twice as long.  The first --shards hosts have a MemoryX shard each, the others a
wafer each; the SwarmX node of several wafers, at most four, is on the host of the first one.

In every round, one after the other, and for each rate and delay:
  computing  a step of one wafer with its share in one process on --threads threads: kernels and
             update.  Of several wafers as many processes at once, since the hosts share the
             processors of this machine: the slowest of them
  forward    of which the forward pass, as a batch of an evaluation of the same wafer takes it
  moving     the bytes of a step through a bare TCP connection on the same ports: the weights of the
             forward pass, then the rest, both directions at once, since no gradient can leave
             before the last weights have come; bytes come from the counters of the ports, of one
             wafer those of its host, of several those of the busiest host, in and out at once: of
             each byte of weights in the first phase one of gradients follows, with bf16 two
  answer     the time in which a byte and the one that answers it cross the same ports, milliseconds
  step       a step of the run over the hosts, of each program: median after the warm-up
  DDP        with --ddp a step of PyTorch's DistributedDataParallel over gloo (ddp.py) on the same
             ports, from the same weights and batches: a process on the host of each wafer, or of
             one wafer on both hosts, each on one thread: so two processors compute, as do those of
             one wafer with --threads 2; with bf16 under autocast, whose gradients have 32 bits
The bound of a step is max(computing, moving), both of the same round.  Where gradients are clipped by
their norm a step has two phases, neither of which begins before the other has ended: the head takes
the last weights and the backward pass begins with it, and new weights need the norm of all
gradients.  So beside it stands

  phases     max(forward, weights) + max(computing - forward, gradients)

with the seconds of moving weights and gradients, and the ratio of the step to it.  A row is printed
when it is known, and one that would not end within --seconds is skipped with a line that says so.
At the end the medians over the rounds are printed; the file of --out has all rows.  Values of all
runs must be equal.
"""
import argparse
import datetime
import itertools
import os
import statistics
import subprocess
import sys
import time

import hosts as network_hosts
import runs

PARAMS = os.path.join(runs.HERE, "train_384.yaml")


# One end of the bare transfer, in phases of OUT:IN bytes: sends OUT while it receives IN; prints for
# each of ROUNDS rounds the seconds of each phase, which ends when both ends have everything.
WIRE = """
import socket, sys, threading, time
listen, address, rounds = sys.argv[1] == "1", sys.argv[2], int(sys.argv[3])
if listen:
    server = socket.create_server((address, 7788)); s, _ = server.accept()
else:
    for attempt in range(100):
        try:
            s = socket.create_connection((address, 7788)); break
        except OSError:
            time.sleep(0.05)
s.settimeout(120)
block, room = bytes(1 << 20), bytearray(1 << 20)
def send(left):
    while left: left -= s.send(memoryview(block)[:min(left, 1 << 20)])
def barrier():
    s.sendall(b"x"); assert s.recv(1) == b"x"
def phase(out, into):
    thread = threading.Thread(target=send, args=(out,))
    thread.start()
    while into: into -= s.recv_into(room, min(into, 1 << 20))
    thread.join()
for r in range(rounds):
    for pair in sys.argv[4:]:
        barrier()
        since = time.monotonic()
        phase(*map(int, pair.split(":")))
        barrier()
        print(time.monotonic() - since, end=" ")
    print(flush=True)
"""

# The two ends of a connection exchange a byte: prints the median seconds from one to its answer.
ANSWER = """
import socket, statistics, sys, time
listen, address, n = sys.argv[1] == "1", sys.argv[2], int(sys.argv[3])
if listen:
    server = socket.create_server((address, 7789)); s, _ = server.accept()
else:
    for attempt in range(100):
        try:
            s = socket.create_connection((address, 7789)); break
        except OSError:
            time.sleep(0.05)
s.settimeout(120)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
took = []
for i in range(n):
    since = time.monotonic()
    if listen:
        s.sendall(b"x"); assert s.recv(1) == b"x"
    else:
        assert s.recv(1) == b"x"; s.sendall(b"x")
    took.append(time.monotonic() - since)
print(statistics.median(took))
"""
COLUMNS = (("Gbit/s", 6, lambda row: row["rate_gbit_s"] or "none"),
           ("delay ms", 8, lambda row: f"{row['delay_ms']:g}"),
           ("answer ms", 9, lambda row: f"{row['answer_ms']:.2f}"),
           ("step s", 6, lambda row: f"{row['step_s']:.3f}"),
           ("computing", 9, lambda row: f"{row['computing_s']:.3f}"),
           ("forward", 7, lambda row: f"{row['forward_s']:.3f}"),
           ("moving", 6, lambda row: f"{row['moving_s']:.3f}"),
           ("weights", 7, lambda row: f"{row['weights_s']:.3f}"),
           ("bound", 6, lambda row: f"{row['bound_s']:.3f}"),
           ("ratio", 5, lambda row: f"{row['ratio']:.2f}"),
           ("phases", 6, lambda row: f"{row['phases_s']:.3f}"),
           ("ratio", 5, lambda row: f"{row['of_phases']:.2f}"))
HEAD = "  ".join(f"{name:>{width}}" for name, width, _ in COLUMNS)


def line_of(row):
    """The figures of a round, or their medians, under HEAD."""
    return "  ".join(f"{text(row):>{width}}" for _, width, text in COLUMNS)


class Bench(runs.Runs):
    def __init__(self, args, hosts):
        super().__init__("network", args.dir, PARAMS)
        self.args, self.hosts = args, hosts
        self.values = runs.Values("network")
        self.budget = runs.Budget(args.seconds)
        self.first_loss = None
        self.result = {"processors": runs.processors()[0], "links": hosts.form,
                       "shards": args.shards, "wafers": args.wafers, "threads": args.threads,
                       "batch": args.batch, "format": args.format, "rows": []}

    def environment(self):
        return runs.environment(self.args.threads, GLIBC_TUNABLES=runs.LARGE_BLOCKS)

    def share(self):
        return self.args.batch // self.args.wafers

    def training(self, wsc, wafers, batch, number=0):
        settings = {"cluster.memoryx.shards": self.args.shards, "train_input.batch_size": batch,
                    "model.mixed_precision": str(self.args.format == "bf16").lower()}
        command, model_dir = self.command(wsc, wafers, settings, number)
        return command + self.args.option, model_dir

    def each_wafer(self):
        """Runs of one wafer with its share, as many as there are wafers."""
        return [self.training(self.args.wsc[0], 1, self.share(), i)
                for i in range(self.args.wafers)]

    def forward(self, batches):
        """Seconds of the forward pass of a wafer with its share, as many at once as there are
        wafers: between the log lines of the batches of an evaluation."""
        options = ["--mode", "eval", "--set", f"runconfig.eval_steps={batches}"]
        for key, value in (("data_processor", "GptHDF5MapDataProcessor"),
                           ("batch_size", self.share()), ("data_dir", self.path("data/train")),
                           ("shuffle", "false")):
            options += ["--set", f"eval_input.{key}={value}"]
        each = self.each_wafer()
        self.wait_for([command + options for command, _ in each], self.environment())
        return max(self.between_batches(model_dir) for _, model_dir in each)

    @staticmethod
    def between_batches(model_dir):
        """Median seconds between two batches of an evaluation."""
        with open(os.path.join(model_dir, "run.log"), encoding="utf-8") as lines:
            ends = [datetime.datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f")
                    for line in lines if "Eval Device" in line]
        return statistics.median((b - a).total_seconds() for a, b in zip(ends, ends[1:]))

    def options(self, steps):
        initial = ["--checkpoint_path", self.weights()] if self.args.ddp else []
        return ["--num_steps", str(steps), *initial]

    def compute(self, steps):
        """Seconds of a step of a wafer with its share, as many at once as there are wafers."""
        each = self.each_wafer()
        self.wait_for([command + self.options(steps) for command, _ in each], self.environment())
        rows = [self.metrics(model_dir) for _, model_dir in each]
        if self.args.wafers == 1:
            self.values.check(rows[0])
        return max(statistics.median(self.seconds_of(of, self.share())) for of in rows)

    def run(self, steps, wsc):
        """Seconds of each step over the hosts after the warm-up."""
        wafers = self.args.wafers
        command, model_dir = self.training(wsc, wafers, self.args.batch)
        # The SwarmX node is a second rank on the host of the first wafer.
        ranks_of = [1 + (i == self.args.shards and wafers > 1)
                    for i in range(self.args.shards + wafers)]
        self.wait_for([self.on_hosts(self.hosts, ranks_of) + command + self.options(steps)],
                      self.environment())
        rows = self.metrics(model_dir)
        self.values.check(rows)
        self.first_loss = rows[0]["loss"]
        return self.seconds_of(rows, self.args.batch)

    def run_ddp(self):
        """Median seconds of a step; its first loss must be that of the run before."""
        world = max(2, self.args.wafers)
        first = len(self.hosts.names) - world
        places = [self.hosts.inside(first + rank) for rank in range(world)]
        result = self.ddp(places, self.hosts.address(first), "eth0", self.args.batch,
                          self.args.steps, self.args.format)
        self.same_first_loss(self.first_loss, result["loss"][0], self.args.format)
        return statistics.median(result["seconds"][runs.WARM_UP:])

    def bytes_per_step(self, wsc):
        """[sent, received] of a step for each host: that of several steps less that of one."""
        self.hosts.limit(0)
        moved = []
        for steps in (1, 3):
            before = self.hosts.counters()
            self.run(steps, wsc)
            moved.append([[b - a for a, b in zip(*pair)]
                          for pair in zip(before, self.hosts.counters())])
        return [[(many - one) // 2 for one, many in zip(*pair)] for pair in zip(*moved)]

    def both_ends(self, program, words):
        """Standard output of a Python program on the first host, which listens, with another one
        on the second; of each its own words."""
        ends = [subprocess.Popen(
            self.hosts.inside(i) + [sys.executable, "-c", program, str(1 - i),
                                    self.hosts.address(0), *words[i]],
            stdout=subprocess.PIPE, text=True) for i in (0, 1)]
        said = [end.communicate()[0] for end in ends]
        if any(end.returncode for end in ends):
            raise SystemExit("network: the bare connection failed")
        return said[0]

    def move(self, sent):
        """Seconds to move weights and gradients that the shards exchange with the wafer; of several
        wafers, what the busiest host does."""
        out, into = reversed(sent[-1]) if self.args.wafers == 1 else max(sent, key=max)
        forward = min(out, into)  # at most as many bytes of weights as of gradients
        phases = ((forward, 0), (out - forward, into))
        if self.args.wafers > 1:
            parts = 2 if self.args.format == "fp32" else 3
            phases = ((out // parts, into // parts), (out - out // parts, into - into // parts))
        said = self.both_ends(WIRE, [["4", *(f"{a}:{b}" for a, b in phases)],
                                     ["4", *(f"{b}:{a}" for a, b in phases)]])
        rounds = [[float(x) for x in line.split()] for line in said.splitlines()]
        return [statistics.median(phase) for phase in zip(*rounds[1:])]  # the first one warms up

    def answer_ms(self):
        return 1e3 * float(self.both_ends(ANSWER, [["50"], ["50"]]))

    def row(self, which, wsc, sent, computing, forward):
        """One program on the ports as they are."""
        weights, gradients = self.move(sent)
        bound = max(computing, weights + gradients)
        phases = max(forward, weights) + max(computing - forward, gradients)
        step = statistics.median(self.run(self.args.steps, wsc))
        return {"program": which, "step_s": step, "computing_s": computing, "forward_s": forward,
                "moving_s": weights + gradients, "weights_s": weights, "gradients_s": gradients,
                "bound_s": bound, "ratio": step / bound, "phases_s": phases,
                "of_phases": step / phases}

    def all_programs(self, number, rate, delay, sent, alone):
        """The rows of a round at one rate and delay."""
        self.hosts.limit(rate, delay)
        answer, ddp = self.answer_ms(), None
        relay, since = self.hosts.relay_cpu_s(), time.monotonic()
        for which, wsc in enumerate(self.args.wsc):
            row = {"round": number, "rate_gbit_s": rate, "delay_ms": delay, "answer_ms": answer,
                   **self.row(which, wsc, sent[which], *alone)}
            if self.args.ddp:
                ddp = ddp or self.run_ddp()
                row.update({"ddp_s": ddp, "of_ddp": ddp / row["step_s"]})
            row["links_processors"] = ((self.hosts.relay_cpu_s() - relay) /
                                       (time.monotonic() - since))
            self.result["rows"].append(row)
            print(f"{number:5}  {line_of(row)}{f'  DDP {ddp:.3f} s' if ddp else ''}"
                  f"{'  ' + wsc if which else ''}", flush=True)
        runs.save(self.args.out, self.result)

    def measure(self):
        sent = [self.bytes_per_step(wsc) for wsc in self.args.wsc]
        self.result["bytes_per_step"] = sent
        for wsc, of_hosts in zip(self.args.wsc, sent):
            print(f"{wsc}: a step moves, MB sent / received: " + ", ".join(
                f"{name} {s / 1e6:.1f} / {r / 1e6:.1f}"
                for name, (s, r) in zip(self.hosts.names, of_hosts)), flush=True)
        print("round  " + HEAD, flush=True)
        for number, rate in itertools.product(range(self.args.rounds), self.args.rates):
            alone = None
            for delay in self.args.delays:
                if not self.budget.fits("row", f"round {number}, {rate or 'no limit of'} Gbit/s, "
                                               f"{delay:g} ms"):
                    continue
                since = time.monotonic()
                if not alone:
                    alone = self.compute(self.args.steps), self.forward(self.args.steps)
                self.all_programs(number, rate, delay, sent, alone)
                self.budget.took("row", since)

    @staticmethod
    def beside_ddp(rows):
        if "of_ddp" not in rows[0]:
            return ""
        return (f"  DDP {statistics.median(row['ddp_s'] for row in rows):.3f} s, "
                f"{runs.range_of([row['of_ddp'] for row in rows])} times its rate")

    def summary(self):
        print("       " + HEAD + "  [min, max] of both ratios")
        for rate, delay, which in itertools.product(self.args.rates, self.args.delays,
                                                    range(len(self.args.wsc))):
            mine = [row for row in self.result["rows"]
                    if (row["rate_gbit_s"], row["delay_ms"], row["program"]) == (rate, delay, which)]
            if not mine:
                continue
            of = {key: statistics.median(row[key] for row in mine) for key in mine[0]}
            spread = [f"[{min(values):.2f}, {max(values):.2f}]" for values in
                      ([row[key] for row in mine] for key in ("ratio", "of_phases"))]
            print(f"       {line_of(of)}  {' '.join(spread)}"
                  f"{self.beside_ddp(mine)}{'  ' + self.args.wsc[which] if which else ''}")
        taken = [row["links_processors"] for row in self.result["rows"]]
        if self.hosts.relay and taken:
            print(f"link_delay took {statistics.median(taken):.2f} of a processor, at most "
                  f"{max(taken):.2f}", flush=True)


def numbers(text):
    return [float(x) for x in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    runs.add_options(parser, steps=9)
    parser.add_argument("--rates", default="0.5,1,2,5,10", type=numbers, help="Gbit/s; 0: no limit")
    parser.add_argument("--delays", default="0", type=numbers, help="ms per direction")
    parser.add_argument("--shards", type=int, default=1, help="of MemoryX, a host each")
    parser.add_argument("--wafers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of every rank of the program")
    parser.add_argument("--option", action="append", default=[], help="one more option of wsc run")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--format", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--ddp", action="store_true", help="PyTorch's DDP in the same rounds")
    args = runs.arguments(parser)
    if not 1 <= args.wafers <= 4 or args.batch % args.wafers:
        parser.error("--wafers: at most 4, and --batch divides by them")
    if args.shards < 1:
        parser.error("--shards: at least 1")
    if min(args.rates + args.delays) < 0:
        parser.error("--rates, --delays: 0 or more")
    network_hosts.own_network("network")
    blas, reason = runs.ddp_blas() if args.ddp else (None, "")
    if reason:
        print(f"network: no DDP beside it: {reason}", flush=True)
        args.ddp = False
    hosts = network_hosts.Hosts(args.dir, args.shards + args.wafers,
                                runs.link_delay_of(args.wsc[0]) if any(args.delays) else None)
    try:
        bench = Bench(args, hosts)
        bench.result["blas"] = blas
        bench.measure()
    finally:
        hosts.stop()
    bench.summary()


if __name__ == "__main__":
    main()
