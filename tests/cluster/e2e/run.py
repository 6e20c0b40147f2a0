#!/usr/bin/env python3
"""Kubernetes' own e2e.test, unchanged, on `berth up`: every test that passing*.txt names passes.

Words choose tests by parts of their names. PROCS: how many run at a time; KEEP: a folder for the reports.
Everything runs in a network namespace that has loopback alone.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "clients")]
from programs import Server, Skip, program
import suite

PROCESSES = int(os.environ.get("PROCS", "6"))
RUN_TIMEOUT = "60m"
NODES = 4
INSIDE = "BERTH_E2E_NAMESPACE"
KUBECTL = "kubectl-1.37"
# A page token lives as long as the window of events; in Kubernetes five minutes.
FLAGS = ("--in-memory", "--listen", "127.0.0.1:0", "--nodes", str(NODES),
         "--simulated-termination-duration", "2s", "--watch-window", "5000")
GATES = ("GenericWorkload", "WorkloadWithJob", "TopologyAwareWorkloadScheduling", "CompositePodGroup",
         "DRAResourcePoolStatus", "DRAPartitionableDevicesType")
RUNS = (("passing.txt", ()),
        ("passing-gates.txt", ("--feature-gates", ",".join(gate + "=true" for gate in GATES))))
E2E_FLAGS = ("--provider=skeleton", "--allowed-not-ready-nodes=-1", "--minStartupPods=0",
             "--disable-log-dump", "--dump-logs-on-failure=false", "--num-nodes=%d" % NODES)
# Tests of StatefulSets and claims skip themselves without a default class.
DEFAULT_CLASS = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {
    "name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "simulated.berth.dev"}
MESSAGE_MAX = 400
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
LISTED = re.compile(r"^\s+\S+\.go:\d+: (.*\[Conformance\].*)$", re.MULTILINE)


def names_in(file):
    """The tests that a list names; other lines are reasons and remarks."""
    return [line for line in (HERE / file).read_text().splitlines() if line.startswith("[")]


def enter_namespace():
    """Runs this script again in a namespace of its own; false where the machine allows none."""
    if os.environ.get(INSIDE):
        return True
    namespace = ["unshare", "--net", *(["--map-root-user"] if os.geteuid() else [])]
    if not shutil.which("unshare") or subprocess.run([*namespace, "true"], stderr=subprocess.DEVNULL,
                                                     check=False).returncode:
        return False
    os.environ[INSIDE] = "1"
    os.execvp(namespace[0], [*namespace, sys.executable, *sys.argv])


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack_from("16sh", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


@contextlib.contextmanager
def folder_for(run):
    if keep := os.environ.get("KEEP"):
        folder = pathlib.Path(keep).resolve() / run
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="berth-e2e-") as folder:
        yield pathlib.Path(folder)


def run_specs(server, names):
    """{name: (state, seconds, message)} of the tests that ran."""
    focus = "(" + "|".join(map(re.escape, names)) + ")$"
    command = [program("ginkgo"), "--procs=%d" % PROCESSES, "--no-color", "--timeout=" + RUN_TIMEOUT,
               "--json-report=report.json", "--output-dir=%s" % server.folder, "--focus=" + focus,
               program("e2e.test"), "--", "--kubeconfig=%s" % server.kubeconfig,
               "--kubectl-path=%s" % program(KUBECTL), "--e2e-output-dir=%s" % server.folder,
               *E2E_FLAGS]
    with open(server.folder / "e2e.log", "wb") as log:
        subprocess.run(command, cwd=server.folder, stdout=log, stderr=log, env=server.environment(),
                       check=False)
    report = server.folder / "report.json"
    return results_in(json.loads(report.read_text()) if report.exists() else [])


def results_in(report):
    results = {}
    for spec in (spec for part in report for spec in part["SpecReports"] or []):
        failure = (spec.get("Failure") or {}).get("Message", "")
        if spec["LeafNodeType"] == "It" and (spec["State"] != "skipped" or failure):
            name = " ".join([*(spec["ContainerHierarchyTexts"] or []), spec["LeafNodeText"]])
            results[name] = (spec["State"], spec["RunTime"] / 1e9, " ".join(failure.split())[:MESSAGE_MAX])
    return results


def judge_run(tally, names, results):
    for name in names:
        state, seconds, message = results.get(name, ("not run", 0, "e2e.test has no such test, or stopped"))
        word = name.replace(" ", "_")
        if state == "passed":
            tally.passed += 1
            print("ok    %s %.1f s" % (word, seconds), flush=True)
        else:
            tally.fail(word, "%s: %s" % (state, message))


def every_conformance_test_is_listed():
    """In one list: those that pass, or those that do not, with the reason."""
    done = subprocess.run([program("e2e.test"), "--list-tests", "--provider=skeleton"], capture_output=True,
                          text=True, check=True)
    listed = [name for file, _ in RUNS for name in names_in(file)] + names_in("differs.txt")
    assert len(listed) == len(set(listed)), [name for name in listed if listed.count(name) > 1]
    missing = set(LISTED.findall(done.stdout)) - set(listed)
    assert not missing, "in no list:\n" + "\n".join(sorted(missing))


def main():
    options = suite.options(__doc__)
    tally = suite.Tally()
    try:
        for name in ("e2e.test", "ginkgo", KUBECTL):
            program(name)
        if not enter_namespace():
            raise Skip("`unshare --net` is not allowed here")
    except Skip as why:
        print("SKIP e2e: %s" % why)
        return suite.close(0, 0, 1)
    raise_loopback()
    if not options.words:
        tally.attempt(every_conformance_test_is_listed)
    for file, flags in RUNS:
        names = [name for name in names_in(file)
                 if not options.words or any(word in name for word in options.words)]
        if names:
            with folder_for(file.removesuffix(".txt")) as folder:
                server = Server(options.berth, folder, *FLAGS, *flags)
                try:
                    server.run(program(KUBECTL), "create", "-f", "-", text=json.dumps(DEFAULT_CLASS))
                    judge_run(tally, names, run_specs(server, names))
                finally:
                    server.close()
    return tally.close(0)


if __name__ == "__main__":
    sys.exit(main())
