#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts for benchmarks: network namespaces of this machine, with links of a rate and a delay.

    hosts.py        prints what is missing for that and ends with 1; nothing and 0 where it works

Every host has a network, a name, mounts and shared memory of its own, and one interface, eth0, with
the address 10.78.0.<number + 1>; files are shared.  Needs root, `ip`, `tc`, `nsenter`, `setpriv` and
`unshare`.

Links have one of two forms:
  kernel      a pair of virtual interfaces (veth) to one bridge.  A rate is a token bucket (tbf) at
              both ends; a delay is netem at the end of the host, so each frame meets it once
  link_delay  the program benchmarks/link_delay.c, which carries frames between TAP devices.  A rate
              is tbf at the host that sends and link_delay's own at the host that receives
The second one is taken where a delay is wanted and the kernel has no netem; all rows of a table then
use it, those without a delay too.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

OWN_NETWORK = "WSC_BENCH_OWN_NETWORK"
PROGRAMS = ("unshare", "nsenter", "setpriv", "ip", "tc", "mpirun")
os.environ["PATH"] += ":/usr/sbin:/sbin"


def missing():
    """Why this process cannot make hosts, in one line; "" when it can."""
    for program in PROGRAMS:
        if not shutil.which(program):
            return f"no {program}: sh mpi_launch/deps.sh hosts"
    tried = subprocess.run(
        ["unshare", "--net", "--uts", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /dev/shm && "
         "ip link add br0 type bridge && ip link add port type veth peer name end"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if tried.returncode:
        return "no right to make namespaces, bridges and mounts (root has it)"
    return ""


def has_own_network():
    return bool(os.environ.get(OWN_NETWORK))


def own_network(name):
    """Starts this program again in a network and mounts of its own, where the bridge is."""
    if has_own_network():
        return
    reason = missing()
    if reason:
        sys.exit(f"{name}: {reason}")
    os.environ[OWN_NETWORK] = "1"
    os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv])


def shell(command):
    subprocess.run(command, shell=True, check=True)


