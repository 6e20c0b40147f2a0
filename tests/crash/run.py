#!/usr/bin/env python3
"""kill -9 of the whole process at random moments of a busy cluster: what was acknowledged is there, no
device is given twice, and in the end everybody runs who can; manifests of a start are there or not. Prints
`N passed, M failed`.

BERTH_CRASH_ROUNDS says how many kills (default 20), BERTH_CRASH_SEED from which seed.
"""
import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite

ROOT = suite.ROOT
BERTH = suite.BERTH
ROUNDS = int(os.environ.get("BERTH_CRASH_ROUNDS", "20"))
SEED = int(os.environ.get("BERTH_CRASH_SEED", "1"))
START_SECONDS_MAX = 30
REST_SECONDS_MAX = 60
PODS = "/api/v1/namespaces/default/pods"


class Broken(AssertionError):
    pass


class Cluster:
    def __init__(self, directory, files=(os.path.join(ROOT, "examples/cluster"),)):
        self.directory = directory
        self.kubeconfig = os.path.join(directory, "kubeconfig")
        self.log = os.path.join(directory, "log")
        self.files = files

    def launch(self):
        if os.path.exists(self.kubeconfig):
            os.remove(self.kubeconfig)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [BERTH, "up", "--data-dir", os.path.join(self.directory, "data"),
                 "--kubeconfig", self.kubeconfig, "--insecure", "--listen", "127.0.0.1:0",
                 "--log-level", "warning"]
                + [word for file in self.files for word in ("-f", file)], stdout=log, stderr=log)

    def is_up(self):
        return os.path.exists(self.kubeconfig)

    def start(self):
        self.launch()
        began = time.monotonic()
        while not self.is_up():
            if self.process.poll() is not None or time.monotonic() - began > START_SECONDS_MAX:
                raise Broken("berth up does not come up again: " + open(self.log).read()[-400:])
            time.sleep(0.01)
        line = next(line for line in open(self.kubeconfig) if "server:" in line)
        self.address = line.split("//")[1].strip().strip('"')

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def call(self, method, path, body=None):
        """(status, document); (0, None) when the answer was lost."""
        connection = http.client.HTTPConnection(self.address, timeout=20)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return 0, None
        finally:
            connection.close()


def documents(name, group):
    claim = {"name": "gpu", "resourceClaimTemplateName": "one"}
    resources = {"requests": {"cpu": "1"}, "claims": [{"name": "gpu"}]}
    container = {"name": "c", "image": "i", "resources": resources}
    spec = {"schedulerName": "berth", "resourceClaims": [claim], "containers": [container]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def work(cluster, chance, number, acknowledged):
    """A burst of a user's requests; what the server acknowledged is written down."""
    group = "g%d" % number if chance.random() < 0.6 else None
    if group:
        path = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
        spec = {"schedulingPolicy": {"gang": {"minCount": 4}},
                "schedulingConstraints": {"topology": [{"key": "example.com/rack"}]}}
        body = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": group},
                "spec": spec}
        cluster.call("POST", path, body)
    for i in range(4):
        name = "p%d-%d" % (number, i)
        status, _ = cluster.call("POST", PODS, documents(name, group))
        if status == 201:
            acknowledged.add(name)
    for name in sorted(acknowledged):
        if chance.random() < 0.3:
            status, _ = cluster.call("DELETE", PODS + "/" + name)
            if status in (200, 404):
                acknowledged.discard(name)
            elif status == 0:
                acknowledged.discard(name)  # nobody knows


