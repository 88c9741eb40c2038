#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training over a slow network: time of a step beside the longer of computing and moving.

    network.py --wsc PROGRAM [--wsc ANOTHER] --dir DIR [--rates 0,2,1,0.5] [--rounds 3] [--steps 9]
               [--batch 8] [--wafers 1] [--threads 1] [--option OPTION_OF_WSC_RUN ...] [--ddp]

Hosts are network namespaces of this machine, each with a port of --rates Gbit/s in both directions
(tbf; 0: no limit) on one bridge: the first one has a MemoryX shard, the others a wafer each; the
SwarmX node of several wafers, at most four, is on the host of the first one.  Needs root, `ip`,
`tc`, `nsenter` and `mpirun`.

In every round, one after the other, and for each rate:
  computing  a step of one wafer with its share in one process on --threads threads: kernels and
             update.  Of several wafers as many processes at once, since the hosts share the
             processors of this machine: the slowest of them
  forward    of which the forward pass, as a batch of an evaluation of the same wafer takes it
  moving     the bytes of a step through a bare TCP connection on the same ports: the weights of the
             forward pass, then the rest, both directions at once, since no gradient can leave
             before the last weights have come; bytes come from the counters of the ports.  Of
             several wafers those of the busiest host, in and out at once, half of them in each
             phase
  step       a step of the run over the hosts, of each program: median after the warm-up
  DDP        with --ddp a step of PyTorch's DistributedDataParallel over gloo (ddp.py) on the same
             ports, from the same weights and batches: a process on the host of each wafer, or of
             one wafer on both hosts, each on one thread: so two processors compute, as do those of
             one wafer with --threads 2
The bound of a step is max(computing, moving), both of the same round.  Where gradients are clipped by
their norm a step has two phases, neither of which begins before the other has ended: the head takes
the last weights and the backward pass begins with it, and new weights need the norm of all
gradients.  So beside it stands

  phases     max(forward, weights) + max(computing - forward, gradients)

