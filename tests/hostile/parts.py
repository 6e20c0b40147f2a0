"""The parts of Berth as separate processes, and the proxy between them and the API server."""

import json
import os
import shutil
import socket
import subprocess
import sys

from lab import BERTH, HERE, Process, Skip, free_port, ready_api, wait_for

GATES = ",".join(
    gate + "=true"
    for gate in (
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
        "DRADeviceBindingConditions",
        "DRAResourceClaimDeviceStatus",
        "DRAWorkloadResourceClaims",
        "DRADeviceTaints",
        "DRADeviceTaintRules",
    )
)
WITH_GATES = ["--feature-gates", GATES]


def apiserver(lab, data=None, port=None):
    """`berth apiserver`; returns the process, its API and its port."""
    port = port or free_port()
    kept = ["--data-dir", str(data)] if data else ["--in-memory"]
    kubeconfig = lab.folder / f"apiserver-{port}.kubeconfig"
    command = [
        BERTH,
        "apiserver",
        "--insecure",
        "--listen",
        f"127.0.0.1:{port}",
        "--kubeconfig",
        str(kubeconfig),
    ]
    process = Process(
        lab, command + kept + WITH_GATES, "apiserver", r"Serving the Kubernetes API on (http://\S+)"
    )
    return process, ready_api(process.up.group(1)), port


def part(lab, which, port, *arguments, elect=False, env=None):
    """`berth scheduler` or `berth binder` on the API server (or proxy) at that port."""
    kubeconfig = lab.folder / f"{which}-{len(lab.processes)}.kubeconfig"
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [{"name": "u", "user": {}}],
        "contexts": [context],
        "current-context": "x",
    }
    kubeconfig.write_text(json.dumps(config))
    command = [BERTH, which, "--kubeconfig", str(kubeconfig), "--listen", "127.0.0.1:0", *WITH_GATES]
    command += [] if elect else ["--leader-elect=false"]
    return Process(lab, command + list(arguments), which, r"health and metrics are on (http://\S+)", env)


def scheduler(lab, port, *arguments, **options):
    return part(lab, "scheduler", port, *arguments, **options)


def binder(lab, port, *arguments, **options):
    return part(lab, "binder", port, *arguments, **options)


class Proxy:
    """proxy.py in front of an API server; `port` is the one to talk to."""

    def __init__(self, lab, upstream):
        self.port, self._control = free_port(), free_port()
        self.record = lab.folder / f"proxy-{self.port}.txt"
        command = [sys.executable, HERE / "proxy.py", self.port, upstream, self._control, self.record]
        self.process = Process(lab, [str(word) for word in command], "proxy", "listening")

    def fault(self, method, path, action, count=-1, **more):
        """Adds a rule; see proxy.py. `count` matching requests get it, or all (-1)."""
        self._tell({"method": method, "path": path, "action": action, "count": count, **more})

    def heal(self):
        self._tell({"clear": True})

    def cut_watches(self, path=""):
        self._tell({"cut": path})

    def hold_watches(self, seconds, path=""):
        self._tell({"hold": path, "seconds": seconds})

    def _tell(self, order):
        with socket.create_connection(("127.0.0.1", self._control)) as control:
            control.sendall((json.dumps(order) + "\n").encode())
            control.recv(10)


def environment_with_clock_offset(lab, seconds):
    """An environment in which a process' wall clock is `seconds` ahead (negative: behind)."""
    compiler = shutil.which("gcc")
    if not compiler:
        raise Skip("gcc is needed to shift a process' clock")
    library = lab.folder / "skew.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "skew.c"), "-ldl"], check=True
    )
    return dict(os.environ, LD_PRELOAD=str(library), SKEW_SECONDS=str(seconds))


__all__ = [
    "Proxy",
    "apiserver",
    "binder",
    "environment_with_clock_offset",
    "part",
    "scheduler",
    "wait_for",
]
