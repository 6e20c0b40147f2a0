#!/usr/bin/env python3
"""A tour of every capability on a real control plane, each step checked. Exit status 0 if every step passed.

Runs `berth up` with the demo cluster of examples/, talks to it with kubectl and prints what a person reads.
"""
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BERTH = os.environ.get("BERTH", os.path.join(ROOT, "build/release/berth"))
DRIVER = os.path.join(os.path.dirname(BERTH), "health-driver")
STEP_SECONDS_MAX = 30
COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ
BOLD, GREEN, RED, PLAIN = ("\033[1m", "\033[32m", "\033[31m", "\033[0m") if COLOUR else ("",) * 4


class Failed(Exception):
    pass


class Cluster:
    """One `berth up` on a data directory of its own, and kubectl pointed at it."""

    def __init__(self, directory):
        self.directory = directory
        self.kubeconfig = os.path.join(directory, "kubeconfig")
        self.process = None
        self.drivers = []
        self.kubectl = shutil.which(os.environ.get("KUBECTL", "kubectl"))

    def start(self, *flags):
        if os.path.exists(self.kubeconfig):
            os.remove(self.kubeconfig)
        self.log = open(os.path.join(self.directory, "log"), "ab")
        self.process = subprocess.Popen(
            [BERTH, "up", "--data-dir", os.path.join(self.directory, "data"), "--kubeconfig", self.kubeconfig,
             "--nodes-dir", os.path.join(self.directory, "n"), "--insecure", "--listen", "127.0.0.1:0",
             "-f", os.path.join(ROOT, "examples/cluster"), "--gpu-sharing", "--log-level", "warning",
             *flags],
            stdout=self.log, stderr=self.log)
        began = time.monotonic()
        while not os.path.exists(self.kubeconfig):
            if self.process.poll() is not None or time.monotonic() - began > STEP_SECONDS_MAX:
                raise Failed("berth up did not come up; see " + self.log.name)
            time.sleep(0.02)
        for line in open(self.kubeconfig):
            if "server:" in line:
                self.url = line.split("server:")[1].strip().strip('"')
        return time.monotonic() - began

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def restart(self, *flags):
        self.process.terminate()
        self.process.wait(10)
        self.start(*flags)

    def stop(self):
        for process in [*self.drivers, self.process]:
            if process and process.poll() is None:
                process.terminate()
                process.wait(10)

    def start_driver(self, node):
        """A driver of the node's four whole GPUs, until the end; a line on its standard input is a report."""
        if not os.path.exists(DRIVER):
            raise Failed("the test driver was not built: " + DRIVER)
        registry = os.path.join(self.directory, "n", node, "plugins_registry")
        devices = [word for i in range(1, 5) for word in ("--device", "gpu-%d" % i)]
        driver = subprocess.Popen([DRIVER, "--registry", registry, "--driver", "gpu.example.com",
                                   "--pool", node, *devices],
                                  stdin=subprocess.PIPE, text=True, stdout=self.log, stderr=self.log)
        self.drivers.append(driver)
        return driver

    def api(self, path, body=None, method=None, content_type="application/json"):
        sent = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, sent, {"Content-Type": content_type}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def pod(self, name):
        return self.api("/api/v1/namespaces/default/pods/" + name)

    def apply(self, example):
        path = os.path.join(ROOT, "examples", example)
        if not self.kubectl:
            raise Failed("kubectl is needed for the demo: install it, or name it with KUBECTL=")
        self.show("apply", "-f", os.path.relpath(path, ROOT))

    def show(self, *arguments, given=None, refused=False):
        """Runs kubectl as a person would, prints what it prints and returns it. `given`: an object as its
        standard input. `refused`: it must fail."""
        print("  $ kubectl " + " ".join(arguments))
        if given:
            print("    … spec: " + json.dumps(given["spec"]))
        answer = subprocess.run([self.kubectl, *arguments], cwd=ROOT, text=True, capture_output=True,
                                input=json.dumps(given) if given else None,
                                env=dict(os.environ, KUBECONFIG=self.kubeconfig))
        text = answer.stdout + answer.stderr
        for line in text.rstrip().split("\n"):
            if "version difference" not in line:
                print("    " + line)
        if (answer.returncode != 0) != refused:
            raise Failed("kubectl answered %d" % answer.returncode)
        return text


