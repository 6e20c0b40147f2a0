"""A machine room for the dashboard: racks of nodes, gangs that fill them, and a `berth up` that has it."""
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
START_SECONDS_MAX = 300
GPUS = 8
RACKS_OF_A_BLOCK = 3
CLASS = "gpu.example.com"


def thing(api, kind, name, body, **metadata):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **metadata}, **body}


def room(racks, nodes, closed=()):
    """The nodes and devices; nodes with a number in `closed` take no new pods."""
    levels = [{"name": level, "nodeLabel": "example.com/" + level} for level in ("block", "rack")]
    yield thing("scheduling.berth.dev/v1alpha1", "Topology", "default", {"spec": {"levels": levels}})
    selector = {"cel": {"expression": "device.driver == '%s'" % CLASS}}
    yield thing("resource.k8s.io/v1", "DeviceClass", CLASS, {"spec": {"selectors": [selector]}})
    for number in range(racks * nodes):
        rack = number // nodes
        name = "node-%d" % (number + 1)
        labels = {"berth.dev/simulated": "true", "kubernetes.io/hostname": name,
                  "example.com/block": "b%d" % (rack // RACKS_OF_A_BLOCK + 1),
                  "example.com/rack": "r%d" % (rack + 1)}
        yield thing("v1", "Node", name, {"spec": {"unschedulable": number + 1 in closed}}, labels=labels)
        yield thing("resource.k8s.io/v1", "ResourceSlice", name, {"spec": {
            "driver": CLASS, "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-%d" % gpu} for gpu in range(GPUS)]}})


def gang(name, members, gpus, level):
    claim = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": CLASS, "count": gpus}}]}}
    yield thing("resource.k8s.io/v1", "ResourceClaimTemplate", name, {"spec": {"spec": claim}},
                namespace="default")
    yield thing("scheduling.k8s.io/v1beta1", "PodGroup", name, {"spec": {
        "schedulingPolicy": {"gang": {"minCount": members}},
        "schedulingConstraints": {"topology": [{"key": "example.com/" + level}]}}}, namespace="default")
    for member in range(members):
        yield thing("v1", "Pod", "%s-%d" % (name, member), {"spec": {
            "schedulingGroup": {"podGroupName": name},
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": name}],
            "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}]}},
            namespace="default")


def workload(racks, nodes):
    """Gangs that fill most of the room, and one that fits in no rack."""
    for rack in range(racks):
        yield from gang("train-%d" % (rack + 1), max(nodes * (3 + rack % 3) // 6, 1), GPUS, "rack")
        yield from gang("tune-%d" % (rack + 1), 1 + rack % 2, GPUS // 2, "rack")
    yield from gang("too-large", nodes + 1, GPUS, "rack")


def illness():
    """A device that a rule taints, and what two drivers report."""
    yield thing("resource.k8s.io/v1", "DeviceTaintRule", "fallen", {"spec": {
        "deviceSelector": {"driver": CLASS, "pool": "node-38", "device": "gpu-6"},
        "taint": {"key": "example.com/fallen", "effect": "NoExecute"}}})
    for node, health, message in (("node-20", "Unhealthy", "xid 79: the GPU has fallen off the bus"),
                                  ("node-29", "Unknown", "no report for 30s")):
        devices = [{"driver": CLASS, "pool": node, "device": "gpu-%d" % gpu, "health": "Healthy"}
                   for gpu in range(GPUS)]
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        devices[2].update(health=health, message=message, since=since)
        yield thing("scheduling.berth.dev/v1alpha1", "NodeDeviceHealth", node, {"spec": {"devices": devices}})


@contextlib.contextmanager
def serving(berth, objects, *flags):
    """A `berth up` with these objects, in memory: (the page's link, the process, its kubeconfig)."""
    with tempfile.TemporaryDirectory(prefix="berth-room-") as scratch:
        folder = pathlib.Path(scratch)
        (folder / "room.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        with open(folder / "log", "w") as log:
            command = [berth, "up", "--in-memory", "-f", str(folder / "room.json"), "--listen", "127.0.0.1:0",
                       "--kubeconfig", str(folder / "kubeconfig"), *flags]
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            limit = time.monotonic() + START_SECONDS_MAX
            while not (link := re.search(r"http://\S+/ui/\S*", (folder / "log").read_text())):
                if process.poll() is not None or time.monotonic() > limit:
                    print((folder / "log").read_text(), file=sys.stderr)
                    raise RuntimeError("berth up did not start")
                time.sleep(0.1)
            yield link[0], process, (folder / "kubeconfig").read_text()
        finally:
            process.terminate()
            process.wait()
