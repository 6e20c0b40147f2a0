#!/usr/bin/env python3
"""Pods share GPUs on a real API server: with the scheduler's account alone, and with reservation pods.

The simulated node tells reservation pods their devices; on the node "real", which nobody simulates, this
script is kubelet. Only the standard library. The closing line is "N passed, M failed"; the exit code is 0
when nothing failed.
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from served import Served, call
from suite import eventually

PODS = "/api/v1/namespaces/default/pods"
SYSTEM_PODS = "/api/v1/namespaces/kube-system/pods"
REQUESTS = "/apis/scheduling.berth.dev/v1alpha1/namespaces/default/bindrequests"
MERGE_PATCH = "application/merge-patch+json"
PREFIX = "scheduling.berth.dev/"
# Nobody renews the lease of the node "real".
ON_REAL = {"nodeSelector": {"real": "true"}, "tolerations": [{"operator": "Exists"}]}
CLUSTER = suite.ROOT / "examples" / "gpu-sharing" / "cluster.yaml"


class Cluster:
    """An embedded control plane with one node that has two GPUs."""

    def __init__(self, berth, *flags):
        self.berth = berth
        self.served = Served(berth, "up", [], ("--gpu-sharing", "-f", str(CLUSTER), *flags))
        self.kubeconfig = str(pathlib.Path(self.served.scratch.name, "kubeconfig"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.served.close()

    def call(self, method, path, body=None, content="application/json"):
        return call(self.served.url + path, method, body, content)

    def add_pod(self, name, annotations, limits=None, **spec):
        container = {"name": "work", "image": "i", "resources": {"limits": limits or {}}}
        made = self.call("POST", PODS, {"kind": "Pod", "apiVersion": "v1",
                                        "metadata": {"name": name, "annotations": annotations},
                                        "spec": {"schedulerName": "berth", "containers": [container],
                                                 **spec}})
        assert made["kind"] == "Pod", made
        return made

    def share_of(self, name):
        """The groups, once the pod runs; else None."""
        pod = self.call("GET", PODS + "/" + name)
        if pod.get("status", {}).get("phase") != "Running":
            return None
        annotations = pod["metadata"].get("annotations", {})
        return annotations.get(PREFIX + "gpu-groups", "")

    def devices_of(self, name):
        annotations = self.call("GET", PODS + "/" + name)["metadata"]["annotations"]
        return annotations.get(PREFIX + "gpu-devices")

    def finish(self, name):
        self.call("PATCH", PODS + "/" + name + "/status", {"status": {"phase": "Succeeded"}}, MERGE_PATCH)

    def reservations(self):
        return [pod for pod in self.call("GET", SYSTEM_PODS)["items"]
                if pod["metadata"]["name"].startswith("gpu-reservation-")]

    def add_real_node(self):
        """A node without a simulated kubelet, for pods that are ON_REAL."""
        made = self.call("POST", "/api/v1/nodes", {
            "kind": "Node", "apiVersion": "v1", "metadata": {"name": "real", "labels": {"real": "true"}},
            "status": {"capacity": {"cpu": "8", "memory": "8Gi", "pods": "9", "nvidia.com/gpu": "1"},
                       "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "9", "nvidia.com/gpu": "1"},
                       "conditions": [{"type": "Ready", "status": "True"}]}})
        assert made["kind"] == "Node", made

    def waits_for(self, name, text):
        conditions = self.call("GET", PODS + "/" + name).get("status", {}).get("conditions", [])
        return any(text in condition.get("message", "") for condition in conditions)


def two_halves_are_one_gpu(berth):
    with Cluster(berth) as cluster:
        for name in ("a", "b"):
            cluster.add_pod(name, {"gpu-fraction": "0.5"})
            eventually(name + " runs on gpu-0", lambda: cluster.share_of(name) == "gpu-0")
        cluster.add_pod("memory", {"gpu-memory": "4096"})
        eventually("memory has a share of the other GPU", lambda: cluster.share_of("memory") == "gpu-1")
        cluster.add_pod("whole", {}, {"nvidia.com/gpu": "1"})
        eventually("whole waits", lambda: cluster.waits_for("whole", "Insufficient nvidia.com/gpu"))
        request = cluster.call("GET", REQUESTS)["items"][0]["spec"]
        assert request["receivedResourceType"] == "Fraction", request
        assert request["receivedGPU"] == {"count": 1, "portion": "0.50"}, request
        told = subprocess.run([str(berth), "explain", "pod", "memory", "--kubeconfig", cluster.kubeconfig],
                              capture_output=True, text=True, timeout=60)
        assert "0.25 of gpu-1" in told.stdout, told
        cluster.call("DELETE", PODS + "/memory")
        eventually("whole runs on the GPU that is free again", lambda: cluster.share_of("whole") == "")


def device_of(reservation):
    """As kubelet reports it (KEP-4680)."""
    status = reservation["status"]["containerStatuses"][0]["allocatedResourcesStatus"][0]
    assert status["name"] == "nvidia.com/gpu", status
    return status["resources"][0]["resourceID"]


def reservation_pods_hold_the_gpus(berth):
    with Cluster(berth, "--gpu-reservations", "Pods") as cluster:
        made = cluster.add_pod("a", {"gpu-fraction": "0.5"})
        names = [variable["name"] for variable in made["spec"]["containers"][0]["env"]]
        assert names == ["NVIDIA_VISIBLE_DEVICES", "GPU_PORTION", "RUNAI_NUM_OF_GPUS"], made
        cluster.add_pod("b", {"gpu-fraction": "0.5"})
        for name in ("a", "b"):
            eventually(name + " runs", lambda: cluster.share_of(name) == "gpu-0")
        assert len(cluster.reservations()) == 1
        reservation = cluster.reservations()[0]
        assert reservation["spec"]["priorityClassName"] == "system-node-critical", reservation
        assert reservation["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
        for name in ("a", "b"):
            assert cluster.devices_of(name) == device_of(reservation)
        cluster.add_pod("whole", {}, {"nvidia.com/gpu": "1"})
        eventually("group and reservation pod are one GPU", lambda: cluster.share_of("whole") == "")
        cluster.finish("a")
        cluster.add_pod("c", {"gpu-fraction": "0.4"})
        eventually("c takes the place of a", lambda: cluster.share_of("c") == "gpu-0")
        assert cluster.devices_of("c") == device_of(reservation)
        for name in ("b", "c"):
            cluster.call("DELETE", PODS + "/" + name)
        eventually("the reservation ends with its last user", lambda: not cluster.reservations())
        cluster.add_pod("two", {"gpu-fraction": "0.3", "gpu-fraction-num-devices": "2"})
        eventually("two waits for a second GPU", lambda: cluster.waits_for("two", "2 GPUs with 0.30 left"))
        cluster.call("DELETE", PODS + "/whole")
        eventually("two runs on both GPUs", lambda: cluster.share_of("two") == "gpu-0,gpu-1")
        assert len(set(cluster.devices_of("two").split(","))) == 2


def the_reservation_pod_may_write_its_device_itself(berth):
    with Cluster(berth, "--gpu-reservations", "Pods") as cluster:
        cluster.add_real_node()
        cluster.add_pod("a", {"gpu-fraction": "0.5"}, **ON_REAL)
        name = eventually("a reservation pod is made", cluster.reservations)[0]["metadata"]["name"]
        assert cluster.call("GET", PODS + "/a")["spec"].get("nodeName") is None
        cluster.call("PATCH", SYSTEM_PODS + "/" + name,
                     {"metadata": {"annotations": {PREFIX + "gpu-device": "GPU-own"}}}, MERGE_PATCH)
        eventually("a is bound", lambda: cluster.call("GET", PODS + "/a")["spec"].get("nodeName") == "real")
        assert cluster.devices_of("a") == "GPU-own"


def a_gpu_that_kubelet_refuses_fails_the_binding_at_once(berth):
    with Cluster(berth, "--gpu-reservations", "Pods") as cluster:
        cluster.add_real_node()
        cluster.add_pod("a", {"gpu-fraction": "0.5"}, **ON_REAL)
        name = eventually("a reservation pod is made", cluster.reservations)[0]["metadata"]["name"]
        cluster.call("PATCH", SYSTEM_PODS + "/" + name + "/status",
                     {"status": {"phase": "Failed", "reason": "UnexpectedAdmissionError"}}, MERGE_PATCH)

        def failed():
            requests = cluster.call("GET", REQUESTS)["items"]
            return requests and requests[0].get("status", {}).get("reason") == "GpuReservationFailed"

        def told_to_end():
            pods = cluster.reservations()
            return not pods or "deletionTimestamp" in pods[0]["metadata"]

        eventually("the binding failed", failed)
        eventually("the failed reservation pod is cleared away", told_to_end)


CASES = [two_halves_are_one_gpu, reservation_pods_hold_the_gpus,
         the_reservation_pod_may_write_its_device_itself,
         a_gpu_that_kubelet_refuses_fails_the_binding_at_once]


def main():
    chosen = suite.options(__doc__)
    return suite.run(CASES, chosen.words, chosen.berth)


if __name__ == "__main__":
    sys.exit(main())