def phase(pod):
    return pod.get("status", {}).get("phase")


def waiting_message(cluster, name):
    """The latest event FailedScheduling: Kubernetes' sentence, and Berth's words behind it."""
    events = cluster.api("/api/v1/namespaces/default/events?fieldSelector=reason%3DFailedScheduling,"
                         "involvedObject.name%3D" + name).get("items", [])
    latest = max(events, key=lambda event: int(event["metadata"]["resourceVersion"]), default={})
    return latest.get("message", "")


def eventually(what, check, seconds=STEP_SECONDS_MAX):
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if check():
            print("  %s✓%s %s" % (GREEN, PLAIN, what))
            return
        time.sleep(0.05)
    raise Failed("did not happen within %d s: %s" % (seconds, what))


def title(number, text):
    print("\n%s%d. %s%s" % (BOLD, number, text, PLAIN))


def partitions(cluster):
    """Partitions that cannot run together (KEP-5963)"""
    cluster.apply("partitions.yaml")
    eventually("mig-a runs on a MIG partition of node-1", lambda: phase(cluster.pod("mig-a")) == "Running")
    eventually("vgpu-b waits, and says why in words",
               lambda: "holds group mig; the device offers vgpu" in waiting_message(cluster, "vgpu-b"))
    cluster.show("get", "pods,resourceclaims")
    print("    vgpu-b: " + waiting_message(cluster, "vgpu-b"))
    cluster.show("delete", "pod", "mig-a")
    eventually("vgpu-b runs as soon as the partition is free",
               lambda: phase(cluster.pod("vgpu-b")) == "Running")


def racks_of(cluster, pods):
    racks = set()
    for name in pods:
        node = cluster.pod(name).get("spec", {}).get("nodeName")
        labels = cluster.api("/api/v1/nodes/" + node)["metadata"]["labels"] if node else {}
        racks.add(labels.get("example.com/rack"))
    return racks


def gang(cluster):
    """A gang of four lands in one rack or not at all (KEP-5732)"""
    workers = ["train-%d" % i for i in range(4)]
    cluster.apply("gang.yaml")
    eventually("all four workers run", lambda: all(phase(cluster.pod(name)) == "Running" for name in workers))
    racks = racks_of(cluster, workers)
    if len(racks) != 1:
        raise Failed("the workers are in racks %s" % sorted(map(str, racks)))
    print("  %s✓%s all in %s" % (GREEN, PLAIN, racks.pop()))
    cluster.show("get", "pods", "-o", "wide")


def berth(cluster, *arguments):
    """Runs Berth's own command as a person would, and prints what it prints."""
    print("  $ berth " + " ".join(arguments))
    answer = subprocess.run([BERTH, *arguments], text=True, capture_output=True,
                            env=dict(os.environ, KUBECONFIG=cluster.kubeconfig))
    print("    " + (answer.stdout + answer.stderr).strip().replace("\n", "\n    "))
    if answer.returncode != 0:
        raise Failed("berth %s answered %d" % (arguments[0], answer.returncode))


def topology(cluster):
    """A policy requires one rack, and says what became of it"""
    berth(cluster, "topology", "--level", "rack=example.com/rack", "--write")
    cluster.apply("topology/rack.yaml")
    workers = ["in-one-rack-%d" % i for i in range(4)]
    eventually("all four workers run", lambda: all(phase(cluster.pod(name)) == "Running" for name in workers))
    racks = racks_of(cluster, workers)
    if len(racks) != 1:
        raise Failed("the workers are in racks %s" % sorted(map(str, racks)))
    policy = "/apis/scheduling.berth.dev/v1alpha1/namespaces/default/placementpolicies/in-one-rack"
    said = "4 pods in " + racks.pop()
    eventually("the policy says so: " + said, lambda: said == cluster.api(policy).get("status", {}).get(
        "groups", [{}])[0].get("message"))
    cluster.show("get", "topologies,placementpolicies")
    berth(cluster, "explain", "podgroup", "in-one-rack")
    cluster.show("delete", "-f", "examples/topology/rack.yaml")


