# SPDX-License-Identifier: Apache-2.0
"""wsc from Python: predictions and runs of the emulated wafer-scale cluster.

    import wsc
    sweep = wsc.scale("configs/params/gpt3_111m.yaml", num_csx=[1, 2, 4, 8])
    sweep["tokens_per_s"]          # a numpy array, or a list where numpy is not installed
    sweep.frame()                  # a pandas DataFrame
    run = wsc.run("configs/params/tiny.yaml", num_csx=2, num_steps=5, model_dir="out/py")
    run.metrics[-1]["loss"]

The module calls libwsc.so.1 (<libwsc.h>) through ctypes.  The library is searched in
$WSC_LIBRARY, beside an installation of this module, in a source tree, and by the system.
"""
import contextlib
import ctypes
import json
import operator
import os
import re
import shutil
import signal
import sysconfig
import threading
import warnings
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

__all__ = ["Error", "Machine", "Params", "Run", "Sweep", "configs", "run", "scale", "version"]


class Error(Exception):
    """What the library refused; `status` is the exit status that the program would have."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status

    def __reduce__(self):
        """Also out of a worker of multiprocessing, which pickles what was raised."""
        return Error, (self.status, str(self))


class _Scaling(Structure):
    _fields_ = [("size", c_size_t), ("strong", c_int), ("batch_per_csx", c_int64)]


class _Point(Structure):
    _fields_ = [
        ("size", c_size_t), ("params", c_int64), ("num_csx", c_int64), ("global_batch", c_int64),
        ("micro_batch", c_int64), ("tokens_per_s", c_double), ("samples_per_s", c_double),
        ("speedup", c_double), ("efficiency", c_double), ("step_time_ps", c_int64),
        ("compute_ps", c_int64), ("weights_wait_ps", c_int64), ("reduce_wait_ps", c_int64),
        ("boundary_ps", c_int64), ("mfu", c_double), ("joules_per_token", c_double),
        ("input_wait_ps", c_int64)]


COLUMNS = [name for name, _ in _Point._fields_[1:]]

_HANDLE = POINTER(c_void_p)
_TEXTS = POINTER(c_char_p)
_PROTOTYPES = {
    "libwsc_version": (c_int, []),
    "libwsc_program": (c_char_p, []),
    "libwsc_message": (c_char_p, []),
    "libwsc_use_program": (None, [c_char_p]),
    "libwsc_params_load": (c_int, [_HANDLE, c_char_p, _TEXTS, c_int]),
    "libwsc_params_text": (c_char_p, [c_void_p]),
    "libwsc_params_n_warnings": (c_int, [c_void_p]),
    "libwsc_params_warning": (c_char_p, [c_void_p, c_int]),
    "libwsc_params_check": (c_int, [c_void_p, c_void_p, c_int64]),
    "libwsc_params_free": (None, [_HANDLE]),
    "libwsc_machine_load": (c_int, [_HANDLE, c_char_p, _TEXTS, c_int]),
    "libwsc_machine_name": (c_char_p, [c_void_p]),
    "libwsc_machine_free": (None, [_HANDLE]),
    "libwsc_scale": (c_int, [_HANDLE, c_void_p, c_void_p, POINTER(c_int64), c_int,
                             POINTER(_Scaling)]),
    "libwsc_sweep_n": (c_int, [c_void_p]),
    "libwsc_sweep_point": (c_int, [c_void_p, c_int, POINTER(_Point)]),
    "libwsc_sweep_csv": (c_char_p, [c_void_p]),
    "libwsc_sweep_free": (None, [_HANDLE]),
    "libwsc_run": (c_int, [c_void_p, c_void_p, c_char_p]),
    "libwsc_stop": (None, []),
}
_INTERFACE = 1003  # LIBWSC_VERSION: major number * 1000 + the least minor one


def _places():
    """Where the library may be, with the program that belongs to it."""
    here = os.path.dirname(os.path.abspath(__file__))
    chosen = os.environ.get("WSC_LIBRARY")
    if chosen:
        yield chosen, os.environ.get("WSC_PROGRAM")
        return
    prefix = os.path.normpath(os.path.join(here, "../../../.."))  # PREFIX/share/wsc/python/wsc
    for folder in ("lib", "lib64", f"lib/{sysconfig.get_config_var('MULTIARCH')}"):
        yield os.path.join(prefix, folder, "libwsc.so.1"), os.path.join(prefix, "bin/wsc")
    tree = os.path.normpath(os.path.join(here, "../../../.."))  # mpi_launch/packaging/python/wsc
    yield os.path.join(tree, "build/shared/libwsc.so.1"), os.path.join(tree, "build/wsc")
    yield "libwsc.so.1", shutil.which("wsc")


def _load():
    failure = None
    for path, program in _places():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            failure = failure or error
            continue
        version = library.libwsc_version()
        if version // 1000 != _INTERFACE // 1000 or version < _INTERFACE:
            raise ImportError(f"{path} has interface {version}, not {_INTERFACE} or a later one")
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        if program and os.path.exists(program):
            library.libwsc_use_program(program.encode())
        return library
    raise ImportError(f"libwsc.so.1 is not found: {failure}; WSC_LIBRARY=FILE names it")


_lib = _load()


# The library is for one thread at a time, and ctypes lets others run during a call.
_one = threading.RLock()


def _renew_lock():
    """In the child of a fork, where the thread that held it is not."""
    global _one  # pylint: disable=global-statement
    _one = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


def _call(function, *arguments):
    """A function with a status; the message is that of the calling thread."""
    with _one:
        status = function(*arguments)
    if status:
        raise Error(status, _decode(_lib.libwsc_message()))


def _decode(text):
    """Names of files need not be UTF-8."""
    return text.decode(errors="replace")


def _text(function, *arguments):
    """A function that returns a text."""
    with _one:
        return _decode(function(*arguments))


def configs():
    """The folder of the shipped params and cluster files."""
    here = os.path.dirname(os.path.abspath(__file__))
    chosen = os.environ.get("WSC_DATA_DIR")
    places = [chosen + "/configs"] if chosen else [
        os.path.normpath(os.path.join(here, "../../configs")),  # PREFIX/share/wsc/python/wsc
        os.path.normpath(os.path.join(here, "../../../../configs")),  # mpi_launch/packaging/python/wsc
        "/usr/share/wsc/configs"]  # a package of the system
    for place in places:
        if os.path.isdir(os.path.join(place, "params")):
            return place
    raise FileNotFoundError(f"no params files in {', '.join(places)}; WSC_DATA_DIR names the place")


def version():
    """Version and revision of the library."""
    return _lib.libwsc_program().decode()


class _Handle:
    """A handle of the library with what releases it; it has one owner."""

    def __init__(self, free):
        self._owned = c_void_p()
        self._free = free

    @property
    def _handle(self):
        if not self._owned:
            raise ValueError(f"this {type(self).__name__} is empty")
        return self._owned

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} of wsc is not copied or pickled")

    __copy__ = __reduce__

    def __del__(self):
        if getattr(self, "_owned", None):
            self._free(byref(self._owned))


def _bytes(text):
    """A text or a path for C, which would end at a NUL."""
    coded = os.fsencode(text)
    if b"\0" in coded:
        raise ValueError(f"embedded null byte: {text!r}")
    return coded


def _texts(keys, prefix=""):
    """{"a.b": 1} as an array of `a.b=1`."""
    sets = [_bytes(f"{prefix}{key}={_yaml(value)}") for key, value in (keys or {}).items()]
    return (c_char_p * len(sets))(*sets), len(sets)


def _plain(value):
    """Numbers and arrays of numpy, and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return os.fspath(value)


