#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Held-out loss of a tiny GPT, dense and at 75 % zeros, as SPDF compares them, over several seeds.

    /usr/bin/python3 benchmarks/sparse_loss.py [--program build/wsc] [--out build/sparse_loss]
        [--picture FILE] [--steps 600] [--more 600] [--rate 0.002] [--seeds 1,2,3] [--rates] [TEXT...]

Trains configs/params/tiny.yaml (0.12 M parameters over bytes) on TEXT, by default the project's own
documents and headers, a tenth of it held out: dense, with static masks, and with RigL.  Of one seed
all have the same first weights, the same samples and learning rates.  After STEPS steps a second
phase of MORE steps begins, with a schedule of the rate of its own: the runs continue as they are,
and the sparse ones a second time with dense weights, as in SPDF.  Prints means and spread over the
seeds, writes OUT/curves.csv and the picture.  Runs that OUT has already are not made again.  Needs
Debian's python3-matplotlib for the picture.
"""
import argparse
import csv
import glob
import json
import os
import shutil
import statistics
import subprocess

MATRICES = "param_filter: ['*proj_*_dense_layer.weight', '*linear_layer.weight']"


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--program", default="build/wsc")
    p.add_argument("--out", default="build/sparse_loss")
    p.add_argument("--picture")
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--more", type=int, default=600, help="steps of the second phase")
    p.add_argument("--rate", type=float, default=0.002, help="highest learning rate")
    p.add_argument("--seeds", default="1,2,3", help="of weights, masks and the order of samples")
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


def phase(rate, steps):
    """Both phases have this schedule: a twentieth of the steps up, a cosine down to a tenth."""
    return ("{scheduler: Linear, initial_learning_rate: 0, end_learning_rate: %g, total_iters: %d}, "
            "{scheduler: CosineDecay, initial_learning_rate: %g, end_learning_rate: %g, "
            "total_iters: %d}" % (rate, steps // 20, rate, rate / 10, steps - steps // 20))


def train(a, name, seed, sparsity, last):
    """To step `last`, in the folder of that name, which may have the steps before."""
    folder = os.path.join(a.out, name)
    rates = "[%s, %s]" % (phase(a.rate, a.steps), phase(a.rate, a.more))
    command = [a.program, "run", "--params", "configs/params/tiny.yaml", "--mode", "train_and_eval",
               "--max_steps", str(last), "--model_dir", folder]
    for key in ("train_input.data_dir=%s/data/train" % a.out,
                "eval_input.data_dir=%s/data/val" % a.out, "train_input.batch_size=16",
                "eval_input.batch_size=16", "runconfig.eval_steps=16",
                "runconfig.eval_frequency=100", "runconfig.checkpoint_steps=%d" % a.steps,
                "runconfig.seed=%d" % seed, "train_input.shuffle_seed=%d" % seed,
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
            train(a, name, 1, "null", a.steps)
        print("learning rate %g: %.4f" % (a.rate, held_out(os.path.join(a.out, name))[a.steps]),
              flush=True)


def curves_of(a, seed):
    """{name: {step: loss}}; a curve that goes on with dense weights has the steps before too."""
    end, curves = a.steps + a.more, {}
    for kind in ("dense", "static", "rigl"):
        name = "%s_%d" % (kind, seed)
        if not has(a, name, a.steps):
            train(a, name, seed, sparsity_of(kind, a.steps), a.steps)
        dense = "%s_then_dense_%d" % (kind, seed)
        if kind != "dense" and not has(a, dense, end):
            shutil.rmtree(os.path.join(a.out, dense), ignore_errors=True)
            shutil.copytree(os.path.join(a.out, name), os.path.join(a.out, dense))
            train(a, dense, seed, "null", end)
        if not has(a, name, end):
            train(a, name, seed, sparsity_of(kind, a.steps), end)
        curves[kind] = held_out(os.path.join(a.out, name))
        if kind != "dense":
            curves[kind + "_then_dense"] = held_out(os.path.join(a.out, dense))
    return curves


NAMES = {"dense": "dense", "static": "static", "static_then_dense": "static, then dense",
         "rigl": "RigL", "rigl_then_dense": "RigL, then dense"}


def spread(values):
    """Mean and sample standard deviation."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0


def write_table(a, curves):
    """curves: {seed: {name: {step: loss}}}"""
    steps = sorted(set.intersection(*(set(c) for one in curves.values() for c in one.values())))
    with open(os.path.join(a.out, "curves.csv"), "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["seed", "step", *NAMES])
        rows.writerows([seed, step, *("%.4f" % one[name][step] for name in NAMES)]
                       for seed, one in curves.items() for step in steps)
    end = a.steps + a.more
    print("%-20s %18s %18s   %d seeds" % ("held-out nats/token", a.steps, end, len(curves)))
    for name in NAMES:
        at = ["%.4f +- %.4f" % spread([one[name][step] for one in curves.values()])
              for step in (a.steps, end)]
        print("%-20s %18s %18s" % (NAMES[name], *at))
    for kind in ("static", "rigl"):
        # Of each seed: what lies between the sparse run and the dense one at the same step.
        gap = [one[kind][end] - one["dense"][end] for one in curves.values()]
        left = [one[kind + "_then_dense"][end] - one["dense"][end] for one in curves.values()]
        before = [one[kind][a.steps] - one["dense"][a.steps] for one in curves.values()]
        print("%-20s gap %.4f +- %.4f after %d steps, %.4f +- %.4f after %d; "
              "%.4f +- %.4f with dense weights: %.0f %% recovered"
              % (NAMES[kind], *spread(before), a.steps, *spread(gap), end, *spread(left),
                 100 * (1 - sum(left) / sum(gap))))


def draw(a, curves):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(6.4, 4))
    for name, style in zip(NAMES, ("k-", "C0-", "C0--", "C1-", "C1--")):
        first = a.steps if "then" in name else 0
        steps = [s for s in sorted(next(iter(curves.values()))[name]) if s >= first]
        of = [[one[name][s] for one in curves.values()] for s in steps]
        axes.plot(steps, [statistics.mean(x) for x in of], style, label=NAMES[name])
        axes.fill_between(steps, [min(x) for x in of], [max(x) for x in of], color=style[:-1].rstrip("-"),
                          alpha=0.15, linewidth=0)
    axes.axvline(a.steps, color="0.8", zorder=0)
    axes.set_ylim(top=3.2)
    axes.set_xlabel("step")
    axes.set_ylabel("held-out loss, nats per token")
    axes.set_title("A tiny GPT, dense and with 75 %% zeros: mean and range of %d seeds" % len(curves))
    axes.legend()
    figure.tight_layout()
    figure.savefig(a.picture, dpi=100, metadata={"Software": None})


def main():
    a = arguments()
    make_data(a)
    if a.rates:
        compare_rates(a)
        return
    curves = {int(seed): curves_of(a, int(seed)) for seed in a.seeds.split(",")}
    write_table(a, curves)
    if a.picture:
        draw(a, curves)


if __name__ == "__main__":
    main()