def failed_nodes(cluster):
    """Two nodes die: two pods of the gang move inside their rack, the others run on"""
    for file in ("nodes", "job"):
        cluster.apply("failed-nodes/%s.yaml" % file)
    policy = "/apis/scheduling.berth.dev/v1alpha1/namespaces/default/placementpolicies/resilient"

    def members():
        pods = cluster.api("/api/v1/namespaces/default/pods"
                           "?labelSelector=batch.kubernetes.io/job-name=resilient")
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in pods["items"]
                if phase(pod) == "Running" and "deletionTimestamp" not in pod["metadata"]}

    def reason():
        conditions = cluster.api(policy).get("status", {}).get("conditions", [])
        return [one["reason"] for one in conditions if one["type"] == "FailedNodesReplaced"]

    eventually("all four run", lambda: len(members()) == 4 and reason() == ["NoFailedNodes"])
    before = members()
    lost = sorted(before)[:2]
    for pod in lost:
        cluster.show("annotate", "node", before[pod], "berth.dev/agent=NotReady")
    eventually("two successors run, and the other two were left alone",
               lambda: len(members()) == 4 and
               set(before) - set(members()) == set(lost) and
               not {before[pod] for pod in lost} & set(members().values()),
               seconds=120)  # a node must be silent or not ready for 30 s before it counts as failed
    eventually("the policy says that the group is whole", lambda: reason() == ["NoFailedNodes"])
    cluster.show("get", "events", "--field-selector", "reason=NodeReplaced")
    for file in ("job", "nodes"):
        cluster.show("delete", "--wait=false", "-f", "examples/failed-nodes/%s.yaml" % file)


def fabric(cluster):
    """Bound only when the device says it is ready (KEP-5007)"""
    cluster.apply("fabric.yaml")
    eventually("the binder waits for the card",
               lambda: any(item.get("status", {}).get("step") == "WaitingForDevices" for item in cluster.api(
                   "/apis/scheduling.berth.dev/v1alpha1/namespaces/default/bindrequests").get("items", [])))
    if cluster.pod("fabric-c").get("spec", {}).get("nodeName"):
        raise Failed("fabric-c was bound before its card was ready")
    cluster.show("get", "bindrequests")
    eventually("fabric-c runs once the card is attached",
               lambda: phase(cluster.pod("fabric-c")) == "Running")


def allocated_health(pod):
    return [resource["health"] for status in pod.get("status", {}).get("containerStatuses", [])
            for entry in status.get("allocatedResourcesStatus", []) for resource in entry["resources"]]


def health(cluster):
    """A sick GPU is named in the pod's status (KEP-4680)"""
    driver = cluster.start_driver("node-4")
    cluster.apply("health.yaml")
    eventually("health-d runs", lambda: phase(cluster.pod("health-d")) == "Running")
    eventually("its GPU is Healthy", lambda: "Healthy" in allocated_health(cluster.pod("health-d")))
    for i in range(1, 5):
        driver.stdin.write("gpu-%d Unhealthy xid 48: an ECC error that cannot be corrected\n" % i)
    driver.stdin.flush()
    eventually("and then Unhealthy", lambda: "Unhealthy" in allocated_health(cluster.pod("health-d")))
    cluster.show("get", "pod", "health-d", "-o",
                 "jsonpath={.status.containerStatuses[0].allocatedResourcesStatus}")
    cluster.show("delete", "pod", "health-d")


