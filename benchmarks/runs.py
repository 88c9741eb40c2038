# SPDX-License-Identifier: Apache-2.0
"""Runs of `wsc` on several ranks and of PyTorch's DDP beside them, for network.py, scaling.py and
ranks.py: commands, environments, what must be equal, budgets of time and the file of results.
"""
import functools
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WARM_UP = 3
LOSS_TOLERANCE = {"fp32": 1e-4, "bf16": 5e-3}  # against PyTorch
EQUAL = ("loss", "grad_norm", "virtual_time_ps", "step_time_ps")
# Programs that free and take large blocks in every step keep them, in large pages.
LARGE_BLOCKS = ("glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:"
                "glibc.malloc.trim_threshold=68719476736")


def is_reference(blas):
    """Netlib's BLAS, the one of a system without another: PyTorch is some ten times slower with it."""
    return not any(name in blas for name in ("openblas", "mkl", "blis", "atlas"))


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def range_of(values):
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


# CPU seconds of a product of 1024 x 1024 x 1024 in fp32 by PyTorch on one thread, best of 25.
PRODUCT = """
import time, torch
torch.set_num_threads(1)
a = torch.rand(1024, 1024)
def once():
    since = time.process_time()
    a @ a
    return time.process_time() - since
print(min(once() for i in range(25)))
"""
CHOICES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # of kernels, instead of OpenBLAS's own


def without_choices(env):
    return {name: value for name, value in env.items() if name not in CHOICES}


def seconds_of_product(env):
    tried = subprocess.run([sys.executable, "-c", PRODUCT], env=dict(env, OMP_NUM_THREADS="1"),
                           stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL, check=False)
    return float(tried.stdout) if not tried.returncode else float("inf")


@functools.lru_cache(maxsize=None)
def chooses_best_itself():
    """True if PyTorch multiplies no slower without the kernels that the environment asks for."""
    asked = {name: os.environ[name] for name in CHOICES if name in os.environ}
    if not asked:
        return True
    mine, own = (seconds_of_product(env) for env in (os.environ, without_choices(os.environ)))
    if own == float("inf"):  # there is no PyTorch, which others report
        return True
    words = " ".join(f"{name}={value}" for name, value in asked.items())
    print(f"PyTorch without {words} of the environment multiplies {mine / own:.2f} times as fast: "
          f"they are {'left out' if own <= mine else 'kept'}", flush=True)
    return own <= mine


def of_torch(env):
    """The environment of a run of PyTorch, at its best."""
    return without_choices(env) if chooses_best_itself() else env


def ddp_blas():
    """The BLAS of PyTorch, and why DDP cannot be compared with, or ""."""
    tried = subprocess.run([sys.executable, "-c", "import train_torch; print(train_torch.blas())"],
                           env=dict(of_torch(os.environ), PYTHONPATH=HERE),
                           stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL,
                           check=False)
    blas = tried.stdout.strip()
    if tried.returncode:
        return None, "python3-torch and python3-h5py are not installed"
    if is_reference(blas):
        return blas, f"PyTorch multiplies with the reference BLAS ({blas}); install libopenblas0-openmp"
    return blas, ""


def processors():
    """Processors that this process may use, and the cores that the system says they are on."""
    usable = len(os.sched_getaffinity(0))
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        named = [line.split(":")[1].strip() for line in lines
                 if line.startswith(("physical id", "core id"))]
    return usable, len(set(zip(named[::2], named[1::2]))) or None


def link_delay_of(wsc):
    """The program of links with a delay that was built with `wsc`, BUILD/bin/wsc."""
    build = os.path.dirname(os.path.dirname(os.path.realpath(wsc)))
    return os.path.join(build, "benchmarks/link_delay")


def environment(threads, **more):
    """Of a run that shares its processors with other ranks: threads that wait sleep."""
    return dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive",
                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **more)


def add_options(parser, steps, seconds=3600):
    """Options that these benchmarks share."""
    parser.add_argument("--wsc", required=True, action="append")
    parser.add_argument("--dir", required=True, help="holds data/train, and gets all files")
    parser.add_argument("--out", help="file of the results")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--seconds", type=float, default=seconds, help="for all of it")


def arguments(parser):
    args = parser.parse_args()
    args.dir, args.wsc = os.path.abspath(args.dir), [os.path.abspath(p) for p in args.wsc]
    args.out = args.out or os.path.join(args.dir, os.path.basename(parser.prog)[:-3] + ".json")
    if args.steps <= WARM_UP or args.rounds < 1:
        parser.error(f"--steps: more than {WARM_UP}; --rounds: at least 1")
    os.makedirs(args.dir, exist_ok=True)
    # An end from outside (timeout) removes hosts and ranks as a usual one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return args


class Budget:
    """Seconds for a benchmark, of which a row that would not fit is left out."""

    def __init__(self, seconds):
        self.ends, self.longest = time.monotonic() + seconds, {}

    def fits(self, kind, what):
        """Whether there is time for another row as long as the longest of its kind so far."""
        left = self.ends - time.monotonic()
        if left > self.longest.get(kind, 0.0):
            return True
        print(f"{what}: skipped, no time left", flush=True)
        return False

    def took(self, kind, since):
        self.longest[kind] = max(self.longest.get(kind, 0.0), time.monotonic() - since)


