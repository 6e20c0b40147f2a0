#!/usr/bin/env python3
"""Device health end to end: the real `berth up`, real plugin programs on real sockets, what a user reads.

Prints `N passed, M failed`. Arguments: parts of the names of cases.
"""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from suite import Failure, eventually

PODS = "/api/v1/namespaces/default/pods"
START_SECONDS_MAX = 30
MERGE = "application/merge-patch+json"
CASES = []


def case(function):
    CASES.append(function)
    return function


class Cluster:
    """`berth up` with the cluster of examples/, its data on disk: it can be killed and started again."""

    def __init__(self, berth, *flags):
        self.berth, self.flags = berth, flags
        self.directory = tempfile.mkdtemp(prefix="h", dir=os.environ.get("TMPDIR"))
        self.kubeconfig = os.path.join(self.directory, "kubeconfig")
        self.nodes = os.path.join(self.directory, "n")
        self.programs = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, *manifests):
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.kubeconfig)
        self.log = os.path.join(self.directory, "log")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.berth, "up", "--data-dir", os.path.join(self.directory, "data"), "--kubeconfig",
                 self.kubeconfig, "--insecure", "--listen", "127.0.0.1:0", "--nodes-dir", self.nodes,
                 "-f", suite.ROOT / "examples/cluster", *self.flags], stdout=log, stderr=log)
        eventually("the cluster is up", self.is_up, START_SECONDS_MAX)
        line = next(line for line in open(self.kubeconfig) if "server:" in line)
        self.address = line.split("//")[1].strip().strip('"')

    def is_up(self):
        if self.process.poll() is not None:
            raise Failure("berth up ended: " + pathlib.Path(self.log).read_text()[-600:])
        return os.path.exists(self.kubeconfig)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def call(self, method, path, body=None, content="application/json"):
        connection = http.client.HTTPConnection(self.address, timeout=20)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": content})
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def program(self, name, *arguments):
        program = subprocess.Popen([self.berth.parent / name, *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.programs.append(program)
        program.stdout.readline()
        return program

    def driver(self, node, *devices, timeout=60):
        named = [word for device in devices for word in ("--device", device)]
        return self.program("health-driver", "--registry", f"{self.nodes}/{node}/plugins_registry",
                            "--pool", node, "--timeout-seconds", str(timeout), *named)

    def pod(self, name, node, claims=(), requests=None, **spec):
        """A pod on `node`; each claim is a template's name."""
        container = {"name": "work", "image": "i",
                     "resources": {"requests": requests or {"cpu": "1"}, "limits": requests or {},
                                   "claims": [{"name": claim} for claim in claims]}}
        answer = self.call("POST", PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": node}, "containers": [container],
                     "resourceClaims": [{"name": claim, "resourceClaimTemplateName": claim}
                                        for claim in claims], **spec}})
        assert answer["kind"] == "Pod", answer
        return answer

    def health(self, name, container="work", field="containerStatuses"):
        """{entry: {device: health}} of one container."""
        for status in self.call("GET", PODS + "/" + name).get("status", {}).get(field, []):
            if status["name"] == container:
                return {entry["name"]: {one["resourceID"].split("/")[-1]: one["health"]
                                        for one in entry["resources"]}
                        for entry in status.get("allocatedResourcesStatus", [])}
        return None

    def shows(self, name, wanted, **where):
        try:
            eventually("health", lambda: self.health(name, **where) == wanted, 30)
        except Failure:
            raise Failure(f"{name} shows {self.health(name, **where)}, not {wanted}") from None

    def template(self, name="one-gpu"):
        request = {"name": "gpu", "exactly": {"deviceClassName": "whole-gpu.example.com"}}
        self.call("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates", {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
            "spec": {"spec": {"devices": {"requests": [request]}}}})


def tell(program, line):
    program.stdin.write(line + "\n")
    program.stdin.flush()


def device_of(cluster, pod):
    """The device that the pod's only claim got."""
    claim = eventually("a claim", lambda: (cluster.call("GET", PODS + "/" + pod)["status"]
                                           .get("resourceClaimStatuses")))[0]["resourceClaimName"]
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/"
    return eventually("an allocation", lambda: cluster.call("GET", claims + claim).get("status", {}).get(
        "allocation"))["devices"]["results"][0]["device"]


def count_versions(cluster, pod):
    return cluster.call("GET", PODS + "/" + pod)["metadata"]["resourceVersion"]


@case
def a_killed_agent_knows_what_it_showed_and_is_not_believed_for_ever(berth):
    with Cluster(berth) as cluster:
        cluster.template()
        cluster.pod("train", "node-1", ["one-gpu"])
        gpu = device_of(cluster, "train")
        driver = cluster.driver("node-1", gpu, timeout=5)
        cluster.shows("train", {"claim:one-gpu": {gpu: "Healthy"}})
        tell(driver, f"{gpu} Unhealthy xid 79")
        cluster.shows("train", {"claim:one-gpu": {gpu: "Unhealthy"}})
        time.sleep(1.2)  # kCheckpointPeriod
        driver.kill()
        cluster.kill()
        cluster.start()
        # The driver does not come back: the last report ages, though nobody ever says anything again.
        cluster.shows("train", {"claim:one-gpu": {gpu: "Unknown"}})
        cluster.driver("node-1", gpu)
        cluster.shows("train", {"claim:one-gpu": {gpu: "Healthy"}})


@case
def a_restart_writes_no_status_when_nothing_changed(berth):
    with Cluster(berth) as cluster:
        cluster.template()
        cluster.pod("train", "node-1", ["one-gpu"])
        gpu = device_of(cluster, "train")
        cluster.driver("node-1", gpu)
        cluster.shows("train", {"claim:one-gpu": {gpu: "Healthy"}})
        version = count_versions(cluster, "train")
        cluster.kill()
        cluster.start()
        cluster.driver("node-1", "another-gpu")
        time.sleep(2)
        assert count_versions(cluster, "train") == version, cluster.call("GET", PODS + "/train")


def main():
    chosen = suite.options(__doc__)
    return suite.run(CASES, chosen.words, chosen.berth)


if __name__ == "__main__":
    sys.exit(main())
