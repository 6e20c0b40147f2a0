#!/usr/bin/env python3
"""Programs of other people, unchanged, against `berth up`: Helm, Kubernetes' controllers, client-go, kubectl,
operators with webhooks.

They are built from Go modules by tests/cluster/run.py --build; what is not built is skipped by name.
PODS is how many the informers follow.
"""
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from programs import HERE, Server, eventually, list_of, program
import suite
from kinds import KINDS
from kubectl_verbs import KUBECTL_CASES
from operator_jobset import JOBSET_CASES
from operator_kueue import KUEUE_CASES
from operator_lws import LWS_CASES
from operator_mpi import MPI_CASES
from operator_trainer import TRAINER_CASES

PODS = int(os.environ.get("PODS", "200000"))
SYNC_SECONDS_MAX = 60
CHANGED = 500
KUBECONFIG_FLAGS = ("--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig")
CRD = "widgets.shop.example.com"


def served(*flags, **options):
    """Runs a case with a server of its own."""
    def wrap(case):
        def run(berth):
            with tempfile.TemporaryDirectory(prefix="berth-clients-") as folder:
                server = Server(berth, pathlib.Path(folder), *flags, **options)
                try:
                    case(server)
                finally:
                    server.close()
        run.__name__ = case.__name__
        return run
    return wrap


def pod(name, **spec):
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "100m"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "made"}},
            "spec": {"containers": [container], **spec}}


def deployment(name, replicas, **spec):
    labels = {"app": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {**pod(name)["spec"], **spec}}}}


def running(server, label, count, namespace="default"):
    def look():
        pods = server.get("pods", "-n", namespace, "-l", label)["items"]
        fine = all(item["status"].get("phase") == "Running" and item["spec"].get("nodeName") for item in pods)
        return len(pods) == count and fine and pods
    return eventually("%d pods of %s run" % (count, label), look)


@served("--nodes", "3")
def helm_installs_upgrades_rolls_back_and_uninstalls(server):
    chart = program("chart")

    def helm(*arguments):
        return server.run(chart, *arguments, CHART_WAIT="1")

    def seen():
        deployed = server.get("deployment", "shop", "-n", "mall")
        return (deployed["spec"]["replicas"],
                deployed["spec"]["template"]["spec"]["containers"][0]["image"],
                server.get("configmap", "shop", "-n", "mall")["data"]["colour"],
                server.get("widget", "shop", "-n", "mall")["spec"],
                server.get("devicehealthpolicy", "shop")["spec"]["effect"],
                server.get("job", "shop-migrate", "-n", "mall")["metadata"]["labels"]["revision"])

    assert "shop revision 1 deployed" in helm("install", HERE / "chart", "shop", "mall")
    first = seen()
    assert first == (2, "shop:1", "red", {"colour": "red", "size": 3}, "NoSchedule", "1"), first
    running(server, "app=shop", 2, "mall")
    said = helm("upgrade", HERE / "chart", "shop", "mall", "replicas=3", "image=shop:2", "colour=blue")
    assert "shop revision 2 deployed" in said, said
    assert seen() == (3, "shop:2", "blue", {"colour": "blue", "size": 3}, "None", "2"), seen()
    refused = server.run(chart, "upgrade", HERE / "chart", "shop", "mall", "colour=mauve", good=False)
    assert 'spec.colour: Unsupported value: "mauve"' in refused, refused
    assert "shop revision 4 deployed" in helm("rollback", "shop", "mall", "1")
    assert seen()[:5] == first[:5] and seen()[5] == "1", seen()
    running(server, "app=shop", 2, "mall")
    helm("uninstall", "shop", "mall")
    left = server.kubectl("get", "deploy,cm,secret,svc,sa,role,widgets", "-n", "mall", "-o", "name")
    names = [line for line in left.splitlines() if "shop" in line]
    assert not names, names
    assert CRD in server.kubectl("get", "crd", "-o", "name")
    eventually("the pods are gone", lambda: not server.get("pods", "-n", "mall", "-l", "app=shop")["items"])