def check(cluster, acknowledged):
    _, pods = cluster.call("GET", PODS)
    names = {pod["metadata"]["name"] for pod in pods["items"]}
    lost = acknowledged - names
    if lost:
        raise Broken("acknowledged and gone: %s" % sorted(lost))
    _, claims = cluster.call("GET", "/apis/resource.k8s.io/v1/resourceclaims")
    holders = {}
    for claim in claims["items"]:
        allocation = claim.get("status", {}).get("allocation", {})
        for result in allocation.get("devices", {}).get("results", []):
            device = (result["driver"], result["pool"], result["device"])
            name = claim["metadata"]["name"]
            if device in holders:
                raise Broken("%s is allocated by %s and %s" % (device, holders[device], name))
            holders[device] = name
    _, nodes = cluster.call("GET", "/api/v1/nodes")
    racks = {node["metadata"]["name"]: node["metadata"]["labels"].get("example.com/rack")
             for node in nodes["items"]}
    groups = {}
    for pod in pods["items"]:
        node, group = pod["spec"].get("nodeName"), pod["spec"].get("schedulingGroup", {}).get("podGroupName")
        if node and group:
            groups.setdefault(group, set()).add(racks[node])
    torn = {group: found for group, found in groups.items() if len(found) > 1}
    if torn:
        raise Broken("groups in several racks: %s" % torn)


def at_rest(cluster):
    _, pods = cluster.call("GET", PODS)
    bound = [pod for pod in pods["items"] if pod["spec"].get("nodeName")]
    return all(pod["status"]["phase"] == "Running" and not pod["metadata"].get("deletionTimestamp")
               for pod in bound) and bound


def every_kill_is_survived():
    print("seed %d, %d kills" % (SEED, ROUNDS))
    chance = random.Random(SEED)
    acknowledged = set()
    with tempfile.TemporaryDirectory(prefix="berth-crash-") as directory:
        cluster = Cluster(directory)
        try:
            cluster.start()
            request = {"name": "gpu", "exactly": {"deviceClassName": "whole-gpu.example.com"}}
            spec = {"spec": {"devices": {"requests": [request]}}}
            cluster.call("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
                         {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
                          "metadata": {"name": "one"}, "spec": spec})
            for number in range(ROUNDS):
                work(cluster, chance, number, acknowledged)
                time.sleep(chance.random() * 0.08)
                cluster.kill()
                cluster.start()
                check(cluster, acknowledged)
            began = time.monotonic()
            while not at_rest(cluster):
                if time.monotonic() - began > REST_SECONDS_MAX:
                    raise Broken("bound pods do not come to run")
                time.sleep(0.2)
            check(cluster, acknowledged)
        finally:
            cluster.kill()


MANIFESTS = 400


def manifests_are_there_or_not():
    """A kill while `up -f` applies its files leaves all objects of them or none."""
    chance = random.Random(SEED)
    objects = [{"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "x" * 500},
                "metadata": {"name": "c%d" % i, "namespace": "default"}} for i in range(MANIFESTS)]
    seen = {0: 0, MANIFESTS: 0}
    with tempfile.TemporaryDirectory(prefix="berth-crash-") as directory:
        file = os.path.join(directory, "many.json")
        pathlib.Path(file).write_text("\n---\n".join(map(json.dumps, objects)))
        for number in range(ROUNDS):
            folder = os.path.join(directory, str(number))
            os.mkdir(folder)
            killed = Cluster(folder, [file])
            killed.launch()
            end = time.monotonic() + chance.random() * 1.5
            while time.monotonic() < end and not killed.is_up():
                time.sleep(0.002)
            killed.kill()
            again = Cluster(folder, [])
            again.start()
            try:
                status, listed = again.call("GET", "/api/v1/namespaces/default/configmaps")
            finally:
                again.kill()
            names = [item["metadata"]["name"] for item in listed["items"]]
            count = sum(1 for name in names if name.startswith("c"))
            if status != 200 or count not in seen:
                raise Broken("%d of %d objects are there after kill %d" % (count, MANIFESTS, number))
            seen[count] += 1
    print("killed before: %d, behind: %d" % (seen[0], seen[MANIFESTS]))


if __name__ == "__main__":
    sys.exit(suite.run([every_kill_is_survived, manifests_are_there_or_not], ()))