def save(path, results):
    """Writes results at once, so that no end leaves half of them."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=os.path.dirname(path) or ".",
                                     delete=False) as out:
        json.dump(results, out, indent=1)
    os.chmod(out.name, 0o644)
    os.replace(out.name, path)


def end(process):
    """Ends what may still run, mpirun with its ranks."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Values:
    """What all runs of one job must have in common: losses, norms and virtual times by step."""

    def __init__(self, name):
        self.name, self.reference = name, None

    def check(self, rows):
        values = [[row[key] for key in EQUAL] for row in rows]
        if self.reference is None or len(values) > len(self.reference):
            values, self.reference = self.reference or [], values
        if values != self.reference[:len(values)]:
            raise SystemExit(f"{self.name}: losses, norms or virtual times differ between runs")


class Runs:
    """Starts runs in a folder; `name` is that of the benchmark, for its messages and its log."""

    def __init__(self, name, directory, params):
        self.name, self.dir, self.params = name, directory, params

    def path(self, name):
        return os.path.join(self.dir, name)

    def command(self, wsc, wafers, settings, number=0):
        """The program with its model, of which nothing is left from the run before, in the folder
        of that number."""
        model_dir = self.path(f"{self.name}_model" + (str(number) if number else ""))
        shutil.rmtree(model_dir, ignore_errors=True)
        command = [wsc, "run", "--params", self.params, "--model_dir", model_dir,
                   "--num_csx", str(wafers)]
        for key, value in {"train_input.data_dir": self.path("data/train"), **settings}.items():
            command += ["--set", f"{key}={value}"]
        return command, model_dir

    def wait_for(self, commands, env):
        """Run commands at the same time, to a good end."""
        log = self.path(f"{self.name}.log")
        runs, failed = [], False
        try:
            with open(log, "w", encoding="utf-8") as out:
                for command in commands:
                    runs.append(subprocess.Popen(command, env=env, stdout=out, stderr=out))
            failed = any([run.wait() for run in runs])
        finally:
            for run in runs:
                end(run)
        if failed:
            with open(log, encoding="utf-8", errors="replace") as said:
                last = said.read()[-500:].strip()
            raise SystemExit(f"{self.name}: a run failed: {log}: {last}")

    @staticmethod
    def metrics(model_dir):
        with open(os.path.join(model_dir, "metrics.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    @staticmethod
    def seconds_of(rows, batch):
        """Of each step after the warm-up."""
        return [batch / row["host_samples_per_s"] for row in rows[WARM_UP:]]

    @staticmethod
    def on_hosts(hosts, ranks_of):
        """mpirun with so many ranks on each host, from the first one."""
        slots = [f"{name}:{n}" for name, n in zip(hosts.names, ranks_of)]
        mpi = ["mpirun", "--quiet", "-n", str(sum(ranks_of)), "--host", ",".join(slots),
               "--bind-to", "none", "--mca", "plm_rsh_agent", hosts.agent,
               "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]
        for name in ("GLIBC_TUNABLES", "OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
            mpi += ["-x", name]
        return hosts.inside(0) + mpi

    @staticmethod
    def on_this_host(ranks):
        """mpirun with so many ranks, nothing for one."""
        if ranks == 1:
            return []
        return ["mpirun", "--quiet", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]

    def weights(self):
        """The file of the weights from which both programs start."""
        path = self.path("initial.h5")
        if not os.path.exists(path):
            subprocess.run([sys.executable, "-c", "import sys, train_torch\n"
                            "train_torch.write_weights(sys.argv[1])", path], check=True,
                           env=dict(of_torch(os.environ), PYTHONPATH=HERE))
        return path

    def ddp(self, places, address, interface, batch, steps, kind="fp32"):
        """ddp.py, a process on one thread at each of the places (commands that enter a host);
        {"loss": [...], "seconds": [...]}."""
        ends = []
        env = of_torch(environment(1, GLIBC_TUNABLES=LARGE_BLOCKS, GLOO_SOCKET_IFNAME=interface))
        try:
            for rank, place in enumerate(places):
                ends.append(subprocess.Popen(
                    place + [sys.executable, os.path.join(HERE, "ddp.py"), "--rank", str(rank),
                             "--world", str(len(places)), "--address", address,
                             "--data", self.path("data/train"), "--weights", self.weights(),
                             "--batch", str(batch), "--steps", str(steps),
                             *(["--bf16"] if kind == "bf16" else [])],
                    env=env, stdout=subprocess.PIPE, text=True))
            said = [process.communicate()[0] for process in ends]
        finally:
            for process in ends:
                end(process)
        if any(process.returncode for process in ends):
            raise SystemExit(f"{self.name}: ddp.py failed")
        return json.loads(said[0])

    def same_first_loss(self, ours, theirs, kind="fp32"):
        if abs(ours - theirs) > LOSS_TOLERANCE[kind]:
            raise SystemExit(f"{self.name}: loss {ours} of the first step, of PyTorch {theirs}")
