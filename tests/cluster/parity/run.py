#!/usr/bin/env python3
"""Berth's server beside a real one: the table of requests (table.py), and random sequences of apply, update
and patch by three managers.

Both servers get the same requests; statuses, objects and managedFields must be equal, but for what each
server makes itself (uid, versions, times) and what differences.txt lists. Starts the rig (../rig/rig.sh);
where that is not built, it says so and skips. SEQUENCES and FIRST_SEED choose which sequences run.
"""
import copy
import http.client
import json
import os
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent), str(HERE.parent.parent / "observed")]
import compare
import table
from control_plane import ControlPlane, run_suite
from served import Served
from suite import Failure

SEQUENCES = int(os.environ.get("SEQUENCES", "300"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
STEPS_MAX = 9
SHOWN_MAX = 5
SPACE = "parity"
MANAGERS = ("m1", "m2", "m3")
GATES = ("DRADeviceCompatibilityGroups", "DRAListTypeAttributes", "DRADerivedAttributes", "GenericWorkload",
         "TopologyAwareWorkloadScheduling", "CompositePodGroup", "DRAWorkloadResourceClaims",
         "PodGroupPreemptionPolicy", "DRAResourcePoolStatus")  # those of the rig
JSON, APPLY, MERGE, STRATEGIC, JSON_PATCH = (
    "application/json", "application/apply-patch+yaml", "application/merge-patch+json",
    "application/strategic-merge-patch+json", "application/json-patch+json")
OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "time", "selfLink")


def some(rng, choices, least=0):
    """A part of the members of a map whose values are made by functions of the generator."""
    names = rng.sample(sorted(choices), rng.randint(least, len(choices)))
    return {name: choices[name](rng) for name in names}


def one_of(*values):
    return lambda rng: copy.deepcopy(rng.choice(values))


def maps(names, *values):
    return lambda rng: {name: rng.choice(values) for name in rng.sample(names, rng.randint(0, len(names)))}


def lists(make, names):
    return lambda rng: [make(rng, name) for name in rng.sample(names, rng.randint(0, len(names)))]


def filled(make):
    """Never empty: docs/api-parity.md, lists that are always written."""
    return lambda rng: make(rng) or filled(make)(rng)


def metadata(rng):
    return some(rng, {"labels": maps(["a", "b", "c"], "1", "2"), "annotations": maps(["x", "y"], "1", "2"),
                      "finalizers": lists(lambda _, name: "ex.io/" + name, ["f", "g", "h"])})


def env(rng, name):
    return {"name": name, **some(rng, {"value": one_of("1", "2", "")})}


def port(rng, number):
    return {"containerPort": int(number), **some(rng, {"protocol": one_of("TCP", "UDP")})}


def container(rng, name):
    quantities = maps(["cpu", "memory"], "1", "1000m", "2Gi")
    return {"name": name, "image": rng.choice(["i", "j"]), **some(rng, {
        "env": lists(env, ["A", "B", "C"]), "ports": lists(port, ["80", "443"]),
        "command": one_of(["a"], ["a", "b"], []), "resources": lambda r: {"requests": quantities(r)},
        "livenessProbe": one_of({"httpGet": {"path": "/", "port": 80}},
                                {"httpGet": {"path": "/z", "port": "p"}, "periodSeconds": 3})})}


def volume(rng, name):
    return {"name": name, **rng.choice([{"emptyDir": {}}, {"hostPath": {"path": "/x"}},
                                        {"configMap": {"name": "c"}}])}


def deployment(rng):
    pod = {"containers": [container(rng, name) for name in rng.sample(["c", "d"], rng.randint(1, 2))],
           **some(rng, {"volumes": lists(volume, ["v", "w"]), "nodeSelector": maps(["n", "m"], "1", "2"),
                        "tolerations": one_of([], [{"key": "k", "operator": "Exists"}]),
                        "imagePullSecrets": lists(lambda _, name: {"name": name}, ["s", "t"]),
                        "terminationGracePeriodSeconds": one_of(5, 30)})}
    return {"spec": {"selector": {"matchLabels": {"app": "a"}},
                     "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod},
                     **some(rng, {"replicas": one_of(1, 2), "paused": one_of(True, False),
                                  "minReadySeconds": one_of(0, 3),
                                  "strategy": one_of({"type": "RollingUpdate"},
                                                     {"rollingUpdate": {"maxSurge": 2}})})}}


def config_map(rng):
    return some(rng, {"data": maps(["x", "y", "z"], "1", "2", ""),
                      "binaryData": maps(["bin"], "AA==", "AQ==")})


def condition(rng, name):
    return {"type": name, "status": rng.choice(["True", "False"]), "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}


def device_status(rng, name):
    return {"driver": "gpu.example.com", "pool": "p", "device": name,
            **some(rng, {"conditions": filled(lists(condition, ["Ready", "Sane"]))})}


def consumer(_, name):
    return {"resource": "pods", "name": name, "uid": "uid-" + name}


def claim_status(rng):
    results = [{"request": "r", "driver": "gpu.example.com", "pool": "p", "device": name}
               for name in ("d", "e")]
    return {"status": {"allocation": {"devices": {"results": results}},
                       **some(rng, {"reservedFor": lists(consumer, ["x", "y", "z"]),
                                    "devices": lists(device_status, ["d", "e"])})}}


def claim(_):
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu.example.com", "count": 2}}]
    return {"spec": {"devices": {"requests": requests}}}


def node(rng):
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    return {"spec": some(rng, {"taints": one_of([], [taint]), "unschedulable": one_of(True, False)})}


def node_status(rng):
    return {"status": some(rng, {
        "conditions": lists(lambda r, name: {"type": name, "status": r.choice(["True", "False"])},
                            ["MemoryPressure", "DiskPressure"]),
        "addresses": lists(lambda r, name: {"type": name, "address": r.choice(["a", "b"])},
                           ["Hostname", "InternalDNS"]),
        "capacity": maps(["cpu", "gpu.example.com/x"], "1", "2")})}


def pod_status(rng):
    return {"status": some(rng, {
        "conditions": lists(lambda r, name: {"type": name, "status": r.choice(["True", "False"])},
                            ["Ready", "ex.io/gate"]),
        "podIPs": lists(lambda _, ip: {"ip": ip}, ["10.0.0.1", "fd00::1"]),
        "phase": one_of("Running", "Pending"), "message": one_of("m", "")})}


def pod(rng):
    return {"spec": {"containers": [{"name": "c", "image": rng.choice(["i", "j"])}],
                     **some(rng, {"activeDeadlineSeconds": one_of(5, 4)})}}


def pod_group(_):
    return {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}


def pod_group_status(rng):
    return {"status": some(rng, {"conditions": lists(condition, ["PodGroupScheduled", "Other"])})}


# kind: apiVersion, path of the collection, what a manager may write, and below which subresource else.
KINDS = {
    "ConfigMap": ("v1", "/api/v1/namespaces/parity/configmaps", {"": config_map}),
    "Deployment": ("apps/v1", "/apis/apps/v1/namespaces/parity/deployments", {"": deployment}),
    "ResourceClaim": ("resource.k8s.io/v1", "/apis/resource.k8s.io/v1/namespaces/parity/resourceclaims",
                      {"": claim, "/status": claim_status}),
    "Node": ("v1", "/api/v1/nodes", {"": node, "/status": node_status}),
    "Pod": ("v1", "/api/v1/namespaces/parity/pods", {"": pod, "/status": pod_status}),
    "PodGroup": ("scheduling.k8s.io/v1beta1", "/apis/scheduling.k8s.io/v1beta1/namespaces/parity/podgroups",
                 {"": pod_group, "/status": pod_group_status}),
}


class Real:
    """The API server of the rig."""

    def __init__(self, plane):
        self.plane = plane

    def ask(self, verb, path, body, content):
        return self.plane.request(verb, path, body, content)


class Ours:
    def __init__(self, url):
        self.address = url.removeprefix("http://")
        self.open = None

    def ask(self, verb, path, body, content):
        self.open = self.open or http.client.HTTPConnection(self.address, timeout=30)
        self.open.request(verb, path, body, {"Content-Type": content})
        response = self.open.getresponse()
        return response.status, response.read().decode()


def stripped(value):
    if isinstance(value, dict):
        kept = {key: stripped(member) for key, member in value.items() if key not in OF_THE_SERVER}
        if isinstance(kept.get("managedFields"), list):
            kept["managedFields"].sort(key=lambda entry: json.dumps(entry, sort_keys=True))
        if isinstance(kept.get("causes"), list):  # of conflicts: the reference names managers in any order
            kept["causes"].sort(key=lambda cause: json.dumps(cause, sort_keys=True))
        return kept
    return [stripped(item) for item in value] if isinstance(value, list) else value


class Sequence:
    """What three managers do to one object, the same on every server. Choices depend on the seed alone."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.kind = self.rng.choice(sorted(KINDS))
        self.version, self.collection, self.parts = KINDS[self.kind]
        self.name = "o-%d" % seed

    def body(self, make, meta):
        return {"apiVersion": self.version, "kind": self.kind, "metadata": {"name": self.name, **meta},
                **make(self.rng)}

    def steps(self):
        """(verb, path, body or a function of the object as it is, content)"""
        rng, path = self.rng, self.collection + "/" + self.name
        first = self.body(self.parts[""], metadata(rng))
        if rng.random() < 0.5:
            yield "POST", "%s?fieldManager=%s" % (self.collection, rng.choice(MANAGERS)), first, JSON
        else:
            yield "PATCH", "%s?fieldManager=%s" % (path, rng.choice(MANAGERS)), first, APPLY
        for _ in range(rng.randint(2, STEPS_MAX)):
            part = rng.choice(sorted(self.parts))
            who = "?fieldManager=" + rng.choice(MANAGERS)
            body = self.body(self.parts[part], {} if part else metadata(rng))
            yield self.write(rng.choice(["apply", "apply", "force", "put", "merge", "strategic", "json"]),
                             path + part + who, body)

    @staticmethod
    def write(how, path, body):
        if how == "apply":
            return "PATCH", path, body, APPLY
        if how == "force":
            return "PATCH", path + "&force=true", body, APPLY
        changes = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
        if how == "put":
            return "PUT", path, lambda seen: replaced(seen, changes), JSON
        if how == "json":
            operations = [{"op": "add", "path": "/" + key, "value": value} for key, value in changes.items()
                          if key != "metadata"]
            return "PATCH", path, operations, JSON_PATCH
        return "PATCH", path, changes, MERGE if how == "merge" else STRATEGIC


def replaced(seen, changes):
    changed = {**copy.deepcopy(seen), **changes}
    changed["metadata"] = {**seen["metadata"], **changes["metadata"]}
    return changed


class Play:
    """One sequence on both servers, up to the first step that they answer differently."""

    def __init__(self, seed, servers):
        self.sequence, self.servers = Sequence(seed), servers
        self.seen = [None] * len(servers)  # the object as each server answered it last
        self.requests = 0

    def step(self, verb, path, body, content):
        answers = []
        for number, server in enumerate(self.servers):
            own = body(self.seen[number]) if callable(body) else body
            status, text = server.ask(verb, path, json.dumps(own), content)
            answer = json.loads(text)
            if status < 300:
                self.seen[number] = answer
            answers.append({"status": status, "body": stripped(answer)})
        self.requests += 1
        return list(compare.differences(*answers))

    def run(self):
        """The differences, with the step that shows them; nothing when all was equal."""
        for verb, path, body, content in self.sequence.steps():
            if callable(body) and not self.seen[0]:
                continue
            found = self.step(verb, path, body, content)
            if found:
                shown = body(self.seen[0]) if callable(body) else body
                return "%s %s %s\n%s" % (verb, path, json.dumps(shown), "\n".join(map(str, found)))
        return None


def sequences_are_equal(plane):
    real = Real(plane)
    berth = Served(plane.berth, "apiserver", GATES)
    try:
        ours = Ours(berth.url)
        for server in (real, ours):
            server.ask("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": SPACE}}), JSON)
        requests, different = 0, []
        for seed in range(FIRST_SEED, FIRST_SEED + SEQUENCES):
            play = Play(seed, (real, ours))
            found = play.run()
            requests += play.requests
            if found:
                different.append("seed %d: %s" % (seed, found))
        print("      %d sequences, %d requests, %d different" % (SEQUENCES, requests, len(different)))
        if different:
            raise Failure("\n".join(different[:SHOWN_MAX]))
    finally:
        berth.close()


def requests_are_equal(plane):
    cluster, token = plane.access
    berth = Served(plane.berth, "apiserver", GATES)
    try:
        table.answers_are_equal(
            lambda: table.Server(cluster["server"], token, cluster["certificate-authority"]),
            lambda: table.Server(berth.url))
    finally:
        berth.close()


def main():
    os.environ["RIG_DISABLE_ADMISSION"] = "ServiceAccount"  # nodes get their taints as in a cluster
    return run_suite(__doc__, "tests/cluster/parity", (requests_are_equal, sequences_are_equal), ControlPlane)


if __name__ == "__main__":
    sys.exit(main())