def policy(cluster):
    """A GPU falls off the bus: a policy taints it, and its gang moves as a unit"""
    workers = ["train-%d" % i for i in range(4)]
    before = racks_of(cluster, workers)
    driver = cluster.start_driver(cluster.pod("train-0")["spec"]["nodeName"])
    cluster.apply("health-policy.yaml")
    device = cluster.api("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/" +
                         cluster.pod("train-0")["status"]["resourceClaimStatuses"][0]["resourceClaimName"])
    name = device["status"]["allocation"]["devices"]["results"][0]["device"]
    eventually("the GPU of train-0 is Healthy",
               lambda: "Healthy" in allocated_health(cluster.pod("train-0")))
    driver.stdin.write(name + " Unhealthy xid 79: the GPU has fallen off the bus\n")
    driver.stdin.flush()
    eventually("all four workers are evicted",
               lambda: all(cluster.pod(name).get("code") == 404 for name in workers))
    cluster.show("get", "devicehealthpolicies")
    print("  their owner makes them again")
    cluster.apply("gang.yaml")
    eventually("all four workers run", lambda: all(phase(cluster.pod(name)) == "Running" for name in workers))
    eventually("in the other rack", lambda: racks_of(cluster, workers) not in (before, {None}))
    cluster.show("get", "devicetaintrules", "-o", "custom-columns=POOL:.spec.deviceSelector.pool,"
                 "DEVICE:.spec.deviceSelector.device,TAINT:.spec.taint.key,EFFECT:.spec.taint.effect")


def volumes(cluster):
    """A pod waits for its volumes, and runs where they are"""
    cluster.apply("volumes.yaml")
    requests = "/apis/scheduling.berth.dev/v1alpha1/namespaces/default/bindrequests"
    waits = [("with-volumes", "Pending")]
    eventually("the binder waits for the volume that is provisioned",
               lambda: waits == [(item["spec"]["podName"], item.get("status", {}).get("phase"))
                                 for item in cluster.api(requests)["items"]
                                 if item["spec"]["podName"] == "with-volumes"])
    cluster.show("get", "persistentvolumeclaims")
    eventually("with-volumes runs on node-2, where its disk is",
               lambda: phase(cluster.pod("with-volumes")) == "Running" and
               cluster.pod("with-volumes")["spec"]["nodeName"] == "node-2")
    cluster.show("get", "persistentvolumeclaims")


def gpu_groups(pod):
    return pod["metadata"].get("annotations", {}).get("scheduling.berth.dev/gpu-groups")


def sharing(cluster):
    """Half a GPU, twice on one device"""
    cluster.apply("gpu-sharing/cluster.yaml")
    cluster.apply("gpu-sharing/pods.yaml")
    eventually("all three run", lambda: all(phase(cluster.pod(name)) == "Running"
                                            for name in ("half-a", "half-b", "quarter")))
    groups = [gpu_groups(cluster.pod(name)) for name in ("half-a", "half-b", "quarter")]
    eventually("the halves share one GPU, and the quarter is on another one",
               lambda: groups[0] == groups[1] != groups[2])
    cluster.show("get", "bindrequests", "-o", "custom-columns=POD:.spec.podName,NODE:.spec.selectedNode,"
                 "PORTION:.spec.receivedGPU.portion,GPUS:.spec.selectedGPUGroups")


def by_hand(cluster):
    """A BindRequest made by hand is carried out, or refused with its field"""
    cluster.apply("by-hand.yaml")
    request = {"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "BindRequest",
               "metadata": {"name": "by-hand"},
               "spec": {"podName": "by-hand", "podUID": "", "selectedNode": "node-3", "backoffLimit": -1}}
    text = cluster.show("create", "-f", "-", given=request, refused=True)
    if "spec.podUID" not in text or "spec.backoffLimit" not in text:
        raise Failed("the refusal does not name the fields")
    uid = cluster.show("get", "pod", "by-hand", "-o", "jsonpath={.metadata.uid}").strip()
    request["spec"] = {"podName": "by-hand", "podUID": uid, "selectedNode": "node-3"}
    cluster.show("create", "-f", "-", given=request)
    eventually("by-hand runs where the request says",
               lambda: phase(cluster.pod("by-hand")) == "Running" and
               cluster.pod("by-hand")["spec"]["nodeName"] == "node-3")
    cluster.show("get", "bindrequest", "by-hand")


