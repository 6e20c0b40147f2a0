#!/usr/bin/env python3
"""The stories of tests/stories on a real API server, as far as they use nothing that only the simulator has.

Starts the rig (../rig/rig.sh); where that is not built, it says so and skips. Each story has a namespace of
its own and a cluster without nodes, devices and classes of the one before. Time is the real one and the
story's order is what counts: a `settle` ends when nothing has changed for a moment, an `expect` may come true
later.
"""
import itertools
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from control_plane import ControlPlane, run_suite
from dialect import (SIMULATED, difference, documents, gates_of, needs_the_simulator, pods_of, read_story,
                     seconds, told_by_the_clock, value_at)
from differs import known_differences
import suite
from api_resources import RESOURCES, path_of
from suite import Failure, Skip, eventually

STORIES = suite.ROOT / "tests" / "stories"
GIVEN = STORIES / "given"
MUST_FAIL = STORIES / "dialect" / "wrong-expectation.story"
# Beside those of the rig: what the stories' API server has, and Kubernetes 1.37 has in alpha.
RIG_GATES = "DRANodeAllocatableResources=true,TaintTolerationComparisonOperators=true"
# A story may name a kind in lower case.
KINDS = {kind.lower(): kind for kind in RESOURCES}
# Quiet: none of these changes.
WATCHED = ("pod", "resourceclaim", "podgroup", "bindrequest", "devicetaintrule")
GONE_IN_ORDER = (("pod",), ("resourceclaim", "podgroup", "resourceclaimtemplate"), ("bindrequest",))
QUIET_SECONDS = 0.5
EXPECT_SECONDS_MAX = 45
DIFFERS_SECONDS_MAX = 5  # how long it is looked whether a line of differs.txt is still needed
GONE_SECONDS_MAX = 60
CLOCK_SECONDS_MAX = 60
# What a kubelet of 1.37 with the gates of this rig declares and a story needs.
DECLARED_FEATURES = ["DRANodeAllocatableResources", "RestartAllContainersOnContainerExits"]
DEFAULT_SIZE = {"cpu": "32", "ephemeral-storage": "256Gi", "memory": "128Gi", "pods": "110"}


class Server(ControlPlane):
    """A control plane, and Berth on it with the gates that a story wants."""

    def __init__(self, berth, folder, *flags):
        super().__init__(berth, folder, *flags)
        self.running_with, self.spaces = None, itertools.count(1)
        if self.started.returncode == 0:
            self.gates = self.enabled_gates()
            self.berth_gates = {name: value for name, value in self.known_gates().items()
                                if self.gates.get(name, value) != value}

    def enabled_gates(self):
        _, text = self.request("GET", "/metrics")
        lines = (line for line in text.splitlines() if line.startswith("kubernetes_feature_enabled{"))
        return {line.split('"')[1]: line.endswith(" 1") for line in lines}

    def known_gates(self):
        """Berth's gates with their defaults."""
        printed = self.run("scheduler", "--print-config")
        entries = printed.partition("featureGates:\n")[2].splitlines()
        return gates_of(",".join(entry.strip().replace(": ", "=") for entry in entries))

    def with_gates(self, changed, anew=False):
        """Berth with the API server's gates, but for those that are `changed`; a new process if asked for."""
        wanted = {name: self.gates[name] for name in self.berth_gates}
        wanted.update(changed)
        if self.running_with == wanted and not anew:
            return
        for part in self.parts:
            part.kill()
            part.wait()
        self.parts.clear()
        gates = ",".join("%s=%s" % (name, str(on).lower()) for name, on in wanted.items())
        self.scheduler("--gpu-sharing", gates=gates)
        self.running_with = wanted


