#!/usr/bin/env python3
"""What Berth writes for a pod: counted by verb and resource in the audit log of a real API server.

Starts the rig (../rig/rig.sh); where that is not built, it says so and skips. Berth runs with the account and
the rights of `berth install`, so that its writes are told from the client's and from the controllers'.
"""
import collections
import concurrent.futures
import itertools
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from control_plane import ControlPlane, run_suite
from api_resources import path_of
from objects import claim_template, claiming_pod, device_class, node, pod, pod_group
from suite import Failure, eventually

NAMESPACE, ACCOUNT = "berth-system", "berth-scheduler"
# For all cases: nothing is taken away between them.
NODES, CPUS_PER_NODE, DEVICES_PER_NODE = 50, 64, 32
PODS, GANGS, GANG_SIZE = 300, 100, 3
WRITERS = 4
BOUND_SECONDS_MAX = 120
# Longer than what ended stays in memory (kMemoryRequestGrace): the record of a gang is deleted behind it.
QUIET_SECONDS = 7
WRITING = ("create", "update", "patch", "delete")
# How far a run may be off, in shares of the pods: gangs that were decided twice, answers that were lost, pods
# that waited for a moment on a slow machine. Who writes less for good lowers what is expected.
SLACK = 0.1
BINDING = {"create pods/binding": 1}
CLAIM = {"update resourceclaims": 1, "update resourceclaims/status": 1}  # the finalizer; the allocation
GROUP = {"update podgroups/status": 1 / GANG_SIZE}  # the commit, which says that the group is scheduled
# At most one for a gang: gangs that are decided while one is written share the next.
RECORD = {"create bindrequests": (0, 1 / GANG_SIZE), "delete bindrequests": (0, 1 / GANG_SIZE)}
REQUEST = {"create bindrequests": 1, "patch bindrequests/status": 1}
# For a pod. Events stand apart: they are written behind everything else and dropped when too many wait.
EVENTS = "create events", "patch events"
EVENTS_MAX = 1


def machine_room():
    yield device_class()
    for number in range(NODES):
        yield from node("node-%d" % number, CPUS_PER_NODE, DEVICES_PER_NODE)


class Counted(ControlPlane):
    """A control plane with nodes and devices, and Berth's account."""

    def __init__(self, berth, folder, *flags):
        super().__init__(berth, folder, *flags)
        self.spaces = itertools.count(1)
        if self.started.returncode != 0:
            return
        self.run("install")
        self.account = self.kubeconfig_with_token(ACCOUNT, NAMESPACE)
        self.create(machine_room())

    def create(self, objects):
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as writers:
            list(writers.map(lambda one: self.call("POST", *one), objects))

    def bound(self, ns):
        pods = self.call("GET", path_of("Pod", ns))["items"]
        return sum(1 for item in pods if item["spec"].get("nodeName"))

    def writes(self, ns):
        """{"verb resource": how often} of what Berth wrote below the namespace; "refused" is a verb too."""
        user = "system:serviceaccount:%s:%s" % (NAMESPACE, ACCOUNT)
        counts = collections.Counter()
        for event in self.audited():
            about = event.get("objectRef", {})
            if event["user"].get("username") != user or about.get("namespace") != ns:
                continue
            if event["verb"] in WRITING:
                verb = event["verb"] if event["responseStatus"]["code"] < 300 else "refused"
                resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
                counts["%s %s" % (verb, resource)] += 1
        return counts

    def counted(self, objects, pods):
        """What Berth wrote until the pods were bound and it had nothing more to write."""
        ns = "count-%d" % next(self.spaces)
        self.call("POST", path_of("Namespace"), {"metadata": {"name": ns}})
        self.create(objects(ns))
        eventually("%d pods are bound" % pods, lambda: self.bound(ns) == pods, BOUND_SECONDS_MAX)
        counts, since = self.writes(ns), time.monotonic()
        while time.monotonic() - since < QUIET_SECONDS:
            time.sleep(0.5)
            if (now := self.writes(ns)) != counts:
                counts, since = now, time.monotonic()
        return counts


def plain(ns):
    return [pod(ns, "p-%d" % number) for number in range(PODS)]


def with_claims(ns):
    return itertools.chain(*(claiming_pod(ns, "p-%d" % number) for number in range(PODS)))


def with_templates(ns):
    yield claim_template(ns, "gpu")
    for number in range(PODS):
        yield pod(ns, "p-%d" % number, claim={"resourceClaimTemplateName": "gpu"})


def gangs(ns):
    for number in range(GANGS):
        gang = "gang-%d" % number
        yield pod_group(ns, gang, GANG_SIZE)
        for member in range(GANG_SIZE):
            yield pod(ns, "%s-%d" % (gang, member), gang)


def check(counts, expected):
    """Each pod was bound once; every kind of write comes as often as expected, and no other kind."""
    wrong = ["%d bindings" % counts["create pods/binding"]] if counts["create pods/binding"] != PODS else []
    for kind in sorted((counts.keys() | expected.keys()) - set(EVENTS)):
        often = expected.get(kind, 0)
        least, most = often if isinstance(often, tuple) else (often, often)
        if not (least - SLACK) * PODS <= counts[kind] <= (most + SLACK) * PODS:
            wrong.append("%s: %d, expected %d" % (kind, counts[kind], most * PODS))
    if (events := sum(counts[kind] for kind in EVENTS)) > (EVENTS_MAX + SLACK) * PODS:
        wrong.append("%d events" % events)
    if wrong:
        raise Failure("of %d pods: %s" % (PODS, "; ".join(wrong)))


def tell(title, counts):
    kinds = ", ".join("%s %.2f" % (kind, count / PODS) for kind, count in sorted(counts.items())
                      if kind not in EVENTS)
    total = sum(count for kind, count in counts.items() if kind not in EVENTS) / PODS
    events = sum(counts[kind] for kind in EVENTS) / PODS
    print("      %-28s %.2f a pod, and %.2f events: %s" % (title, total, events, kinds))


def case_of(mode, load, *writes):
    def case(plane):
        scheduler = plane.scheduler("--bind-requests", mode, kubeconfig=plane.account)
        try:
            counts = plane.counted(load, PODS)
        finally:
            scheduler.kill()
            scheduler.wait()
        tell("%s, %s:" % (mode, load.__name__), counts)
        check(counts, {kind: often for part in writes for kind, often in part.items()})

    case.__name__ = "%s_%s" % (load.__name__, mode)
    return case


CASES = (case_of("WhenWaiting", plain, BINDING),
         case_of("WhenWaiting", with_claims, BINDING, CLAIM),
         case_of("WhenWaiting", with_templates, BINDING, CLAIM),
         case_of("WhenWaiting", gangs, BINDING, GROUP, RECORD),
         case_of("Always", plain, BINDING, REQUEST),
         case_of("Always", with_claims, BINDING, CLAIM, REQUEST),
         case_of("Always", with_templates, BINDING, CLAIM, REQUEST),
         case_of("Always", gangs, BINDING, GROUP, REQUEST))


def main():
    return run_suite(__doc__, "tests/cluster/writes", CASES, Counted, "--kcm", "--gc")


if __name__ == "__main__":
    sys.exit(main())
