# SPDX-License-Identifier: Apache-2.0
"""Draws the throughput of models over the number of systems, as `wsc scale` predicts it.

    PYTHONPATH=mpi_launch/packaging/python python3 mpi_launch/packaging/examples/throughput.py -o throughput.svg \\
        configs/params/gpt3_1p3b.yaml configs/params/gpt3_13b.yaml

Needs python3-matplotlib for the picture; prints the sweeps as tables in any case.  throughput.ipynb
imports the two functions.
"""
import argparse
import os
import sys

import wsc

COUNTS = [1, 2, 4, 8, 16, 32, 64]


def sweeps(files, num_csx=COUNTS, **options):
    """{name of the model: its sweep}; `options` are those of wsc.scale()."""
    name = lambda file: os.path.splitext(os.path.basename(file))[0]
    return {name(file): wsc.scale(file, num_csx=num_csx, **options) for file in files}


def draw(curves, path=None):
    """Both axes logarithmic; dashed: linear scaling from the first point.  Returns the figure."""
    import matplotlib
    if path:
        matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(9, 5))
    for name, sweep in curves.items():
        counts, rates = sweep["num_csx"], sweep["tokens_per_s"]
        line, = axes.loglog(counts, rates, "o-", label=name)
        ends = counts[0], counts[-1]
        axes.loglog(ends, [rates[0] * n / counts[0] for n in ends], "--", lw=0.8,
                    color=line.get_color())
        axes.set_xticks(counts, [str(n) for n in counts])
    axes.set(xlabel="number of systems", ylabel="tokens per second")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    if path:
        figure.savefig(path, bbox_inches="tight")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("params", nargs="+", help="params files")
    parser.add_argument("-o", "--out", default="throughput.svg", help="picture to write")
    parser.add_argument("--cluster", help="cluster file; the built-in CS-2 unless it is given")
    given = parser.parse_args()
    try:
        curves = sweeps(given.params, cluster=given.cluster)
    except wsc.Error as error:
        print(error, file=sys.stderr)
        return error.status
    for name, sweep in curves.items():
        for row in sweep.rows:
            print("%-16s %4d systems %14.0f tokens/s  efficiency %.4f"
                  % (name, row["num_csx"], row["tokens_per_s"], row["efficiency"]))
    try:
        draw(curves, given.out)
    except ImportError as error:
        print(f"{given.out} is not drawn: {error}; install python3-matplotlib", file=sys.stderr)
        return 1
    print(f"wrote {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
