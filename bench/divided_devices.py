#!/usr/bin/env python3
"""Measures how much of divided devices each policy can give out: for docs/placement-quality.md.

Nodes have eight GPUs. Pods ask by claims for an eighth of a GPU, a quarter, a half or a whole one, until they
ask for all. All wait from the start. In one run the GPUs are partitioned: each has eight memory slices, as
counters, and a device for every place of every size. In the other run they are shared by their memory. Only
the standard library.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GPUS, LOAD = 8, 1.0
EIGHTHS, WEIGHTS = (1, 2, 4, 8), (40, 20, 20, 20)
DRIVER = "gpu.example.com"
POLICIES = {"default": [], "reference": [{"name": "GpuFragmentation"}]}


def named(version, kind, name, namespace=None, **rest):
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **where}, **rest}


def slice_of(node, name, total, **rest):
    pool = {"name": node, "generation": 1, "resourceSliceCount": total}
    return named("resource.k8s.io/v1", "ResourceSlice", name,
                 spec={"driver": DRIVER, "nodeName": node, "pool": pool, **rest})


def partition(gpu, start, size):
    counters = {f"memory-slice-{i}": {"value": "1"} for i in range(start, start + size)}
    return {"name": f"gpu-{gpu}-{size}-at-{start}", "attributes": {"eighths": {"int": size}},
            "consumesCounters": [{"counterSet": f"gpu-{gpu}", "counters": counters}]}


def partitioned(node):
    slices = {f"memory-slice-{i}": {"value": "1"} for i in range(8)}
    sets = [{"name": f"gpu-{gpu}", "counters": slices} for gpu in range(GPUS)]
    devices = [partition(gpu, start, size) for gpu in range(GPUS) for size in EIGHTHS
               for start in range(0, 8, size)]
    parts = [devices[i:i + 64] for i in range(0, len(devices), 64)]
    return [slice_of(node, f"{node}-counters", 1 + len(parts), sharedCounters=sets)] + [
        slice_of(node, f"{node}-{i}", 1 + len(parts), devices=part) for i, part in enumerate(parts)]


def shared(node):
    return [slice_of(node, node, 1, devices=[
        {"name": f"gpu-{gpu}", "allowMultipleAllocations": True, "capacity": {"memory": {
            "value": "80Gi", "requestPolicy": {"default": "10Gi"}}}} for gpu in range(GPUS)])]


def request(size, is_partition):
    asks = {"deviceClassName": "gpu", "count": 1}
    if is_partition:
        asks["selectors"] = [{"cel": {"expression": f"device.attributes['{DRIVER}'].eighths == {size}"}}]
    else:
        asks["capacity"] = {"requests": {"memory": f"{10 * size}Gi"}}
    return {"devices": {"requests": [{"name": "gpu", "exactly": asks}]}}


def pod(number, size):
    claim = {"name": "gpu", "resourceClaimTemplateName": f"of-{size}"}
    container = {"name": "main", "image": "simulated", "resources": {
        "requests": {"cpu": f"{500 * size}m", "memory": f"{size}Gi"}, "claims": [{"name": "gpu"}]}}
    made = named("v1", "Pod", f"pod-{number:05}-{size}", "default",
                 spec={"resourceClaims": [claim], "containers": [container]})
    made["metadata"]["creationTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(10**9 + number))
    return made


def cluster(seed, nodes, is_partition):
    draw, sizes = random.Random(seed), []
    while sum(sizes) < LOAD * nodes * GPUS * 8:
        sizes += draw.choices(EIGHTHS, WEIGHTS)
    objects = [named("resource.k8s.io/v1", "DeviceClass", "gpu", spec={
        "selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]})]
    objects += [named("resource.k8s.io/v1", "ResourceClaimTemplate", f"of-{size}", "default",
                      spec={"spec": request(size, is_partition)}) for size in EIGHTHS]
    room = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    for node in (f"node-{i}" for i in range(nodes)):
        objects.append(named("v1", "Node", node, status={"allocatable": room, "capacity": room}))
        objects += partitioned(node) if is_partition else shared(node)
    return objects + [pod(number, size) for number, size in enumerate(sizes)]


def configuration(policy):
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "default-scheduler",
                          "plugins": {"score": {"disabled": POLICIES[policy]}}}]}


def given_out(berth, folder, policy, seed, nodes, is_partition):
    """Percent of all devices, and the seconds that the plan took."""
    objects, config = folder / "objects.json", folder / "config.json"
    objects.write_text(json.dumps({"apiVersion": "v1", "kind": "List",
                                   "items": cluster(seed, nodes, is_partition)}))
    config.write_text(json.dumps(configuration(policy)))
    start = time.monotonic()
    outcome = subprocess.run([str(berth), "plan", "-o", "json", "--config", config, "-f", objects],
                             capture_output=True, text=True)
    seconds = time.monotonic() - start
    if not outcome.stdout:
        sys.exit(outcome.stderr)
    placed = [one["name"] for one in json.loads(outcome.stdout)["decisions"] if one["result"] == "Placed"]
    return 100 * sum(int(name.rsplit("-", 1)[1]) for name in placed) / (nodes * GPUS * 8), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=10)
    chosen = parser.parse_args()
    berth = pathlib.Path(os.environ.get("BERTH_BUILD_DIR", ROOT / "build" / "release"), "berth")
    print("| GPUs | policy | given out, mean | least | most | one plan |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kind, is_partition in (("partitioned", True), ("shared", False)):
            for policy in POLICIES:
                runs = [given_out(berth, pathlib.Path(folder), policy, seed, chosen.nodes, is_partition)
                        for seed in range(1, chosen.seeds + 1)]
                shares = [share for share, _ in runs]
                print("| %s | %s | %.2f %% | %.2f %% | %.2f %% | %.2f s |" % (
                    kind, policy, sum(shares) / len(shares), min(shares), max(shares),
                    min(seconds for _, seconds in runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
