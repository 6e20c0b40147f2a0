#!/usr/bin/env python3
"""Berth on a real control plane whose processes die in the middle of a thousand bindings.

Starts the rig (../rig/rig.sh); where that is not built, it says so and skips. Every case makes a namespace
with plain pods, pods with claims, and gangs, hurts something while they are placed, and then asks of the
objects and of the audit log: is every pod bound, once; has every device one claim; is anything left behind.
"""
import collections
import concurrent.futures
import functools
import http.client
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from control_plane import GATES, ControlPlane, run_suite
from objects import claiming_pod, device_class, node, pod, pod_group
from suite import Failure, eventually

NODES, DEVICES_PER_NODE, CPUS_PER_NODE = 50, 8, 32
PLAIN, CLAIMING, GANGS, GANG_SIZE, GANGS_CLAIMING = 300, 300, 100, 4, 20
PODS = PLAIN + CLAIMING + GANGS * GANG_SIZE
WRITERS = 4
BOUND_SECONDS_MAX = 120
LEASE_SECONDS = 15  # how long a stopped leader keeps the others waiting
# What a deposed leader may still be seen doing: asking for the Lease, and telling what it had done.
HARMLESS = {"leases", "events"}


def machine_room():
    yield device_class()
    for number in range(NODES):
        yield from node("node-%d" % number, CPUS_PER_NODE, DEVICES_PER_NODE)


def workload(ns):
    for number in range(PLAIN):
        yield pod(ns, "plain-%d" % number)
    for number in range(CLAIMING):
        yield from claiming_pod(ns, "claiming-%d" % number)
    for number in range(GANGS):
        gang = "gang-%d" % number
        yield pod_group(ns, gang, GANG_SIZE)
        for member in range(GANG_SIZE):
            name = "%s-%d" % (gang, member)
            if number < GANGS_CLAIMING:
                yield from claiming_pod(ns, name, gang)
            else:
                yield pod(ns, name, gang)


class Cluster(ControlPlane):
    """A control plane with nodes and devices, and connections of its own for many writes."""

    def __init__(self, berth, folder, *flags):
        super().__init__(berth, folder, *flags)
        self.restarted, self.loads = [], []
        if self.started.returncode != 0:
            return
        self.spaces = itertools.count(1)
        self.kubectl("create", "namespace", "kube-system", good=None)
        for step in machine_room():
            self.create(step)

    def create(self, step):
        """Once; again where the server is away and the answer was lost."""
        path, body = step
        text = json.dumps(body)
        limit = time.monotonic() + BOUND_SECONDS_MAX
        while True:
            try:
                code, answer = self.request("POST", path, text)
            except (OSError, http.client.HTTPException):
                self.connections.open = None
                code, answer = 0, ""
            if code in (201, 409):
                break
            if time.monotonic() > limit or 400 <= code < 500 and code != 429:
                raise Failure("POST %s: %d %s" % (path, code, answer))
            time.sleep(0.2)

    def objects(self, path):
        """An empty list while the server is away."""
        try:
            code, answer = self.request("GET", path)
        except (OSError, http.client.HTTPException):
            self.connections.open = None
            return []
        return json.loads(answer)["items"] if code == 200 else []

    def pods(self, ns):
        return self.objects("/api/v1/namespaces/%s/pods" % ns)

    def bound(self, ns):
        return sum(1 for item in self.pods(ns) if item["spec"].get("nodeName"))

    def pid_of(self, name):
        for line in (self.folder / "rig" / "pids").read_text().splitlines():
            if line.split()[0] == name:
                return int(line.split()[1])
        raise Failure("the rig runs no " + name)

    def kill_and_start(self, name):
        """SIGKILL, and the same command line again two seconds later."""
        pid = self.pid_of(name)
        command = pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().split(b"\0")[:-1]
        environment = dict(entry.split(b"=", 1) for entry in
                           pathlib.Path("/proc/%d/environ" % pid).read_bytes().split(b"\0") if b"=" in entry)
        os.kill(pid, signal.SIGKILL)
        time.sleep(2)
        with open(self.folder / "rig" / (name + ".log"), "a", encoding="utf-8") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.restarted.append(process)

    def close(self):
        self.clear()
        super().close()
        for process in self.restarted:
            process.kill()
            process.wait()

    def clear(self):
        """Ends what a case started, and takes its objects away."""
        for part in self.parts:
            part.kill()
            part.wait()
        self.parts.clear()
        for load in self.loads:
            load.remove()
        self.loads.clear()