def _quoted(value):
    """JSON as YAML, which knows no pairs of surrogates: such characters stand as they are."""
    return re.sub(r"\\\\|\\ud[89ab]..\\ud[c-f]..",
                  lambda pair: pair[0] if pair[0] == "\\\\" else json.loads(f'"{pair[0]}"'),
                  json.dumps(value, default=_plain))


def _yaml(value):
    """A text as it stands, as after `--set`; anything else in JSON."""
    return value if isinstance(value, str) else _quoted(value)


class Params(_Handle):
    """A params file of the Model Zoo; `keys` overrides: {"runconfig.seed": 2}."""

    def __init__(self, path, keys=None):
        super().__init__(_lib.libwsc_params_free)
        array, n = _texts(keys)
        _call(_lib.libwsc_params_load, byref(self._owned), _bytes(path), array, n)
        self._n_read = len(self.warnings)

    @property
    def text(self):
        """The effective params as YAML."""
        return _text(_lib.libwsc_params_text, self._handle)

    @property
    def warnings(self):
        """What the file says without effect, or by an old name."""
        n = _lib.libwsc_params_n_warnings(self._handle)
        return [_text(_lib.libwsc_params_warning, self._handle, i) for i in range(n)]


class Machine(_Handle):
    """A cluster file, or the built-in CS-2; `keys` overrides: {"swarmx.link_rate": "12.5GB/s"}."""

    def __init__(self, path=None, keys=None):
        super().__init__(_lib.libwsc_machine_free)
        array, n = _texts(keys, "cluster.")
        name = None if path is None else _bytes(path)
        _call(_lib.libwsc_machine_load, byref(self._owned), name, array, n)

    @property
    def name(self):
        """Name of the system."""
        return _text(_lib.libwsc_machine_name, self._handle)


