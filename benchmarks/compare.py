#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Results of `make bench` and of `make bench-cluster` beside committed ones.

    compare.py RESULTS.json [FOLDER]

FOLDER (benchmarks/results) has one file for each committed run, named by its date; the last one of
the same kind is taken ("host": make bench, "cluster": make bench-cluster).  Rates per CPU second and
ratios within a run are compared, not rates per second, which other programs on the machine lower.
Printed is the figure now, the committed one, and now over then the way that more is better; a figure
that fell by more than a tenth is marked.  Figures that only one of the two has are counted.  The
provenance says on which machines the two ran.  Without a committed file of the kind only the figures
now are printed, and where a run is committed.
"""
import glob
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FELL = 0.9


def of_products(part):
    for p in part["products"]:
        yield f"product {p['shape']} {p['format']}, GFLOP/CPU s", p["one_gflop_per_cpu_s"], 1


def of_simulation(part):
    yield "simulated messages/CPU s", part["messages_per_cpu_s"], 1
    yield "sweep, CPU s", part["sweep_cpu_s"], -1


def of_mesh(rows):
    for row in rows:
        name = f"mesh {row['kernel']} {row['algo']} {row['fabric'][0]} x {row['fabric'][1]}"
        if row["threads"] == row.get("processes", 1) == 1:
            yield name + ", router-cycles/s", row["router_cycles_per_s"], 1


def of_training(part):
    for case in part["cases"]:
        for key, unit in (("tokens_per_s", "s"), ("tokens_per_cpu_s", "CPU s")):
            if "ratio" in case.get(key, ()):
                yield (f"training {case['case']}, tokens/{unit} over PyTorch",
                       case[key]["ratio"]["median"], 1)
        if case.get("share_of_peak"):
            yield f"training {case['case']}, share of the peak", case["share_of_peak"], 1


def of_sparse_products(part):
    for p in part["products"]:
        if p:
            yield (f"sparse {p['product']} {p['format']} {p['rows']} x {p['cols']} "
                   f"density {p['density']}, times dense", p["dense_s"] / p["sparse_s"], 1)


def of_sparse_steps(part):
    by_sparsity = {}
    for step in part["steps"]:
        if step:
            by_sparsity.setdefault(step["sparsity"], []).append(step["ratio"])
    for sparsity, ratios in by_sparsity.items():
        yield f"sparse step at {sparsity}, times dense", statistics.median(ratios), 1


def medians(rows, keys, ways):
    """Medians over the rows of the first program that `keys` names alike, as (label, value, way).
    None: the row is what others are compared with."""
    groups = {}
    for row in rows:
        if not row["program"]:
            groups.setdefault(keys(row), []).append(row)
    for name, mine in groups.items():
        for key, (label, way) in ways.items():
            values = [row[key] for row in mine if row.get(key) is not None]
            if values:
                yield f"{name}, {label}", statistics.median(values), way


def of_network(part):
    hosts = part["wafers"] + 1
    threads = f", {part['threads']} threads" if part["threads"] > 1 else ""
    form = ", bf16" if part.get("format") == "bf16" else ""  # older files: fp32
    links = "" if part["links"] == "kernel" else f" of {part['links']}"
    return medians(part["rows"], lambda row: f"{hosts} hosts{threads}, {row['rate_gbit_s']:g} Gbit/s, "
                                             f"{row['delay_ms']:g} ms{form}{links}",
                   {"ratio": ("over bound", -1), "of_phases": ("over phases", -1),
                    "of_ddp": ("rate over DDP", 1)})


def of_scaling(part):
    where = "" if part["hosts"] == "namespaces" else " on one host"
    rows = [row if row["ranks"] > 1 else {**row, "efficiency": None} for row in part["rows"]]
    return medians(rows, lambda row: f"{row['job']} scaling, {row['ranks']} ranks{where}",
                   {"efficiency": ("efficiency", 1), "of_ddp": ("rate over DDP", 1)})


def of_ranks(part):
    rows = [row for row in part["rows"] if row["case"] != part["rows"][0]["case"]]
    return medians(rows, lambda row: f"4 systems, {row['case']}",
                   {"ratio": ("over folded", -1)})


PARTS = {"sgemm": of_products, "simulate": of_simulation, "mesh": of_mesh, "train": of_training,
         "sparse": of_sparse_products, "sparse_step": of_sparse_steps,
         "two_hosts": of_network, "two_threads": of_network, "delays": of_network,
         "two_threads_bf16": of_network, "three_hosts": of_network,
         "three_hosts_bf16": of_network, "scaling": of_scaling, "ranks": of_ranks}
FIRST_KIND = "host"  # of the files that were committed before they named one


def figures(path):
    """The file's provenance, and {name: (value, 1 where more is better, else -1)}."""
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    found = {}
    for name, figures_of in PARTS.items():
        if results.get(name):
            found.update({label: (value, way) for label, value, way in figures_of(results[name])})
    return results, found


def committed_of(kind, folder):
    """The last file of a kind, None without one."""
    for path in sorted(glob.glob(os.path.join(folder, "*.json")), reverse=True):
        with open(path, encoding="utf-8") as file:
            if json.load(file).get("kind", FIRST_KIND) == kind:
                return path
    return None


def show_provenance(name, results):
    print(f"{name}: {results['date']}, {results['program']}, {results['cpu']}, "
          f"{results['processors']} processors, load {results['load_before']}"
          f"{'' if results.get('valid', True) else ', NOT VALID'}")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "results")
    now, ours = figures(sys.argv[1])
    kind = now.get("kind", FIRST_KIND)
    path = committed_of(kind, folder)
    show_provenance("now", now)
    if not path:
        for label, (value, _) in ours.items():
            print(f"{label:<62} {value:10.4g}")
        print(f"no committed results of kind {kind} in {folder}: nothing to compare with; a run on an "
              f"idle machine is committed as {folder}/DATE{'' if kind == FIRST_KIND else '-' + kind}"
              ".json")
        return
    then, theirs = figures(path)
    show_provenance(os.path.basename(path), then)
    both = [label for label in ours if label in theirs]
    print(f"{'figure':<62} {'now':>10} {'committed':>10} {'better':>7}")
    for label in both:
        (value, way), (before, _) = ours[label], theirs[label]
        ratio = value / before if way > 0 else before / value
        print(f"{label:<62} {value:10.4g} {before:10.4g} {ratio:7.2f}"
              f"{'  fell' if ratio < FELL else ''}")
    print(f"{len(both)} figures; only now {len(ours) - len(both)}, "
          f"only committed {len(theirs) - len(both)}")


if __name__ == "__main__":
    main()