class Load:
    """The workload of one namespace, created while a case goes on."""

    def __init__(self, cluster):
        self.cluster, self.ns = cluster, "load-%d" % next(cluster.spaces)
        cluster.kubectl("create", "namespace", self.ns)
        self.pool = concurrent.futures.ThreadPoolExecutor(WRITERS)
        cluster.loads.append(self)
        self.writes = [self.pool.submit(cluster.create, step) for step in workload(self.ns)]

    def reaches(self, count):
        eventually("%d pods are bound" % count, lambda: self.cluster.bound(self.ns) >= count,
                   BOUND_SECONDS_MAX)

    def finish(self):
        """Everything is bound; nothing was done twice; nothing is left."""
        for write in self.writes:
            write.result()
        self.reaches(PODS)
        self.check_claims()
        self.check_nodes()
        self.check_bindings()
        eventually("nothing waits in a BindRequest", lambda: not self.open_requests())

    def remove(self):
        self.pool.shutdown(cancel_futures=True)
        for path in self.paths():
            self.cluster.request("DELETE", path, json.dumps({"gracePeriodSeconds": 0}))
        eventually("everything is gone", lambda: not any(map(self.cluster.objects, self.paths())),
                   BOUND_SECONDS_MAX)

    def paths(self):
        for kind in ("api/v1/namespaces/%s/pods", "apis/scheduling.k8s.io/v1beta1/namespaces/%s/podgroups",
                     "apis/resource.k8s.io/v1/namespaces/%s/resourceclaims"):
            yield "/" + kind % self.ns

    def check_claims(self):
        pods = {item["metadata"]["uid"]: item for item in self.cluster.pods(self.ns)}
        holders = collections.defaultdict(list)
        claims = self.cluster.objects("/apis/resource.k8s.io/v1/namespaces/%s/resourceclaims" % self.ns)
        assert len(claims) == CLAIMING + GANGS_CLAIMING * GANG_SIZE, len(claims)
        for claim in claims:
            name, status = claim["metadata"]["name"], claim["status"]
            for result in status["allocation"]["devices"]["results"]:
                holders[result["pool"], result["device"]].append(name)
                consumers = [pods[consumer["uid"]] for consumer in status["reservedFor"]]
                places = [(item["metadata"]["name"], item["spec"]["nodeName"]) for item in consumers]
                assert places == [(name, result["pool"])], (name, result, places)
        twice = {device: names for device, names in holders.items() if len(names) > 1}
        assert not twice, twice

    def check_nodes(self):
        load = collections.Counter(item["spec"]["nodeName"] for item in self.cluster.pods(self.ns))
        assert max(load.values()) <= CPUS_PER_NODE, load

    def check_bindings(self):
        """Of the audit log: one binding a pod was accepted, whoever sent it; what was carried out while its
        sender died may stand there otherwise."""
        accepted = collections.Counter()
        for event in self.cluster.audited():
            about = event.get("objectRef", {})
            if about.get("subresource") == "binding" and about.get("namespace") == self.ns \
                    and event["responseStatus"].get("code") == 201:
                accepted[about["name"]] += 1
        assert len(accepted) > PODS // 2, len(accepted)
        assert max(accepted.values()) == 1, accepted.most_common(3)

    def open_requests(self):
        path = "/apis/scheduling.berth.dev/v1alpha1/namespaces/%s/bindrequests" % self.ns
        return [item["metadata"]["name"] for item in self.cluster.objects(path)
                if item.get("status", {}).get("phase") != "Succeeded"]


def a_scheduler_that_is_killed_goes_on(cluster):
    scheduler, load = cluster.scheduler(), Load(cluster)
    for count in (PODS // 5, PODS // 2, PODS * 4 // 5):
        load.reaches(count)
        scheduler.kill()
        scheduler.wait()
        scheduler = cluster.scheduler()
    load.finish()


def survives_death_of(cluster, name):
    scheduler, load = cluster.scheduler(), Load(cluster)
    load.reaches(PODS // 3)
    cluster.kill_and_start(name)
    load.finish()
    assert scheduler.poll() is None, "the scheduler ended"


def an_api_server_that_is_killed_costs_nothing(cluster):
    survives_death_of(cluster, "kube-apiserver")


def an_etcd_that_is_killed_costs_nothing(cluster):
    survives_death_of(cluster, "etcd")


def elected(cluster, kind, account, *arguments):
    """A process that works while it holds the Lease, under an account of its own."""
    cluster.kubectl("create", "serviceaccount", account, "-n", "kube-system", good=None)
    cluster.kubectl("create", "clusterrolebinding", account, "--clusterrole=cluster-admin",
                    "--serviceaccount=kube-system:" + account, good=None)
    return cluster.start_berth(account, kind, *arguments, "--feature-gates", GATES, "--kubeconfig",
                               cluster.kubeconfig_with_token(account, "kube-system"))


def writes_of(cluster, account):
    """(time, resource, name) of accepted writes."""
    user = "system:serviceaccount:kube-system:" + account
    return [(event["stageTimestamp"], event["objectRef"].get("resource"), event["objectRef"].get("name"))
            for event in cluster.audited()
            if event["user"].get("username") == user and event["verb"] not in ("get", "list", "watch")
            and event["responseStatus"].get("code", 500) < 300]


def a_deposed_leader_changes_nothing(cluster):
    """Two schedulers and two binders; those that lead are stopped until others lead, and go on then."""
    parts = {}
    for number in "12":
        parts["scheduler-" + number] = elected(cluster, "scheduler", "scheduler-" + number,
                                               "--bind-requests", "Always", "--with-binder=false")
        parts["binder-" + number] = elected(cluster, "binder", "binder-" + number)
    load = Load(cluster)
    load.reaches(PODS // 4)
    deposed = [name for name in parts if writes_of(cluster, name)[2:]]
    assert sorted(name.split("-")[0] for name in deposed) == ["binder", "scheduler"], deposed
    for name in deposed:
        parts[name].send_signal(signal.SIGSTOP)
    before = cluster.bound(load.ns)
    eventually("others lead", lambda: cluster.bound(load.ns) > before + PODS // 10, 4 * LEASE_SECONDS)
    resumed = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    for name in deposed:
        parts[name].send_signal(signal.SIGCONT)
    load.finish()
    late = [write for name in deposed for write in writes_of(cluster, name)
            if write[0] > resumed and write[1] not in HARMLESS]
    assert not late, late


def cleared(case):
    """Whatever became of a case, the next one has the cluster for itself."""
    @functools.wraps(case)
    def run(cluster):
        try:
            case(cluster)
        finally:
            cluster.clear()
    return run


CASES = (a_scheduler_that_is_killed_goes_on, an_api_server_that_is_killed_costs_nothing,
         an_etcd_that_is_killed_costs_nothing, a_deposed_leader_changes_nothing)


def main():
    return run_suite(__doc__, "tests/cluster/faults", list(map(cleared, CASES)), Cluster, "--kcm", "--crd")


if __name__ == "__main__":
    sys.exit(main())
