#!/usr/bin/env python3
"""Measures how much of a cluster's GPUs each policy can give out: for docs/placement-quality.md.

Without --trace it runs on the statistics of the public trace (--constrained for its variants), as
examples/simulate/openb.yaml does. With --trace FOLDER it runs every pod_list_*.csv[.gz] of the folder on its
node_list_gpu_node.csv. One run to load 1.3 gives the figures at 1.0 too: its curve has them. Only the
standard library.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOAD = 1.3
# FGD's published allocation at loads 1.0 and 1.3 (USENIX ATC 2023, artifact, mean of 10 seeds).
PUBLISHED = {"default": (95.23, 95.39), "cpu050": (95.00, 95.21), "cpu100": (95.21, 95.35),
             "cpu200": (94.82, 95.05), "cpu250": (93.20, 93.41), "gpushare40": (93.96, 94.15),
             "gpushare60": (91.25, 91.40), "gpushare80": (89.08, 89.31), "gpushare100": (86.64, 86.90),
             "gpuspec10": (94.66, 94.95), "gpuspec20": (94.66, 94.84), "gpuspec25": (93.91, 94.74),
             "gpuspec33": (87.84, 94.55), "multigpu20": (95.53, 95.65), "multigpu30": (96.36, 96.46),
             "multigpu40": (96.91, 96.99), "multigpu50": (97.09, 97.18)}
COLOURS = ("#0b6e4f", "#c05621", "#2b6cb0", "#805ad5", "#718096", "#b7791f")


def generator_scenario(constrained):
    return {"apiVersion": "simulate.berth.dev/v1alpha1", "kind": "Scenario", "spec": {
        "nodeStatistics": "openb",
        "generator": {"statistics": "openb", "load": LOAD, "constrainedPercent": constrained}}}


def simulate(berth, chosen, *arguments):
    command = [str(berth), "simulate", "-o", "json", "--seeds", str(chosen.seeds), "--policy",
               chosen.policies, "--threads", str(chosen.threads)] + [str(one) for one in arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["runs"]


def workloads(berth, chosen):
    """Name and runs of each."""
    if chosen.trace:
        for pods in sorted(chosen.trace.glob("pod_list_*.csv*")):
            name = pods.name.split(".")[0].removeprefix("pod_list_")
            yield name, simulate(berth, chosen, "--openb-nodes", chosen.trace / "node_list_gpu_node.csv",
                                 "--openb-pods", pods, "--load", LOAD)
        return
    for constrained in chosen.constrained:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(generator_scenario(constrained), file)
            file.flush()
            yield "openb" + (f", {constrained} % constrained" if constrained else ""), simulate(
                berth, chosen, "--scenario", file.name)


def mean_curve(runs, policy, member):
    """By arrived percent, over the seeds."""
    curves = [{point["arrivedPercent"]: point[member] for point in run["curve"]}
              for run in runs if run["policy"] == policy]
    # The last task may leave the load just below its mark.
    last = [run["allocatedGpuPercent"] if member == "allocatedPercent" else run["fragmentationPercent"]
            for run in runs if run["policy"] == policy]
    for curve, end in zip(curves, last):
        curve.setdefault(round(LOAD * 100), end)
    return {load: sum(curve[load] for curve in curves) / len(curves) for load in curves[0]}


def table(name, runs, policies):
    lines = []
    for policy in policies:
        allocated = mean_curve(runs, policy, "allocatedPercent")
        lost = mean_curve(runs, policy, "fragmentationPercent")
        figures = [allocated[90], allocated[100], allocated[130], lost[50], lost[80], lost[100]]
        lines.append("| %s | %s | %s |" % (name, policy, " | ".join("%.2f" % one for one in figures)))
    if name in PUBLISHED:
        lines.append("| %s | FGD, published | | %.2f | %.2f | | | |" % (name, *PUBLISHED[name]))
    return lines


def svg(title, unit, curves, low, high):
    """`curves`: by policy, values by load."""
    width, height, left, top = 640, 320, 52, 34
    x = lambda load: left + (load - 50) / 80 * (width - left - 150)
    y = lambda value: top + (high - value) / (high - low) * (height - top - 44)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>',
             f'<text x="{left}" y="20" font-size="14">{title}</text>']
    for load in range(50, 131, 10):
        parts.append(f'<path d="M{x(load):.1f} {y(low):.1f}V{y(high):.1f}" stroke="#e2e8f0"/>'
                     f'<text x="{x(load):.1f}" y="{height - 26}" text-anchor="middle">{load}</text>')
    step = (high - low) / 5
    for mark in range(6):
        value = low + mark * step
        parts.append(f'<path d="M{x(50):.1f} {y(value):.1f}H{x(130):.1f}" stroke="#e2e8f0"/>'
                     f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    parts.append(f'<text x="{x(90):.1f}" y="{height - 8}" text-anchor="middle">arrived GPU demand, % of '
                 f'all GPUs</text><text x="8" y="{top + 4}">{unit}</text>')
    for row, (policy, values) in enumerate(curves.items()):
        shown = [(load, value) for load, value in sorted(values.items()) if 50 <= load <= 130]
        path = " ".join(f"{x(load):.1f},{max(top, min(y(low), y(value))):.1f}" for load, value in shown)
        parts.append(f'<polyline fill="none" stroke="{COLOURS[row]}" stroke-width="2" points="{path}"/>'
                     f'<text x="{width - 140}" y="{top + 20 + 18 * row}" fill="{COLOURS[row]}">{policy}'
                     '</text>')
    return "\n".join(parts) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", type=pathlib.Path, help="a folder with the public trace")
    parser.add_argument("--constrained", type=int, nargs="*", default=[0, 20],
                        help="percent of the tasks with GPUs that name models")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--policies", default="default,fgd,best-fit,reference,random")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--plots", type=pathlib.Path, help="the folder for SVG files of the first workload")
    chosen = parser.parse_args()
    berth = pathlib.Path(os.environ.get("BERTH_BUILD_DIR", ROOT / "build" / "release"), "berth")
    policies = chosen.policies.split(",")
    print("| workload | policy | allocated at 90 | at 100 | at 130 | fragmentation at 50 | at 80 | at 100 |\n"
          "|---|---|---|---|---|---|---|---|")
    began, first = time.monotonic(), True
    for name, runs in workloads(berth, chosen):
        print("\n".join(table(name, runs, policies)), flush=True)
        if first and chosen.plots:
            for member, file, title, low, high in (
                    ("allocatedPercent", "allocated", "GPUs allocated", 50, 100),
                    ("fragmentationPercent", "fragmentation", "Free GPUs of no use to the workload", 0, 20)):
                curves = {policy: mean_curve(runs, policy, member) for policy in policies}
                (chosen.plots / f"placement-{file}.svg").write_text(svg(title, "%", curves, low, high))
        first = False
    print("%.0f s" % (time.monotonic() - began), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