with the seconds of moving weights and gradients, and the ratio of the step to it.  Printed are
medians over the rounds, and DIR/network.json has all of them.  Values of all runs must be equal.
"""
import argparse
import datetime
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WARM_UP = 3
LOSS_TOLERANCE = 1e-4  # of train.py, fp32
EQUAL = ("loss", "grad_norm", "virtual_time_ps", "step_time_ps")


HEAD = "Gbit/s  step s  computing  forward  moving  weights  bound  ratio  phases  ratio"


def line_of(row):
    """The figures of a round, or their medians, under HEAD."""
    return (f"{row['rate_gbit_s'] or 'none':>6}  {row['step_s']:6.3f}  {row['computing_s']:9.3f}  "
            f"{row['forward_s']:7.3f}  {row['moving_s']:6.3f}  {row['weights_s']:7.3f}  "
            f"{row['bound_s']:5.3f}  {row['ratio']:5.2f}  {row['phases_s']:6.3f}  "
            f"{row['of_phases']:5.2f}")


def shell(command):
    subprocess.run(command, shell=True, check=True)


class Hosts:
    """Namespaces host0 .. on a bridge, each with a name of its own for mpirun."""

    def __init__(self, directory, n):
        self.dir, self.names, self.processes = directory, [f"host{i}" for i in range(n)], []
        with open(self.path("hosts"), "w", encoding="ascii") as lines:
            lines.write("127.0.0.1 localhost\n")
            lines.writelines(f"10.78.0.{i + 1} {name}\n" for i, name in enumerate(self.names))
        shell("ip link set lo up && ip link add br0 type bridge && ip link set br0 up")
        for i, name in enumerate(self.names):
            self.start(i, name)
        self.agent = self.path("agent")
        with open(self.agent, "w", encoding="ascii") as script:
            script.write(f"#!/bin/sh\nhost=$1\nshift\nexec nsenter --target $(cat {directory}/$host.pid) "
                         f"--net --uts --mount --wd={os.getcwd()} sh -c \"$*\"\n")
        os.chmod(self.agent, 0o755)

    def path(self, name):
        return os.path.join(self.dir, name)

    def start(self, i, name):
        up = self.path(name + ".up")
        init = (f"hostname {name} && ip link set lo up && mount -t tmpfs tmpfs /dev/shm && "
                f"mount --bind {self.path('hosts')} /etc/hosts && "
                f"touch {up} && exec sleep infinity")
        if os.path.exists(up):
            os.unlink(up)
        process = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c", init])
        self.processes.append(process)
        with open(self.path(name + ".pid"), "w", encoding="ascii") as pid:
            pid.write(f"{process.pid}\n")
        deadline = time.monotonic() + 10
        while not os.path.exists(up):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"{name} did not start")
            time.sleep(0.05)
        shell(f"ip link add {name} type veth peer name eth0 netns {process.pid} && "
              f"ip link set {name} master br0 && ip link set {name} up && " +
              " ".join(self.inside(i)) + f" sh -c 'ip addr add 10.78.0.{i + 1}/24 dev eth0 && "
              "ip link set eth0 up'")

    def inside(self, i):
        return ["nsenter", "--target", str(self.processes[i].pid), "--net", "--uts", "--mount",
                "--wd=" + os.getcwd()]

    def limit(self, rate):
        for i, name in enumerate(self.names):
            for prefix, port in ((" ".join(self.inside(i)) + " ", "eth0"), ("", name)):
                subprocess.run(f"{prefix}tc qdisc del dev {port} root", shell=True, check=False,
                               stderr=subprocess.DEVNULL)
                if rate:
                    shell(f"{prefix}tc qdisc add dev {port} root tbf rate {rate}gbit "
                          "burst 256kb latency 100ms")

    def counters(self):
        """Bytes that each host has sent and received, as its port of the bridge counts them."""
        with open("/proc/self/net/dev", encoding="ascii") as lines:
            words = {line.split(":")[0].strip(): line.split(":")[1].split()
                     for line in lines if ":" in line}
        # Received by the port (word 0) is sent by the host, and the other way round (word 8).
        return [[int(words[name][0]), int(words[name][8])] for name in self.names]

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


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


class Bench:
    def __init__(self, args, hosts):
        self.args, self.hosts, self.dir = args, hosts, args.dir
        self.reference = None
        self.losses = None

    def environment(self):
        env = dict(os.environ, OMP_NUM_THREADS=str(self.args.threads),
                   OMP_WAIT_POLICY="passive", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        env["GLIBC_TUNABLES"] = ("glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:"
                                 "glibc.malloc.trim_threshold=68719476736")
        return env

    def command(self, wsc, wafers, batch, number=0):
        """The program with its model, of which nothing is left from the run before, in the folder
        of that number."""
        model_dir = os.path.join(self.dir, "model_dir" + (str(number) if number else ""))
        shutil.rmtree(model_dir, ignore_errors=True)
        return [wsc, "run", "--params", os.path.join(HERE, "train_384.yaml"),
                "--model_dir", model_dir, "--num_csx", str(wafers),
                "--set", "cluster.memoryx.shards=1",
                "--set", "train_input.data_dir=" + os.path.join(self.dir, "data/train"),
                "--set", f"reduction_leaf={min(4, self.args.batch // self.args.wafers)}",
                "--set", f"train_input.batch_size={batch}", *self.args.option], model_dir

    def forward(self, batches):
        """Seconds of the forward pass of a wafer with its share, as many at once as there are
        wafers: between the log lines of the batches of an evaluation."""
        batch = self.args.batch // self.args.wafers
        options = ["--mode", "eval", "--set", f"runconfig.eval_steps={batches}"]
        for key, value in (("data_processor", "GptHDF5MapDataProcessor"), ("batch_size", batch),
                           ("data_dir", os.path.join(self.dir, "data/train")),
                           ("shuffle", "false")):
            options += ["--set", f"eval_input.{key}={value}"]
        runs = [self.command(self.args.wsc[0], 1, batch, i) for i in range(self.args.wafers)]
        self.wait_for([command + options for command, _ in runs])
        return max(self.between_batches(model_dir) for _, model_dir in runs)

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

    def wait_for(self, commands):
        """Run commands at the same time, to a good end."""
        with open(os.path.join(self.dir, "network.log"), "w", encoding="utf-8") as log:
            runs = [subprocess.Popen(command, env=self.environment(), stdout=log, stderr=log)
                    for command in commands]
            if any([run.wait() for run in runs]):
                raise SystemExit(f"network: a run failed: {log.name}")

    @staticmethod
    def metrics(model_dir):
        with open(os.path.join(model_dir, "metrics.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def compute(self, steps):
        """Seconds of a step of a wafer with its share, as many at once as there are wafers."""
        batch = self.args.batch // self.args.wafers
        runs = [self.command(self.args.wsc[0], 1, batch, i) for i in range(self.args.wafers)]
        self.wait_for([command + self.options(steps) for command, _ in runs])
        rows = [self.metrics(model_dir) for _, model_dir in runs]
        if self.args.wafers == 1:
            self.compare([[row[key] for key in EQUAL] for row in rows[0]])
        return max(statistics.median(batch / row["host_samples_per_s"] for row in of[WARM_UP:])
                   for of in rows)

    def run(self, steps, wsc=None):
        """Seconds of each step over the hosts after the warm-up."""
        wafers, batch = self.args.wafers, self.args.batch
        command, model_dir = self.command(wsc or self.args.wsc[0], wafers, batch)
        # The SwarmX node is a second rank on the host of the first wafer.
        slots = [name + (":2" if i == 1 and wafers > 1 else "")
                 for i, name in enumerate(self.hosts.names)]
        mpi = ["mpirun", "--quiet", "-n", str(wafers + 1 + (wafers > 1)), "--host",
               ",".join(slots), "--bind-to", "none", "--mca", "plm_rsh_agent",
               self.hosts.agent, "--mca", "btl_tcp_if_include", "eth0",
               "--mca", "oob_tcp_if_include", "eth0"]
        for name in ("GLIBC_TUNABLES", "OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
            mpi += ["-x", name]
        self.wait_for([self.hosts.inside(0) + mpi + command + self.options(steps)])
        rows = self.metrics(model_dir)
        self.compare([[row[key] for key in EQUAL] for row in rows])
        self.losses = [row["loss"] for row in rows]
        return [batch / row["host_samples_per_s"] for row in rows[WARM_UP:]]

    def weights(self):
        """The file of the weights from which both programs start."""
        path = os.path.join(self.dir, "initial.h5")
        if not os.path.exists(path):
            subprocess.run([sys.executable, "-c", "import sys, train_torch\n"
                            "train_torch.write_weights(sys.argv[1])", path], check=True,
                           env=dict(os.environ, PYTHONPATH=HERE))
        return path

    def run_ddp(self):
        """Median seconds of a step; its losses must be those of the run before."""
        world = max(2, self.args.wafers)
        first = len(self.hosts.names) - world
        ends = []
        for rank in range(world):
            env = ["env", "GLOO_SOCKET_IFNAME=eth0", "OMP_NUM_THREADS=1"]
            ends.append(subprocess.Popen(
                self.hosts.inside(first + rank) + env +
                [sys.executable, os.path.join(HERE, "ddp.py"), "--rank", str(rank),
                 "--world", str(world), "--address", f"10.78.0.{first + 1}",
                 "--data", os.path.join(self.dir, "data/train"), "--weights", self.weights(),
                 "--batch", str(self.args.batch), "--steps", str(self.args.steps)],
                env=self.environment(), stdout=subprocess.PIPE, text=True))
        said = [end.communicate()[0] for end in ends]
        if any(end.returncode for end in ends):
            raise SystemExit("network: ddp.py failed")
        result = json.loads(said[0])
        if abs(result["loss"][0] - self.losses[0]) > LOSS_TOLERANCE:
            raise SystemExit(f"network: loss {self.losses[0]} of the first step, "
                             f"of PyTorch {result['loss'][0]}")
        return statistics.median(result["seconds"][WARM_UP:])

    def compare(self, values):
        if self.reference is None or len(values) > len(self.reference):
            self.reference = values
        if values != self.reference[:len(values)]:
            raise SystemExit("network: values or virtual times differ between runs")

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

    def move(self, sent):
        """Seconds to move weights and gradients that the first host, which has the weights,
        exchanges with the wafer; of several wafers, what the busiest host does."""
        out, into = sent[0] if self.args.wafers == 1 else max(sent, key=max)
        forward = min(out, into)  # fp32: as many bytes of weights as of gradients
        phases = ((forward, 0), (out - forward, into))
        if self.args.wafers > 1:
            phases = ((out // 2, into // 2), (out - out // 2, into - into // 2))
        ends = []
        for listen, i, pairs in ((1, 0, phases), (0, 1, [(b, a) for a, b in phases])):
            ends.append(subprocess.Popen(
                self.hosts.inside(i) + [sys.executable, "-c", WIRE, str(listen), "10.78.0.1", "4",
                                        *(f"{a}:{b}" for a, b in pairs)],
                stdout=subprocess.PIPE, text=True))
        said = [end.communicate()[0] for end in ends]
        rounds = [[float(x) for x in line.split()] for line in said[0].splitlines()]
        return [statistics.median(phase) for phase in zip(*rounds[1:])]  # the first one warms up

    def measure(self):
        sent = [self.bytes_per_step(wsc) for wsc in self.args.wsc]
        for wsc, hosts in zip(self.args.wsc, sent):
            print(f"{wsc}: a step moves, MB sent / received: " + ", ".join(
                f"{name} {s / 1e6:.1f} / {r / 1e6:.1f}"
                for name, (s, r) in zip(self.hosts.names, hosts)), flush=True)
        rows = []
        print("round  " + HEAD, flush=True)
        for number in range(self.args.rounds):
            for rate in self.args.rates:
                self.hosts.limit(0)
                computing = self.compute(self.args.steps)
                forward = self.forward(self.args.steps)
                self.hosts.limit(rate)
                ddp = None
                for which, wsc in enumerate(self.args.wsc):
                    weights, gradients = self.move(sent[which])
                    bound = max(computing, weights + gradients)
                    phases = max(forward, weights) + max(computing - forward, gradients)
                    step = statistics.median(self.run(self.args.steps, wsc))
                    rows.append({"round": number, "rate_gbit_s": rate, "program": which,
                                 "step_s": step, "computing_s": computing, "forward_s": forward,
                                 "moving_s": weights + gradients, "weights_s": weights,
                                 "gradients_s": gradients, "bound_s": bound,
                                 "ratio": step / bound, "phases_s": phases,
                                 "of_phases": step / phases})
                    if self.args.ddp:
                        ddp = ddp or self.run_ddp()
                        rows[-1].update({"ddp_s": ddp, "of_ddp": ddp / step})
                    print(f"{number:5}  {line_of(rows[-1])}"
                          f"{f'  DDP {ddp:.3f} s' if ddp else ''}"
                          f"{'  ' + wsc if which else ''}", flush=True)
        return {"bytes_per_step": sent, "rows": rows}

    @staticmethod
    def beside_ddp(rows):
        if "of_ddp" not in rows[0]:
            return ""
        ratios = [row["of_ddp"] for row in rows]
        return (f"  DDP {statistics.median(row['ddp_s'] for row in rows):.3f} s, "
                f"{statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}] "
                "times its rate")

    def summary(self, result):
        print(HEAD + "  [min, max] of both ratios")
        for rate, which in itertools.product(self.args.rates, range(len(self.args.wsc))):
            mine = [row for row in result["rows"]
                    if (row["rate_gbit_s"], row["program"]) == (rate, which)]
            of = {key: statistics.median(row[key] for row in mine) for key in mine[0]}
            spread = [f"[{min(values):.2f}, {max(values):.2f}]" for values in
                      ([row[key] for row in mine] for key in ("ratio", "of_phases"))]
            print(f"{line_of(of)}  {' '.join(spread)}"
                  f"{self.beside_ddp(mine)}{'  ' + self.args.wsc[which] if which else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wsc", required=True, action="append")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rates", default="0,2,1,0.5",
                        type=lambda text: [float(x) for x in text.split(",")])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--wafers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of every rank of the program")
    parser.add_argument("--option", action="append", default=[], help="one more option of wsc run")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--ddp", action="store_true", help="PyTorch's DDP in the same rounds")
    args = parser.parse_args()
    args.dir, args.wsc = os.path.abspath(args.dir), [os.path.abspath(p) for p in args.wsc]
    if not os.environ.get("WSC_NETWORK_OWN_NET"):
        os.environ["WSC_NETWORK_OWN_NET"] = "1"
        os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv])
    if args.wafers > 4 or args.batch % args.wafers:
        parser.error("--wafers: at most 4, and --batch divides by them")
    hosts = Hosts(args.dir, args.wafers + 1)
    try:
        bench = Bench(args, hosts)
        result = bench.measure()
    finally:
        hosts.stop()
    bench.summary(result)
    with open(os.path.join(args.dir, "network.json"), "w", encoding="utf-8") as out:
        json.dump(result, out, indent=1)


if __name__ == "__main__":
    main()