def components(server, *names):
    """Kubernetes' own, with elections, from the rig; each must become a leader."""
    rig = program("rig")
    common = ["--bind-address=127.0.0.1", "--secure-port=0", "--leader-elect=true",
              *("%s=%s" % (flag, server.kubeconfig) for flag in KUBECONFIG_FLAGS)]
    for name in names:
        server.spawn(rig, name, *common)
        lease = ("get", "lease", name, "-n", "kube-system", "-o", "name")
        eventually(name + " leads", lambda lease=lease: server.kubectl(*lease, good=None).startswith("lease"))


# No workload controller of Berth's own, and default-scheduler is left to kube-scheduler.
@served("--nodes", "3", "--controllers=*,-replicaset,-deployment,-job,-statefulset,-daemonset",
        "--scheduler-name=berth")
def kubernetes_controllers_and_scheduler_work_beside_berth(server):
    components(server, "kube-controller-manager", "kube-scheduler")
    server.create(deployment("theirs", 4), deployment("ours", 4, schedulerName="berth"))
    for name in ("theirs", "ours"):
        running(server, "app=" + name, 4)
        server.kubectl("rollout", "status", "deployment/" + name, "--timeout=60s")
    managers = {entry["manager"] for made in server.get("rs", "--show-managed-fields")["items"]
                for entry in made["metadata"]["managedFields"]}
    assert managers == {"kube-controller-manager"}, managers
    requests = server.get("br")["items"]
    assert {item["spec"]["podName"].split("-")[0] for item in requests} == {"ours"}, requests
    recorders = {(event["involvedObject"]["name"].split("-")[0],
                  event.get("source", {}).get("component") or event.get("reportingComponent"))
                 for event in server.get("events")["items"] if event["reason"] == "Scheduled"}
    assert recorders == {("theirs", "default-scheduler"), ("ours", "berth")}, recorders
    server.kubectl("set", "image", "deployment/theirs", "c=app:2")
    server.kubectl("rollout", "status", "deployment/theirs", "--timeout=60s")
    server.kubectl("rollout", "undo", "deployment/theirs")
    server.kubectl("rollout", "status", "deployment/theirs", "--timeout=60s")
    server.kubectl("scale", "deployment/ours", "--replicas=1")
    running(server, "app=ours", 1)
    server.kubectl("delete", "deployment", "theirs", "ours")
    eventually("nothing is left of them", lambda: not server.get("pods,rs")["items"])


@served("--nodes", "3", "--bind-requests=Always")
def an_operator_of_controller_runtime_outlives_its_leader(server):
    clients = program("clients")
    first = server.spawn(clients, "reconciler", "default", "first")
    assert first.line() == {"leader": "first"}
    second = server.spawn(clients, "reconciler", "default", "second")
    server.create(*(pod("early-%d" % number) for number in range(5)))
    assert reconciled(server, "early", 5) == {"first"}
    first.process.send_signal(signal.SIGKILL)
    server.create(*(pod("late-%d" % number) for number in range(5)))
    assert second.line(30) == {"leader": "second"}
    assert reconciled(server, "late", 5) == {"second"}
    assert reconciled(server, "early", 5) == {"first"}
    server.kubectl("delete", "pods", "--all")
    eventually("requests and their ConfigMaps go with the pods", lambda: not [
        item for item in server.get("br,cm")["items"] if item["metadata"]["name"] != "kube-root-ca.crt"])


def reconciled(server, prefix, count):
    """Who saw the requests of the pods with that prefix, once all were seen."""
    def named(kind, begin):
        return [item for item in server.get(kind)["items"] if item["metadata"]["name"].startswith(begin)]

    def look():
        maps = named("cm", "seen-" + prefix)
        told = [item["metadata"].get("annotations", {}).get("clients.example.com/seen-by")
                for item in named("pods", prefix)]
        return len(maps) == count and all(told) and {item["data"]["by"] for item in maps}
    return eventually("the requests of %s are seen" % prefix, look)