def moves(cluster):
    """Pods of a service move, so that a shelf is whole and a gang fits"""
    cluster.restart("--defragmentation", "Evict", "--defragmentation-level", "example.com/shelf",
                    "--defragmentation-interval", "5s")

    def running(label):
        pods = cluster.api("/api/v1/namespaces/default/pods?labelSelector=" + label)["items"]
        return [pod for pod in pods if phase(pod) == "Running" and "deletionTimestamp" not in pod["metadata"]]

    def shelves(label):
        """Of running pods, in order."""
        return sorted(pod["spec"]["nodeName"][:len("shelf-x")] for pod in running(label))

    def has_shelf(label):
        return len(shelves(label)) == 4 and len(set(shelves(label))) == 1

    cluster.apply("defragmentation/cluster.yaml")
    eventually("a service uses all eight GPUs", lambda: len(shelves("app=serve")) == 8)
    one_a_node = {pod["spec"]["nodeName"]: pod["metadata"]["name"] for pod in running("app=serve")}
    cluster.show("annotate", "pods", *one_a_node.values(), "controller.kubernetes.io/pod-deletion-cost=-1")
    cluster.show("scale", "deployment", "serve", "--replicas", "4")
    eventually("four pods of it are left, two in each shelf",
               lambda: shelves("app=serve") == ["shelf-x"] * 2 + ["shelf-y"] * 2)
    cluster.apply("defragmentation/gang.yaml")
    eventually("two pods have moved: the gang has one shelf, and the service the other",
               lambda: has_shelf("app=serve") and has_shelf("batch.kubernetes.io/job-name=whole-shelf"),
               seconds=60)
    cluster.show("get", "events", "--field-selector", "reason=Defragmented")
    for file in ("gang", "cluster"):
        cluster.show("delete", "--wait=false", "-f", "examples/defragmentation/%s.yaml" % file)


def crash(cluster):
    """kill -9 in the middle of a gang's bind"""
    for i in range(4):
        cluster.api("/api/v1/namespaces/default/pods/train-%d" % i, method="DELETE")
    eventually("the first gang is gone",
               lambda: all(cluster.pod("train-%d" % i).get("code") == 404 for i in range(4)))
    cluster.apply("gang.yaml")
    time.sleep(0.005)
    cluster.kill()
    print("  killed; starting again on the same data")
    print("  up again in %.0f ms" % (1000 * cluster.start()))
    workers = ["train-%d" % i for i in range(4)]
    eventually("the same end state: four workers run",
               lambda: all(phase(cluster.pod(name)) == "Running" for name in workers))
    if len(racks_of(cluster, workers)) != 1:
        raise Failed("the workers are in several racks")
    devices = [(r["pool"], r["device"]) for item in
               cluster.api("/apis/resource.k8s.io/v1/resourceclaims")["items"]
               for r in item.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])]
    if len(devices) != len(set(devices)):
        raise Failed("a device is allocated twice: %s" % devices)
    print("  %s✓%s in one rack, and no device is allocated twice" % (GREEN, PLAIN))
    cluster.show("get", "pods", "-o", "wide")


SCENES = [partitions, gang, topology, failed_nodes, fabric, health, policy, volumes, sharing, by_hand, moves,
          crash]


def main():
    directory = tempfile.mkdtemp(prefix="berth-demo-")
    cluster = Cluster(directory)
    try:
        print("Berth is up in %.0f ms: two racks of two nodes, each with a partitionable and four whole GPUs."
              % (1000 * cluster.start()))
        cluster.show("get", "nodes", "-L", "example.com/rack")
        for number, scene in enumerate(SCENES, 1):
            title(number, scene.__doc__)
            scene(cluster)
    except Failed as failure:
        print("\n%s✗ %s%s" % (RED, failure, PLAIN))
        print("  logs and data: " + directory)
        return 1
    finally:
        cluster.stop()
    shutil.rmtree(directory)
    print("\n%sEvery step passed.%s" % (GREEN, PLAIN))
    return 0


if __name__ == "__main__":
    sys.exit(main())
