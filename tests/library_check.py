# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python module against the program: sweeps and runs equal to the bit.

usage: library_check.py PROGRAM FOLDER      $WSC_LIBRARY names the library, PYTHONPATH the module
"""
import concurrent.futures
import contextlib
import copy
import csv
import importlib.util
import io
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import warnings

import wsc

EXAMPLES = os.path.abspath("mpi_launch/packaging/examples")
PROGRAM, FOLDER = sys.argv[1:3]
PARAMS = "configs/params/gpt3_111m.yaml"


def program(*words):
    """Run the program; its files are what is compared with."""
    subprocess.run([PROGRAM, *words], check=True, capture_output=True)


def scaling_csv(name, *options):
    out = os.path.join(FOLDER, name)
    program("scale", "--params", PARAMS, "--out", out, *options)
    with open(os.path.join(out, "scaling.csv"), encoding="utf-8", newline="") as file:
        return file.read()


class Sweeps(unittest.TestCase):
    def compare(self, sweep, text):
        """Text and every number of it, as doubles."""
        self.assertEqual(sweep.csv(), text)
        rows = list(csv.DictReader(text.splitlines()))
        self.assertEqual(len(rows), len(sweep))
        for mine, row in zip(sweep.rows, rows):
            self.assertEqual(set(mine), set(row) - {"model"})
            for name, value in mine.items():
                self.assertEqual(value, type(value)(row[name]), name)

    def test_weak_scaling_is_scaling_csv(self):
        text = scaling_csv("weak", "--num_csx", "1,2,4,16")
        self.compare(wsc.scale(PARAMS, num_csx=[1, 2, 4, 16]), text)

    def test_strong_scaling_with_overrides_is_scaling_csv(self):
        text = scaling_csv("strong", "--num_csx", "1,4", "--scaling", "strong", "--set",
                           "cluster.swarmx.link_rate=12.5GB/s", "--set", "model.num_hidden_layers=4")
        machine = wsc.Machine(keys={"swarmx.link_rate": "12.5GB/s"})
        model = wsc.Params(PARAMS, {"model.num_hidden_layers": 4})
        self.compare(wsc.scale(model, num_csx=[1, 4], cluster=machine, scaling="strong"), text)

    def test_a_machine_of_a_file(self):
        text = scaling_csv("cs3", "--num_csx", "2", "--cluster", "configs/cluster/cs3.yaml")
        sweep = wsc.scale(PARAMS, num_csx=[2], cluster="configs/cluster/cs3.yaml")
        self.compare(sweep, text)
        self.assertEqual(wsc.Machine("configs/cluster/cs3.yaml").name, "CS-3")

    def test_numbers_of_systems_of_other_kinds(self):
        self.assertEqual(len(wsc.scale(PARAMS, num_csx=4)), 1)
        counts = range(1, 4)
        with contextlib.suppress(ImportError):
            import numpy
            counts = numpy.arange(1, 4)
        self.assertEqual(list(wsc.scale(PARAMS, num_csx=counts)["num_csx"]), [1, 2, 3])
        with self.assertRaises(OverflowError):
            wsc.scale(PARAMS, num_csx=[1 << 64])
        with self.assertRaises(OverflowError):
            wsc.scale(PARAMS, num_csx=1, batch_per_csx=(1 << 64) + 8)
        with self.assertRaises(wsc.Error) as large:
            wsc.scale(PARAMS, num_csx=1, batch_per_csx=1 << 62)
        self.assertEqual(large.exception.status, 2)

    def test_batches_that_cannot_be_simulated(self):
        """Refused at once: one system takes a million sequences, all together a billion."""
        for n, batch, said in ((1, 1000001, "at most 1000000,"), (4096, 300000, "at most 1000000000")):
            with self.assertRaisesRegex(wsc.Error, said) as large:
                wsc.scale(PARAMS, num_csx=n, batch_per_csx=batch)
            self.assertEqual(large.exception.status, 2)

    def test_values_of_other_kinds_are_yaml(self):
        text = wsc.Params(PARAMS, {"optimizer.betas": (0.5, 0.75)}).text
        self.assertIn("betas: [0.5, 0.75]", text)
        names = ["/\U0001f600", "/a\\ud83d\\ude00 \u0085 \u2028\u00e9"]
        text = wsc.Params(PARAMS, {"train_input.data_dir": names}).text
        same = wsc.Params(PARAMS, {"train_input.data_dir": '["/\U0001f600", "/a\\\\ud83d\\\\ude00 '
                                   '\\N \\L\u00e9"]'}).text
        self.assertEqual(text, same)
        self.assertIn("\U0001f600", text)

    def test_a_name_that_is_not_utf8(self):
        name = os.path.join(os.fsencode(FOLDER), b"x\xff.yaml")
        shutil.copyfile(PARAMS, name)
        self.assertIn("x\ufffd,", wsc.scale(name, num_csx=1).csv())

    def test_iterating_gives_points(self):
        sweep = wsc.scale(PARAMS, num_csx=[4, 1])
        self.assertEqual([row["num_csx"] for row in sweep], [4, 1])
        self.assertEqual(list(sweep), sweep.rows)

    def test_what_has_no_effect_is_a_warning(self):
        machine = wsc.Machine(keys={"recovery.detection": "1s"})
        params = wsc.Params(PARAMS, {"sparsity": [
            {"algorithm": "static", "sparsity": 0.5, "param_filter": ["no_such*"]}]})
        for _ in range(2):
            with self.assertWarns(UserWarning) as caught:
                wsc.scale(params, num_csx=1, cluster=machine)
            texts = [str(one.message) for one in caught.warnings]
            self.assertEqual(len(texts), 2)
            self.assertIn("cluster.recovery.detection: without effect", texts[0])
            self.assertIn("no_such*", texts[1])
            self.assertEqual(caught.filename, __file__)

    def test_overrides_of_the_machine_among_those_of_params(self):
        params = wsc.Params(PARAMS, {"cluster.swarmx.link_rate": "1GB/s"})
        with self.assertWarnsRegex(UserWarning, "swarmx.link_rate: without effect; hint: .*machine"):
            slow = wsc.scale(params, num_csx=1)
        self.assertEqual(slow.csv(), wsc.scale(PARAMS, num_csx=1).csv())

    def test_columns_are_arrays_where_numpy_is_installed(self):
        column = wsc.scale(PARAMS, num_csx=[1, 2])["tokens_per_s"]
        try:
            import numpy
        except ImportError:
            self.assertIsInstance(column, list)
        else:
            self.assertIsInstance(column, numpy.ndarray)
        self.assertGreater(column[1], 1.9 * column[0])
        with self.assertRaises(KeyError):
            wsc.scale(PARAMS, num_csx=[1])["no such column"]

    def test_frames_where_pandas_is_installed(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = wsc.scale(PARAMS, num_csx=[1, 2]).frame()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(frame["num_csx"]), [1, 2])


class Examples(unittest.TestCase):
    """The script and the notebook, as a user starts them."""

    def need(self, *modules):
        for module in modules:
            if importlib.util.find_spec(module) is None:
                self.skipTest(f"{module} is not installed")

    def script(self, *words):
        return subprocess.run([sys.executable, EXAMPLES + "/throughput.py", *words],
                              capture_output=True, text=True, check=False)

    def test_the_script_prints_scaling_csv(self):
        ran = self.script("-o", FOLDER + "/curves.svg", PARAMS)
        rows = csv.DictReader(scaling_csv("example", "--num_csx", "1,2,4,8,16,32,64").splitlines())
        for row, line in zip(rows, ran.stdout.splitlines(), strict=False):
            self.assertEqual(line.split(), [
                "gpt3_111m", row["num_csx"], "systems", f"{float(row['tokens_per_s']):.0f}",
                "tokens/s", "efficiency", f"{float(row['efficiency']):.4f}"])
        self.assertEqual(self.script("nowhere.yaml").returncode, 2)

    def test_the_script_draws(self):
        self.need("matplotlib")
        ran = self.script("-o", FOLDER + "/drawn.svg", PARAMS)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with open(FOLDER + "/drawn.svg", encoding="utf-8") as file:
            self.assertIn("</svg>", file.read())

    def test_the_cells_of_the_notebook(self):
        self.need("matplotlib")
        import matplotlib
        matplotlib.use("Agg")
        with open(EXAMPLES + "/throughput.ipynb", encoding="utf-8") as file:
            cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
        self.assertTrue(all(not cell["outputs"] for cell in cells))
        sys.path.insert(0, EXAMPLES)
        names, said = {}, io.StringIO()
        with contextlib.redirect_stdout(said):
            for cell in cells:
                exec("".join(cell["source"]), names)  # pylint: disable=exec-used
        self.assertEqual(names["weak"]["gpt3_13b"].rows[-1], names["last"]["gpt3_13b"])
        self.assertIn("gpt3_13b: 1.5", said.getvalue())

    def test_the_notebook_from_the_command_line(self):
        self.need("matplotlib", "nbconvert", "ipykernel")
        ran = subprocess.run(
            [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--output-dir", FOLDER,
             EXAMPLES + "/throughput.ipynb"], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with open(FOLDER + "/throughput.html", encoding="utf-8") as file:
            self.assertGreaterEqual(file.read().count("data:image/png"), 2)


class Errors(unittest.TestCase):
    def refused(self, status, text, call):
        with self.assertRaises(wsc.Error) as caught:
            call()
        self.assertEqual(caught.exception.status, status)
        self.assertIn(text, str(caught.exception))

    def test_an_error_leaves_a_worker(self):
        error = pickle.loads(pickle.dumps(wsc.Error(3, "too small")))
        self.assertEqual((error.status, str(error)), (3, "too small"))

    def test_handles_have_one_owner(self):
        for act in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaises(TypeError):
                act(wsc.Machine())
        with self.assertRaises(ValueError):
            len(wsc.Sweep())

    def test_a_null_byte_does_not_cut_a_text(self):
        with self.assertRaises(ValueError):
            wsc.Params(PARAMS, {"model.name": "gpt2\0x"})

    def test_a_library_without_its_program(self):
        """Data are looked at by the program first; a run without one is refused, not ended."""
        code = ("import sys, wsc\n"
                "try:\n    wsc.run('configs/params/tiny.yaml', sys.argv[1], num_steps=1)\n"
                "except wsc.Error as error:\n    print(error.status, error)")
        library = next(path for path, _ in wsc._places() if os.path.exists(path))
        names = {name: value for name, value in os.environ.items() if name != "WSC_PROGRAM"}
        names.update(WSC_LIBRARY=library, PYTHONPATH=os.pathsep.join(sys.path))
        ran = subprocess.run([sys.executable, "-c", code, os.path.join(FOLDER, "alone")],
                             env=names, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("2 ", ran.stdout[:2])
        self.assertIn("no program is named", ran.stdout)

    def test_what_is_wrong_has_the_status_and_the_sentence_of_the_program(self):
        self.refused(2, "model.num_heads: 7 heads do not divide",
                     lambda: wsc.Params("tests/golden/errors/heads.yaml"))
        self.refused(2, "no_such_file.yaml", lambda: wsc.Params("no_such_file.yaml"))
        self.refused(2, "swarmx.link_rat", lambda: wsc.Machine(keys={"swarmx.link_rat": "1GB/s"}))
        self.refused(2, "1 to 4096 systems", lambda: wsc.scale(PARAMS, num_csx=[0]))
        self.refused(2, "no number of systems", lambda: wsc.scale(PARAMS, num_csx=[]))
        self.refused(2, "host, mesh or none",
                     lambda: wsc.run(PARAMS, FOLDER + "/no", numerics="gpu"))
        with self.assertRaises(ValueError):
            wsc.scale(PARAMS, scaling="diagonal")

    def test_a_machine_that_is_too_small(self):
        machine = wsc.Machine(keys={"memoryx.capacity": "1 MB"}) if self.has_capacity() else None
        if machine is None:
            self.skipTest("the machine has no key memoryx.capacity")
        self.refused(3, "", lambda: wsc.scale(PARAMS, num_csx=[1], cluster=machine))

    @staticmethod
    def has_capacity():
        try:
            wsc.Machine(keys={"memoryx.capacity": "1 TB"})
        except wsc.Error:
            return False
        return True

    def test_warnings_and_the_effective_text(self):
        params = wsc.Params(PARAMS, {"runconfig.seed": 5, "runconfig.wandb": "x"})
        self.assertIn("seed: 5", params.text)
        self.assertTrue(any("wandb" in line for line in params.warnings))
        self.assertIn("wsc ", wsc.version())


class Runs(unittest.TestCase):
    def test_a_run_is_that_of_the_program(self):
        out = os.path.join(FOLDER, "program")
        program("run", "--params", "configs/params/tiny.yaml", "--num_csx", "2", "--num_steps", "3",
                "--model_dir", out, "--set", "trace_hash=true")
        run = wsc.run("configs/params/tiny.yaml", os.path.join(FOLDER, "python"), num_csx=2,
                      num_steps=3, keys={"trace_hash": True})
        with open(os.path.join(out, "metrics.jsonl"), encoding="utf-8") as file:
            expected = [json.loads(line) for line in file]
        self.assertEqual(len(run.metrics), len(expected))
        for mine, other in zip(run.metrics, expected):
            for name in ("step", "loss", "grad_norm", "virtual_time_ps", "weights_hash"):
                self.assertEqual(mine[name], other[name], name)
        self.assertEqual(run.performance["virtual_time_ps"], expected[-1]["virtual_time_ps"])

    def interrupted(self, folder):
        """Interrupt a run after its first logged steps; the step at which it stopped."""
        code = ("import signal, wsc; signal.signal(signal.SIGINT, signal.default_int_handler);"
                " wsc.run('configs/params/tiny.yaml', %r, max_steps=10**9, checkpoint_steps=10**8)"
                % folder)  # shells ignore the signal for what they start in the background
        with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) as child:
            end, metrics = time.monotonic() + 60, os.path.join(folder, "metrics.jsonl")
            while time.monotonic() < end and not (os.path.exists(metrics) and
                                                  os.path.getsize(metrics)):
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            try:
                text = child.communicate(timeout=60)[1].decode()
            finally:
                child.kill()
        self.assertRegex(text, "KeyboardInterrupt")
        return int(re.search(r"stopped by a call after step (\d+) of 1000000000", text)[1])

    def test_ctrl_c_stops_with_a_checkpoint(self):
        folder, whole = FOLDER + "/interrupted", FOLDER + "/uninterrupted"
        last = self.interrupted(folder) + 2
        program("run", "--params", "configs/params/tiny.yaml", "--max_steps", str(last),
                "--model_dir", whole)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = wsc.run("configs/params/tiny.yaml", folder, max_steps=last)
        self.assertEqual(run.performance["first_step"], last - 2)
        self.assertEqual(run.metrics[-1]["loss"], wsc.Run(whole).metrics[-1]["loss"])

    def test_ctrl_c_stops_a_sweep(self):
        code = ("import signal, wsc; signal.signal(signal.SIGINT, signal.default_int_handler);"
                " params, machine = wsc.Params('configs/params/tiny.yaml'), wsc.Machine(None);"
                " print('begins', flush=True); wsc.scale(params, [4096] * 10000, machine)")
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            try:
                self.assertEqual(child.stdout.readline(), b"begins\n")
                time.sleep(0.5)
                child.send_signal(signal.SIGINT)
                text = child.communicate(timeout=60)[1].decode()
            finally:
                child.kill()
        self.assertRegex(text, "(?s)stopped by a call.*KeyboardInterrupt")

    def test_threads_take_turns(self):
        def loss(i):
            run = wsc.run("configs/params/tiny.yaml", f"{FOLDER}/thread{i}", num_steps=2)
            return run.metrics[-1]["loss"]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(len(set(pool.map(loss, range(8)))), 1)

    def test_the_log_is_that_of_the_program(self):
        names = [os.path.join(FOLDER, name) for name in ("log_program", "log_python")]
        program("run", "--params", "configs/params/tiny.yaml", "--num_steps", "2", "--model_dir",
                names[0])
        wsc.run("configs/params/tiny.yaml", names[1], num_steps=2)
        lines = []
        for name in names:
            with open(os.path.join(name, "run.log"), encoding="utf-8") as file:
                lines.append([line.split()[2] for line in file])
        self.assertGreater(len(lines[0]), 3)
        self.assertEqual(*lines)

    def test_the_phases_of_a_file(self):
        file, folders = "configs/params/tiny_phases.yaml", [FOLDER + "/phases", FOLDER + "/phase"]
        program("run", "--params", file, "--model_dir", folders[0])
        with self.assertRaisesRegex(wsc.Error, "several trainers"):
            wsc.run(file, folders[1])
        for phase in (1, 2):
            run = wsc.run(file, folders[1], keys={"phase": phase})
        losses = [[line.get("loss") for line in whole.metrics]
                  for whole in (wsc.Run(folders[0]), run)]
        self.assertEqual(len(losses[0]), 20)
        self.assertEqual(*losses)

    def test_folders_and_keys_of_a_run(self):
        run = wsc.run("configs/params/tiny.yaml", os.fsencode(FOLDER + "/bytes"), num_steps=1)
        self.assertEqual(len(run.metrics), 1)
        for key, value in (("model_dir", "x"), ("num_steps", 3)):
            with self.assertRaisesRegex(ValueError, key):
                wsc.run("configs/params/tiny.yaml", FOLDER + "/twice", num_steps=1,
                        keys={"runconfig." + key: value})

    def test_an_evaluation_in_a_folder_with_signs_of_yaml(self):
        folder = os.path.join(FOLDER, "eval #1: x")
        run = wsc.run("configs/params/tiny.yaml", folder, num_csx=1, mode="eval")
        self.assertTrue(os.path.isdir(folder))
        self.assertTrue(run.metrics)
        self.assertIsNone(run.performance)

    def test_the_warnings_of_a_file_are_shown(self):
        with self.assertWarnsRegex(UserWarning, "rope_theta: without effect") as caught:
            wsc.run("configs/params/tiny.yaml", os.path.join(FOLDER, "warned"), num_steps=1,
                    numerics="none", keys={"model.rope_theta": 5})
        self.assertEqual(caught.filename, __file__)

    def test_time_alone(self):
        run = wsc.run("configs/params/gpt3_13b.yaml", os.path.join(FOLDER, "none"), num_csx=4,
                      num_steps=2, numerics="none")
        self.assertGreater(run.performance["tokens_per_s"], 0)


result = unittest.main(argv=sys.argv[:1], exit=False).result
bad = len(result.failures) + len(result.errors)
for test, why in result.skipped:
    print(f"skipped: library: {test.id()}: {why}")
print(f"python: {result.testsRun - bad - len(result.skipped)} passed, {bad} failed")
sys.exit(bad > 0)