class Telling:
    """One story while it is told."""

    def __init__(self, server, patience):
        self.server, self.patience = server, patience
        self.ns = "story-%d" % next(server.spaces)
        self.clusterwide = []  # paths of what has no namespace
        self.seen, self.changed_at = None, time.monotonic()
        server.call("POST", path_of("Namespace"), {"metadata": {"name": self.ns}})

    def path(self, kind, name=""):
        return path_of(KINDS[kind.lower()], self.ns, name)

    def create(self, thing):
        metadata = thing["metadata"]
        if metadata.pop("namespace", "default") != "default":
            raise Skip("a second namespace")
        if thing["kind"] == "Node":
            self.complete_node(thing)
        _, _, namespaced = RESOURCES[KINDS[thing["kind"].lower()]]
        if not namespaced:
            self.clusterwide.append(self.path(thing["kind"], metadata["name"]))
        self.server.call("POST", self.path(thing["kind"]), thing)

    @staticmethod
    def complete_node(node):
        """What the kubelet of a simulated node says."""
        if SIMULATED not in node["metadata"].get("labels", {}):
            return
        status = node.setdefault("status", {})
        status.setdefault("capacity", DEFAULT_SIZE)
        status.setdefault("allocatable", status["capacity"])
        status["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        status["declaredFeatures"] = DECLARED_FEATURES

    def address(self, name):
        """(kind, path) of pod/web; of extended:web by the pod's status, None while it names no claim."""
        kind, _, rest = name.partition("/")
        ns, _, plain = rest.rpartition("/")
        if ns not in ("", "default"):
            raise Skip("a second namespace")
        if plain.startswith("extended:"):
            pod = self.read(self.path("pod", plain.removeprefix("extended:"))) or {}
            plain = value_at(pod, "status.extendedResourceClaimStatus.resourceClaimName")
        return self.path(kind, plain) if plain else None

    def read(self, path):
        return self.server.call("GET", path, absent={}) if path else {}

    def items(self, kind):
        return self.server.call("GET", self.path(kind))["items"]

    def play_kubelet(self, pods):
        """What is bound runs; what is deleted ends at once."""
        for pod in pods:
            metadata, path = pod["metadata"], self.path("pod", pod["metadata"]["name"])
            if not pod["spec"].get("nodeName"):
                continue
            if "deletionTimestamp" in metadata:
                self.server.call("DELETE", path, {"gracePeriodSeconds": 0}, absent={})
            elif pod["status"].get("phase") == "Pending":
                conditions = [{"type": kind, "status": "True"} for kind in ("Initialized", "Ready")]
                self.server.call("PATCH", path + "/status",
                                 {"metadata": {"uid": metadata["uid"]},
                                  "status": {"phase": "Running", "conditions": conditions}},
                                 "application/strategic-merge-patch+json", absent={})

    def quiet(self):
        """Lets a moment pass; whether nothing has changed for long enough, and every pod had its try."""
        time.sleep(0.05)
        lists = {kind: self.items(kind) for kind in WATCHED}
        self.play_kubelet(lists["pod"])
        seen = {(kind, item["metadata"]["uid"], item["metadata"]["resourceVersion"])
                for kind, items in lists.items() for item in items}
        if seen != self.seen:
            self.seen, self.changed_at = seen, time.monotonic()
        return time.monotonic() - self.changed_at > QUIET_SECONDS

    def settle(self, limit, whole):
        end = time.monotonic() + limit
        while time.monotonic() < end and (not self.quiet() or whole):
            pass

    def event_about(self, thing):
        """The message of the latest event FailedScheduling about an object."""
        query = "?fieldSelector=reason%3DFailedScheduling,involvedObject.uid%3D" + thing["metadata"]["uid"]
        events = self.server.call("GET", self.path("event") + query)["items"]
        latest = max(events, key=lambda event: int(event["metadata"]["resourceVersion"]), default={})
        return latest.get("message", "")

    def failure_of(self, expected):
        """The first of the expectations that does not hold now."""
        for name, words in expected.items():
            thing = self.read(self.address(name))
            if words == "gone":
                if thing:
                    return "%s still exists: %s" % (name, json.dumps(thing.get("status")))
            elif not thing:
                return name + " does not exist"
            elif failure := difference(name, thing, words, lambda about=thing: self.event_about(about)):
                return failure
        return ""

    def expect(self, expected):
        """Holds as soon as everything holds at once and nothing moves any more."""
        end = time.monotonic() + self.patience
        while True:
            quiet, failure = self.quiet(), self.failure_of(expected)
            if quiet and not failure:
                return
            if time.monotonic() > end:
                raise Failure(failure or "no end of changes")

    def patch(self, patches):
        for name, patch in patches.items():
            path = self.address(name) + ("/status" if "status" in patch else "")
            self.server.call("PATCH", path, patch, "application/merge-patch+json")

    def step(self, step, whole_time):
        word, value = next(iter(step.items()))
        if word == "apply":
            for pod in pods_of(value):
                self.create(pod)
        elif word == "create":
            for thing in value if isinstance(value, list) else [value]:
                self.create(thing)
        elif word == "patch":
            self.patch(value)
        elif word == "delete":
            self.server.call("DELETE", self.address(value))
        elif word == "settle":
            self.settle(seconds(value), whole_time)
        elif word == "restart":
            self.server.with_gates(gates_of(value), anew=True)
        else:
            self.expect(value)
        self.changed_at = time.monotonic() if word not in ("settle", "expect") else self.changed_at

    def clear(self):
        """Takes everything away, and looks until it is gone: the next story has nodes of the same names."""
        for kinds in GONE_IN_ORDER:
            for kind in kinds:
                self.server.call("DELETE", self.path(kind), {"gracePeriodSeconds": 0})
            eventually("gone: " + ", ".join(kinds), lambda of=kinds: not any(map(self.items, of)),
                       GONE_SECONDS_MAX)
        for path in self.clusterwide:
            self.server.call("DELETE", path, absent={})
        eventually("gone: " + ", ".join(self.clusterwide),
                   lambda: not any(map(self.read, self.clusterwide)), GONE_SECONDS_MAX)


def name_of(file):
    return str(file.relative_to(STORIES).with_suffix(""))


def check_gates(server, story):
    """A gate that the API server does not know is one of Berth's own, and off there."""
    for name, wanted in gates_of(story.get("gates")).items():
        if server.gates.get(name, False) != wanted:
            raise Skip("an API server with %s=%s" % (name, str(wanted).lower()))


def tell(server, file, patience):
    """The failure of a story with its place, or nothing."""
    story = read_story(file)
    if reason := needs_the_simulator(story):
        raise Skip(reason)
    clock = told_by_the_clock(story)
    if clock > CLOCK_SECONDS_MAX:
        raise Skip("%d s of the simulator's clock" % clock)
    check_gates(server, story)
    server.with_gates(gates_of(story.get("deciderGates")))
    telling = Telling(server, patience)
    try:
        for given in story["given"]:
            for thing in documents((GIVEN / given).read_text()):
                telling.create(thing)
        for number, step in enumerate(story["steps"], 1):
            try:
                telling.step(step, clock > 0)
            except Failure as failure:
                return "%s: step %d: %s" % (name_of(file), number, failure)
    finally:
        telling.clear()
    return ""


def case_of(file, differs):
    name = name_of(file)
    reason = differs.get("stories/" + name)

    def case(server):
        failure = tell(server, file, DIFFERS_SECONDS_MAX if reason else EXPECT_SECONDS_MAX)
        if failure and reason:
            raise Skip("%s (%s)" % (reason, failure))
        if reason:
            print("differs.txt: stories/%s now comes as told: remove it" % name)
        if failure:
            raise Failure(failure)

    case.__name__ = name
    return case


def a_wrong_expectation_fails(server):
    failure = tell(server, MUST_FAIL, DIFFERS_SECONDS_MAX)
    assert 'phase is "Pending", expected "Succeeded"' in failure, failure


def main():
    differs = known_differences()
    files = sorted(file for file in STORIES.rglob("*.yaml") if GIVEN not in file.parents)
    cases = [a_wrong_expectation_fails, *(case_of(file, differs) for file in files)]
    return run_suite(__doc__, "tests/cluster/stories", cases, Server, "--kcm", "--gc", "--crd", "--gates",
                     RIG_GATES)


if __name__ == "__main__":
    sys.exit(main())
