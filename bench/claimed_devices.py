#!/usr/bin/env python3
"""Measures how many whole devices of a driver each policy can give out: for docs/placement-quality.md.

Pods ask by claims for one, two, four or eight devices of nodes with eight, until they ask for 1.3 times all.
The same pods ask for nvidia.com/gpu in a second run. Where all decisions are the same, its percentage counts
for both. Only the standard library.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PER_NODE, LOAD = 8, 1.3
SIZES, WEIGHTS = (1, 2, 4, 8), (50, 20, 10, 20)
DRIVER = "gpu.example.com"


def named(version, kind, name, **rest):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **rest}


def devices_of(nodes):
    objects = [named("resource.k8s.io/v1", "DeviceClass", "gpu", spec={
        "selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]})]
    for node in (f"node-{i}" for i in range(nodes)):
        objects.append(named("resource.k8s.io/v1", "ResourceSlice", node, spec={
            "driver": DRIVER, "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{i}"} for i in range(PER_NODE)]}))
    for size in SIZES:
        claim = {"devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": "gpu",
                                                                       "count": size}}]}}
        template = named("resource.k8s.io/v1", "ResourceClaimTemplate", f"of-{size}", spec={"spec": claim})
        template["metadata"]["namespace"] = "default"
        objects.append(template)
    return objects


def arrival(number, size, by_claims):
    common = {"name": f"pod-{number}", "at": f"{number}s"}
    if not by_claims:
        return {**common, "cpu": 4 * size, "memory": "8Gi", "gpus": size}
    container = {"name": "main", "image": "simulated", "resources": {
        "requests": {"cpu": 4 * size, "memory": "8Gi"}, "claims": [{"name": "gpus"}]}}
    return {**common, "pod": {"metadata": {"namespace": "default"}, "spec": {
        "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": f"of-{size}"}],
        "containers": [container]}}}


def scenario(seed, nodes, by_claims):
    draw, sizes = random.Random(seed), []
    while sum(sizes) < LOAD * nodes * PER_NODE:
        sizes += draw.choices(SIZES, WEIGHTS)
    pool = {"name": "node", "count": nodes, "cpu": 64, "memory": "512Gi"}
    return {"apiVersion": "simulate.berth.dev/v1alpha1", "kind": "Scenario", "spec": {
        "nodes": [pool if by_claims else {**pool, "gpus": PER_NODE}],
        "objects": devices_of(nodes) if by_claims else [],
        "arrivals": [arrival(number, size, by_claims) for number, size in enumerate(sizes)]}}


def simulate(berth, policies, *arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario(*arguments), file)
        file.flush()
        command = [str(berth), "simulate", "-o", "json", "--policy", policies, "--scenario", file.name]
        outcome = subprocess.run(command, capture_output=True, text=True, check=True)
    return {run["policy"]: run for run in json.loads(outcome.stdout)["runs"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--policies", default="default,reference")
    chosen = parser.parse_args()
    berth = pathlib.Path(os.environ.get("BERTH_BUILD_DIR", ROOT / "build" / "release"), "berth")
    allocated = {policy: [] for policy in chosen.policies.split(",")}
    for seed in range(1, chosen.seeds + 1):
        by_resource = simulate(berth, chosen.policies, seed, chosen.nodes, False)
        by_claims = simulate(berth, chosen.policies, seed, chosen.nodes, True)
        for policy, runs in allocated.items():
            if by_claims[policy]["digest"] != by_resource[policy]["digest"]:
                sys.exit(f"seed {seed}, {policy}: claims and the resource are placed differently")
            runs.append(by_resource[policy]["allocatedGpuPercent"])
    print("| policy | devices given out, mean | least | most |\n|---|---|---|---|")
    for policy, runs in allocated.items():
        print("| %s | %.2f %% | %.2f %% | %.2f %% |" % (policy, sum(runs) / len(runs), min(runs), max(runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