class Sweep(_Handle):
    """Points of a sweep, which scale() makes, in the order of `num_csx`.

    sweep["tokens_per_s"] is a column, len() the number of points; iterating gives `rows`.
    """

    def __init__(self):
        super().__init__(_lib.libwsc_sweep_free)

    def __len__(self):
        return _lib.libwsc_sweep_n(self._handle)

    @property
    def rows(self):
        """The points as dictionaries, with the names of scaling.csv."""
        rows = []
        for i in range(len(self)):
            point = _Point(size=ctypes.sizeof(_Point))
            _call(_lib.libwsc_sweep_point, self._handle, i, byref(point))
            rows.append({name: getattr(point, name) for name in COLUMNS})
        return rows

    def __iter__(self):
        return iter(self.rows)

    def __getitem__(self, column):
        if column not in COLUMNS:
            raise KeyError(f"{column}: the columns are {', '.join(COLUMNS)}")
        values = [row[column] for row in self.rows]
        try:
            import numpy
        except ImportError:
            return values
        return numpy.array(values)

    def frame(self):
        """The points as a pandas DataFrame."""
        import pandas
        return pandas.DataFrame(self.rows, columns=COLUMNS)

    def csv(self):
        """The text of scaling.csv."""
        return _text(_lib.libwsc_sweep_csv, self._handle)


def _load_params(path, keys, level):
    """Params whose warnings Python's module `warnings` shows: the caller does not see the object."""
    params = Params(path, keys)
    for text in params.warnings:
        warnings.warn(text, stacklevel=level)
    return params


def _warn_of_idle(params, machine, most_csx):
    """What has no effect in a sweep or, with 0 systems, in a run."""
    with _one:
        _call(_lib.libwsc_params_check, params._handle, machine._handle, most_csx)
        idle = params.warnings[params._n_read:]
    for text in idle:
        warnings.warn(text, stacklevel=3)


def _params(params):
    return params if isinstance(params, Params) else _load_params(params, None, 4)


def _whole(name, value):
    """A whole number of Python or numpy for C, where a larger one would lose its upper bits."""
    number = operator.index(value)
    if abs(number) >= 1 << 63:
        raise OverflowError(f"{name}: {number} is too large")
    return number