@served("--watch-window=20000", part="apiserver")
def informers_of_client_go_follow_changes_and_a_restart(server):
    clients = program("clients")
    made = json.loads(server.run(clients, "load", "default", 0, PODS, 64).splitlines()[-1])
    informer = server.spawn(clients, "informer", "default", "protobuf")
    synced = informer.line(SYNC_SECONDS_MAX)
    assert synced["objects"] == PODS, synced
    peak = server.memory_mib()
    settled(informer, PODS)
    server.kubectl("label", "pods", "-l", "app=load", "--field-selector=metadata.name=load-000001", "x=y")
    server.run(clients, "load", "default", PODS, CHANGED, 16)
    settled(informer, PODS + CHANGED)
    server.kill()
    started = server.start()
    server.run(clients, "load", "default", PODS + CHANGED, CHANGED, 16)
    settled(informer, PODS + 2 * CHANGED)
    delete = "/api/v1/namespaces/default/pods/load-%06d?gracePeriodSeconds=0"
    server.kubectl("delete", "--raw", delete % 7)
    said = settled(informer, PODS + 2 * CHANGED - 1)
    assert said["deleted"] == 1, said
    print("      %d pods: made in %.0f s, synced in %.1f s, server %d MiB; started again in %.1f s" %
          (PODS, made["seconds"], synced["synced_seconds"], peak, started))


def settled(informer, count):
    """What the informer says once it holds what a list holds."""
    def look():
        said = informer.ask()
        return "error" not in said and said["objects"] == count and said["differing"] == 0 and said
    return eventually("the informer holds the same %d pods as a list" % count, look, SYNC_SECONDS_MAX)


MADE_OF_THEM = ("pods", "replicasets.apps")  # by the controllers, with names of their own


def plurals(server):
    """{(apiVersion, kind): resource.group} of all that is served."""
    found = {}
    for group in json.loads(server.kubectl("get", "--raw", "/apis"))["groups"]:
        for version in group["versions"]:
            told = json.loads(server.kubectl("get", "--raw", "/apis/" + version["groupVersion"]))["resources"]
            found.update({(version["groupVersion"], row["kind"]): row["name"] + "." + group["name"]
                          for row in told if "/" not in row["name"]})
    told = json.loads(server.kubectl("get", "--raw", "/api/v1"))["resources"]
    return found | {("v1", row["kind"]): row["name"] for row in told if "/" not in row["name"]}


@served("--nodes", "2")
def every_resource_is_watched_as_table_object_and_metadata(server):
    watcher = server.spawn(program("clients"), "everything")
    began = watcher.line()
    server.kubectl("create", "-f", HERE / "chart" / "crds")
    names = plurals(server)
    eventually("the custom resource is watched", lambda: watcher.ask()["resources"] == began["resources"] + 1)
    server.create(*KINDS)
    wanted = {names[item["apiVersion"], item["kind"]] for item in KINDS}

    def missing(prefix=""):
        said = watcher.ask()
        assert not said["faults"], said["faults"]
        return [(form, resource) for form in ("rows", "objects", "metadata") for resource in sorted(wanted)
                if prefix + "watched" not in (said[form] or {}).get(resource, [])]

    def heard(prefix):
        limit = time.monotonic() + 20
        while (left := missing(prefix)) and time.monotonic() < limit:
            time.sleep(0.2)
        assert not left, left

    heard("")
    for resource in MADE_OF_THEM:
        eventually("rows of " + resource, lambda resource=resource: any(
            name.startswith("watched-") for name in watcher.ask()["rows"].get(resource, [])))
    read = json.loads(server.run(program("clients"), "encodings"))
    assert not read["differing"], read["differing"]
    alike = sum(1 for count in read["objects"].values() if count)
    assert alike >= len(KINDS) // 2, read["objects"]
    server.kubectl("delete", "-f", "-", text=list_of(reversed(KINDS)))
    heard("-")
    print("      %d resources, %d kinds made and deleted; %d lists alike as JSON and protobuf" % (
        began["resources"] + 1, len(KINDS), alike))


CASES = (helm_installs_upgrades_rolls_back_and_uninstalls,
         kubernetes_controllers_and_scheduler_work_beside_berth,
         an_operator_of_controller_runtime_outlives_its_leader,
         every_resource_is_watched_as_table_object_and_metadata,
         informers_of_client_go_follow_changes_and_a_restart,
         *(served("--nodes", "3")(case) for case in KUBECTL_CASES), *JOBSET_CASES,
         *LWS_CASES, *TRAINER_CASES, *KUEUE_CASES, *MPI_CASES)


def main():
    options = suite.options(__doc__)
    return suite.run(CASES, options.words, options.berth)


if __name__ == "__main__":
    sys.exit(main())