def kernel_has_netem():
    tried = subprocess.run("ip link set lo up && tc qdisc add dev lo root netem delay 1ms && "
                           "tc qdisc del dev lo root", shell=True, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return tried.returncode == 0


class Hosts:
    """Hosts host0 .. of a network, each with a name of its own for mpirun.  With a program in
    link_delay, links can have a delay even where the kernel has no netem."""

    def __init__(self, directory, n, link_delay=None):
        self.dir, self.names, self.processes = directory, [f"host{i}" for i in range(n)], []
        self.networks, self.relay = set(), None
        self.form = "kernel"
        if link_delay and not kernel_has_netem():
            self.form = "link_delay"
            if not os.access(link_delay, os.X_OK):
                sys.exit(f"hosts: this kernel has no netem for delays, and {link_delay} is missing: "
                         "make benches")
            print("hosts: this kernel has no netem; delays by link_delay, in user space", flush=True)
        with open(self.path("hosts"), "w", encoding="ascii") as lines:
            lines.write("127.0.0.1 localhost\n")
            lines.writelines(f"{self.address(i)} {name}\n" for i, name in enumerate(self.names))
        try:
            for name in self.names:
                self.start(name)
            self.connect(link_delay)
        except BaseException:
            self.stop()
            raise
        self.agent = self.path("agent")
        with open(self.agent, "w", encoding="ascii") as script:
            script.write(f"#!/bin/sh\nhost=$1\nshift\nexec nsenter --target $(cat {directory}/$host.pid) "
                         f"--net --uts --mount --wd={os.getcwd()} sh -c \"$*\"\n")
        os.chmod(self.agent, 0o755)

    def path(self, name):
        return os.path.join(self.dir, name)

    @staticmethod
    def address(i):
        return f"10.78.0.{i + 1}"

    def start(self, name):
        up = self.path(name + ".up")
        init = (f"hostname {name} && ip link set lo up && mount -t tmpfs tmpfs /dev/shm && "
                f"mount --bind {self.path('hosts')} /etc/hosts && "
                f"touch {up} && exec sleep infinity")
        if os.path.exists(up):
            os.unlink(up)
        # A host outlives the end of a group of processes, so that its ranks can end in order, but
        # never this program.
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--uts",
                                    "--mount", "sh", "-c", init], start_new_session=True)
        self.processes.append(process)
        with open(self.path(name + ".pid"), "w", encoding="ascii") as pid:
            pid.write(f"{process.pid}\n")
        deadline = time.monotonic() + 10
        while not os.path.exists(up):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"{name} did not start")
            time.sleep(0.05)
        self.networks.add(os.readlink(f"/proc/{process.pid}/ns/net"))

    def connect(self, link_delay):
        if self.form == "link_delay":
            self.relay = subprocess.Popen([link_delay, *(str(p.pid) for p in self.processes)],
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                          start_new_session=True)
            self.answer("ready")
        else:
            shell("ip link set lo up && ip link add br0 type bridge && ip link set br0 up")
            for name, process in zip(self.names, self.processes):
                shell(f"ip link add {name} type veth peer name eth0 netns {process.pid} && "
                      f"ip link set {name} master br0 && ip link set {name} up")
        for i in range(len(self.names)):
            shell(" ".join(self.inside(i)) + " sh -c 'ip link set eth0 address "
                  f"02:00:00:00:00:{i + 1:02x} && ip addr add {self.address(i)}/24 dev eth0 && "
                  "ip link set eth0 up'")

    def inside(self, i):
        return ["nsenter", "--target", str(self.processes[i].pid), "--net", "--uts", "--mount",
                "--wd=" + os.getcwd()]

    def answer(self, word):
        if self.relay.stdout.readline().strip() != word:
            raise SystemExit("hosts: link_delay ended")

    def limit(self, rate, delay=0):
        """Gives all links a rate in Gbit/s, both directions (0: none), and a delay in ms, once
        between any two hosts."""
        for i, name in enumerate(self.names):
            self.shape(" ".join(self.inside(i)) + " ", "eth0", rate,
                       0 if self.relay else delay)
            if not self.relay:
                self.shape("", name, rate, 0)
        if self.relay:
            self.relay.stdin.write(f"{round(delay * 1e6)} {round(rate * 1e9 / 8)}\n")
            self.relay.stdin.flush()
            self.answer("set")

    @staticmethod
    def shape(prefix, port, rate, delay):
        subprocess.run(f"{prefix}tc qdisc del dev {port} root", shell=True, check=False,
                       stderr=subprocess.DEVNULL)
        parent = "root"
        if delay:
            shell(f"{prefix}tc qdisc add dev {port} root handle 1: netem delay {delay}ms limit 100000")
            parent = "parent 1:1"
        if rate:
            shell(f"{prefix}tc qdisc add dev {port} {parent} tbf rate {rate}gbit "
                  "burst 256kb latency 100ms")

    def counters(self):
        """Bytes that each host has sent and received."""
        return [self.counters_of(process.pid) for process in self.processes]

    @staticmethod
    def counters_of(pid):
        with open(f"/proc/{pid}/net/dev", encoding="ascii") as lines:
            words = next(line.split(":")[1].split() for line in lines if "eth0:" in line)
        return [int(words[8]), int(words[0])]

    def relay_cpu_s(self):
        """CPU seconds that link_delay has taken so far; 0 where the kernel has the links."""
        if not self.relay:
            return 0.0
        with open(f"/proc/{self.relay.pid}/stat", encoding="ascii") as stat:
            words = stat.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def inhabitants(self):
        """Processes in the networks of the hosts, also those of runs that were ended."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/net") in self.networks:
                    yield int(pid)

    def stop(self):
        for pid in list(self.inhabitants()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.processes + ([self.relay] if self.relay else []):
            process.kill()
            process.wait()


if __name__ == "__main__":
    REASON = missing()
    if REASON:
        print(REASON)
        sys.exit(1)