def _counts(num_csx):
    """One number of systems or several."""
    one = getattr(num_csx, "ndim", 1) == 0 or not hasattr(num_csx, "__iter__")
    several = [num_csx] if one else num_csx
    counts = [_whole("num_csx", n) for n in several]
    return (c_int64 * len(counts))(*counts)


def _machine(machine):
    return machine if isinstance(machine, Machine) else Machine(machine)


def scale(params, num_csx=(1, 2, 4, 8, 16, 32, 64), cluster=None, scaling="weak",
          batch_per_csx=0):
    """Predict the steady-state step on each number of systems.

    `params` is a file or Params, `num_csx` a number or several, `cluster` a file, a Machine, or
    None: the built-in CS-2.  Ctrl-C stops it, without results.
    """
    if scaling not in ("weak", "strong"):
        raise ValueError(f"scaling {scaling}: weak or strong")
    counts = _counts(num_csx)
    how = _Scaling(ctypes.sizeof(_Scaling), scaling == "strong",
                   _whole("batch_per_csx", batch_per_csx))
    model, machine, sweep = _params(params), _machine(cluster), Sweep()
    _call_apart(_lib.libwsc_scale, byref(sweep._owned), model._handle, machine._handle, counts,
                len(counts), byref(how))
    _warn_of_idle(model, machine, max(counts))
    return sweep


class Run:
    """The files of a run: `metrics`, a dictionary for each logged step, and `performance`, which a
    training writes: that of the newest one in the folder, None where there was none."""

    def __init__(self, model_dir):
        self.model_dir = model_dir
        folder = os.fsdecode(model_dir)
        with open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8") as file:
            self.metrics = [json.loads(line) for line in file]
        self.performance = None
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(folder, "performance.json"), encoding="utf-8") as file:
                self.performance = json.load(file)

    def frame(self):
        """The metrics as a pandas DataFrame."""
        import pandas
        return pandas.DataFrame(self.metrics)


def _stop(over):
    """Ask until the run is over: it may not have begun, and Ctrl-C may come again."""
    while not over.is_set():
        with contextlib.suppress(KeyboardInterrupt):
            _lib.libwsc_stop()
            over.wait(0.1)


def _call_apart(function, *arguments):
    """A long call in a thread without signals, whose handlers must not run on the stack of compiled
    kernels.  Ctrl-C, which Python handles between calls alone, asks it to stop."""
    failure, over = [], threading.Event()  # Thread.join() takes an interrupt for the end

    def work():
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            _call(function, *arguments)
        except Error as error:
            failure.append(error)
        finally:
            over.set()

    worker = threading.Thread(target=work, name="wsc")
    worker.start()
    try:
        over.wait()
    except KeyboardInterrupt as interrupt:
        _stop(over)
        raise interrupt from (failure[0] if failure else None)
    if failure:
        raise failure[0]


def run(params, model_dir, cluster=None, numerics="host", keys=None, **runconfig):
    """Train or evaluate in this process; files go to `model_dir`.  Ctrl-C stops after a step, with a
    checkpoint from which the same call continues.

    Other arguments are keys of `runconfig`: num_csx=2, num_steps=10, mode="eval"; `keys` overrides
    any other key of the file.
    """
    named = {f"runconfig.{key}": value for key, value in runconfig.items()}
    named["runconfig.model_dir"] = _quoted(os.fsdecode(model_dir))
    twice = sorted(set(named) & set(keys or {}))
    if twice:
        raise ValueError(f"{', '.join(twice)}: in `keys` and as an argument")
    model, machine = _load_params(params, {**(keys or {}), **named}, 3), _machine(cluster)
    _warn_of_idle(model, machine, 0)
    _call_apart(_lib.libwsc_run, model._handle, machine._handle, _bytes(numerics))
    return Run(model_dir)
