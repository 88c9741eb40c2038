#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Held-out loss of a tiny GPT, dense and at 75 % zeros, as SPDF compares them.

    /usr/bin/python3 benchmarks/sparse_loss.py [--program build/wsc] [--out build/sparse_loss]
        [--picture FILE] [--steps 600] [--more 200] [--rate 0.002] [--rates] [TEXT...]

Trains configs/params/tiny.yaml (0.12 M parameters over bytes) on TEXT, by default the project's own
documents and headers, a tenth of it held out: dense, with static masks, and with RigL, all from the
same weights, on the same samples and learning rates.  Then the rate rises once more, as in the
Model Zoo's second phase of SPDF, and each goes on as it is, the sparse ones with dense weights too.  Prints a table, writes OUT/curves.csv and the picture.
Runs that OUT has already are not made again.  Needs Debian's python3-matplotlib.
"""
import argparse
import csv
import glob
import json
import os
import shutil
import subprocess

MATRICES = "param_filter: ['*proj_*_dense_layer.weight', '*linear_layer.weight']"


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--program", default="build/wsc")
    p.add_argument("--out", default="build/sparse_loss")
    p.add_argument("--picture")
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--more", type=int, default=200)
    p.add_argument("--rate", type=float, default=0.002, help="highest learning rate")
    p.add_argument("--rates", action="store_true",
                   help="only compare learning rates of the dense model")
    p.add_argument("text", nargs="*", default=sorted(glob.glob("docs/*.md") +
                                                     glob.glob("include/wsc/*.h")))
    return p.parse_args()


def sparsity_of(kind, steps):
    last = steps * 3 // 4
    return {"dense": "null", "static": "{sparsity: 0.75, %s}" % MATRICES,
            "rigl": "{algorithm: rigl, sparsity: 0.75, update: {freq: 25, stop: %d}, "
                    "drop_fraction: {type: cosine, init: 0.3, half_period: %d}, %s}"
                    % (last, last, MATRICES)}[kind]


def train(a, name, sparsity, last):
    """To step `last`, in the folder of that name, which may have the steps before."""
    folder = os.path.join(a.out, name)
    rates = ("[{scheduler: Linear, initial_learning_rate: 0, end_learning_rate: %g, "
             "total_iters: %d}, {scheduler: CosineDecay, initial_learning_rate: %g, "
             "end_learning_rate: %g, total_iters: %d}, {scheduler: Linear, "
             "initial_learning_rate: 0, end_learning_rate: %g, total_iters: %d}, {scheduler: "
             "Linear, initial_learning_rate: %g, end_learning_rate: %g, total_iters: %d}]"
             % (a.rate, a.steps // 20, a.rate, a.rate / 3, a.steps - a.steps // 20,
                a.rate, a.more // 10, a.rate, a.rate / 30, a.more - a.more // 10))
    command = [a.program, "run", "--params", "configs/params/tiny.yaml", "--mode", "train_and_eval",
               "--max_steps", str(last), "--model_dir", folder]
    for key in ("train_input.data_dir=%s/data/train" % a.out,
                "eval_input.data_dir=%s/data/val" % a.out, "train_input.batch_size=16",
                "eval_input.batch_size=16", "runconfig.eval_steps=16",
                "runconfig.eval_frequency=50", "runconfig.checkpoint_steps=%d" % a.steps,
                "optimizer.learning_rate=" + rates, "sparsity=" + sparsity):
        command += ["--set", key]
    with open(folder + ".log", "a") as log:
        subprocess.run(command, check=True, stdout=log, stderr=log)


def held_out(folder):
    """{step: loss} of the evaluations."""
    with open(os.path.join(folder, "metrics.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    return {one["step"]: one["eval_loss"] for one in lines if "eval_loss" in one}


def has(a, name, last):
    return os.path.exists(os.path.join(a.out, name, "checkpoint_%d.mdl" % last))


def make_data(a):
    os.makedirs(a.out, exist_ok=True)
    if not os.path.exists(os.path.join(a.out, "data")):
        subprocess.run([a.program, "data", "--input", *a.text, "--out", a.out + "/data",
                        "--max_seq_length", "64", "--split", "0.1"], check=True)


def compare_rates(a):
    """The dense model at several rates; the others take its best one, as SPDF does."""
    for a.rate in (0.00025, 0.0005, 0.001, 0.002, 0.004):
        name = "dense_%g" % a.rate
        if not has(a, name, a.steps):
            train(a, name, "null", a.steps)
        print("learning rate %g: %.4f" % (a.rate, held_out(os.path.join(a.out, name))[a.steps]),
              flush=True)


def all_curves(a):
    """{name: {step: loss}}; a curve that goes on with dense weights has the steps before too."""
    end, curves = a.steps + a.more, {}
    for kind in ("dense", "static", "rigl"):
        if not has(a, kind, a.steps):
            train(a, kind, sparsity_of(kind, a.steps), a.steps)
        dense = kind + "_then_dense"
        if kind != "dense" and not has(a, dense, end):
            shutil.rmtree(os.path.join(a.out, dense), ignore_errors=True)
            shutil.copytree(os.path.join(a.out, kind), os.path.join(a.out, dense))
            train(a, dense, "null", end)
        if not has(a, kind, end):
            train(a, kind, sparsity_of(kind, a.steps), end)
        for name in (kind, dense) if kind != "dense" else (kind,):
            curves[name] = held_out(os.path.join(a.out, name))
    return curves


def write_table(a, curves):
    names = {"dense": "dense", "static": "static", "static_then_dense": "static, then dense",
             "rigl": "RigL", "rigl_then_dense": "RigL, then dense"}
    steps = sorted(set.intersection(*(set(c) for c in curves.values())))
    with open(os.path.join(a.out, "curves.csv"), "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["step", *curves])
        rows.writerows([step, *("%.4f" % curves[name][step] for name in curves)] for step in steps)
    print("%-20s %12s %12s" % ("held-out nats/token", a.steps, a.steps + a.more))
    for name, curve in curves.items():
        print("%-20s %12.4f %12.4f" % (names[name], curve[a.steps], curve[a.steps + a.more]))
    return names


def draw(a, curves, names):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(6.4, 4))
    for name, style in zip(curves, ("k-", "C0-", "C0--", "C1-", "C1--")):
        first = a.steps if "then" in name else 0
        points = [(s, l) for s, l in sorted(curves[name].items()) if s >= first]
        axes.plot(*zip(*points), style, label=names[name])
    axes.axvline(a.steps, color="0.8", zorder=0)
    axes.set_ylim(top=3.2)
    axes.set_xlabel("step")
    axes.set_ylabel("held-out loss, nats per token")
    axes.set_title("A tiny GPT, dense and with 75 % zeros")
    axes.legend()
    figure.tight_layout()
    figure.savefig(a.picture, dpi=100, metadata={"Software": None})


def main():
    a = arguments()
    make_data(a)
    if a.rates:
        compare_rates(a)
        return
    curves = all_curves(a)
    names = write_table(a, curves)
    if a.picture:
        draw(a, curves, names)


if __name__ == "__main__":
    main()
