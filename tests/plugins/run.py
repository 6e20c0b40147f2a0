#!/usr/bin/env python3
"""Runs the plugins of examples/plugins in processes, and admission by plugins in `berth up`.

Only the standard library. The closing line is "N passed, M failed"; the exit code is 0 when nothing failed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from served import Served, call
from suite import eventually

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
REQUESTS = "/apis/scheduling.berth.dev/v1alpha1/namespaces/default/bindrequests"
NETWORK = "example.com/network"
TIMEOUT = "example.com/network-timeout"
MERGE_PATCH = "application/merge-patch+json"
ADDRESS = "example.com/network-address"
PREFERRED = "example.com/preferred-domains"
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"


class Cluster:
    """An embedded control plane of one program, with simulated nodes."""

    def __init__(self, program, *flags, nodes=2):
        self.served = Served(program, "up", [], ("--nodes", str(nodes), *flags))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.served.close()

    def call(self, method, path, body=None, content="application/json"):
        return call(self.served.url + path, method, body, content)

    def add_pod(self, name, annotations, resources=None):
        container = {"name": "c", "image": "i", "resources": resources or {}}
        return self.call("POST", PODS, {"kind": "Pod", "apiVersion": "v1",
                                        "metadata": {"name": name, "annotations": annotations},
                                        "spec": {"schedulerName": "berth", "containers": [container]}})

    def pod(self, name):
        return self.call("GET", PODS + "/" + name)

    def node_of(self, name):
        return self.pod(name)["spec"].get("nodeName")

    def attachment(self, pod):
        found = self.call("GET", MAPS + "/" + pod + "-network")
        return found if found["kind"] == "ConfigMap" else None

    def report(self, pod, **data):
        """What a network controller does."""
        answer = self.call("PATCH", MAPS + "/" + pod + "-network", {"data": data}, MERGE_PATCH)
        assert answer["kind"] == "ConfigMap", answer

    def request_of(self, pod):
        return [item for item in self.call("GET", REQUESTS)["items"] if item["spec"]["podName"] == pod][0]


class Programs:
    def __init__(self, berth):
        folder = berth.parent / "examples/plugins"
        self.berth = berth
        self.network_attachment = folder / "network-attachment/network-attachment"
        self.preferred_domains = folder / "preferred-domains/preferred-domains"


def a_pod_is_bound_when_its_network_is_attached(programs):
    with Cluster(programs.network_attachment) as cluster:
        made = cluster.add_pod("p", {NETWORK: "blue"})
        assert made["metadata"]["annotations"] == {NETWORK: "blue", TIMEOUT: "60"}, made
        attachment = eventually("an attachment is made", lambda: cluster.attachment("p"))
        data = attachment["data"]
        assert data["network"] == "blue" and data["node"].startswith("node-"), data
        owners = [owner["uid"] for owner in attachment["metadata"]["ownerReferences"]]
        assert owners == [made["metadata"]["uid"]], attachment
        plain = cluster.add_pod("plain", {})
        assert plain["metadata"].get("annotations") is None, plain
        eventually("a pod without a network is bound", lambda: cluster.node_of("plain"))
        assert cluster.node_of("p") is None
        cluster.report("p", state="attached", address="10.0.0.7")
        eventually("it is bound", lambda: cluster.node_of("p") == data["node"])
        eventually("PostBind copies the address",
                   lambda: cluster.pod("p")["metadata"]["annotations"].get(ADDRESS) == "10.0.0.7")
        eventually("the request succeeds", lambda: cluster.request_of("p")["status"]["phase"] == "Succeeded")


def a_failed_attachment_is_deleted_and_the_pod_goes_elsewhere(programs):
    with Cluster(programs.network_attachment) as cluster:
        cluster.add_pod("p", {NETWORK: "blue"})
        first = eventually("an attachment is made", lambda: cluster.attachment("p"))
        cluster.report("p", state="failed", message="no port left")

        def another():
            found = cluster.attachment("p")
            return found and found["metadata"]["uid"] != first["metadata"]["uid"] and found

        second = eventually("another one is made", another)
        assert second["data"]["node"] != first["data"]["node"], second
        cluster.report("p", state="attached")
        eventually("it is bound", lambda: cluster.node_of("p") == second["data"]["node"])


def bad_annotations_are_refused_together(programs):
    with Cluster(programs.network_attachment) as cluster:
        refused = cluster.add_pod("p", {NETWORK: "Blue!", TIMEOUT: "soon", "gpu-fraction": "nan"},
                                  {"limits": {"nvidia.com/gpu": "1"}})
        assert refused["code"] == 422, refused
        fields = [cause["field"] for cause in refused["details"]["causes"]]
        for field in ("metadata.annotations[%s]" % NETWORK, "metadata.annotations[%s]" % TIMEOUT,
                      "metadata.annotations[gpu-fraction]",
                      "spec.containers[0].resources.limits[nvidia.com/gpu]"):
            assert field in fields, fields


def racks_and_a_gang(preferred):
    """Two racks of two nodes each, and a gang that fits in either: (nodes, group and pods)."""
    nodes = [{"apiVersion": "v1", "kind": "Node",
              "metadata": {"name": "n%d" % i, "labels": {"rack": "rack-" + "aabb"[i],
                                                         "berth.dev/simulated": "true"}},
              "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}} for i in range(4)]
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
             "metadata": {"name": "g", "namespace": "default", "annotations": {PREFERRED: preferred}},
             "spec": {"schedulingPolicy": {"gang": {"minCount": 2}},
                      "schedulingConstraints": {"topology": [{"key": "rack"}]}}}
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p%d" % i, "namespace": "default"},
             "spec": {"schedulerName": "berth", "schedulingGroup": {"podGroupName": "g"},
                      "containers": [{"name": "c", "image": "i"}]}} for i in range(2)]
    return nodes, [group, *pods]


def planned_racks(program, preferred):
    nodes, gang = racks_and_a_gang(preferred)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes + gang})
    plan = subprocess.run([str(program), "plan", "-f", "-", "-o", "json"], input=text, capture_output=True,
                          text=True, timeout=60)
    assert plan.returncode == 0, plan.stderr
    placed = [pod["node"] for one in json.loads(plan.stdout)["decisions"] for pod in one["pods"]]
    return {"rack-" + "aabb"[int(node[1:])] for node in placed}


def a_group_gets_the_first_preferred_domain(programs):
    assert planned_racks(programs.berth, "rack-b") == {"rack-a"}
    assert planned_racks(programs.preferred_domains, "rack-b") == {"rack-b"}
    assert planned_racks(programs.preferred_domains, "rack-c,rack-b,rack-a") == {"rack-b"}
    assert planned_racks(programs.preferred_domains, ",,") == {"rack-a"}
    nodes, gang = racks_and_a_gang("rack-b,rack-a")
    with tempfile.TemporaryDirectory() as folder:
        manifest = pathlib.Path(folder) / "cluster.json"
        manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
        with Cluster(programs.preferred_domains, "-f", str(manifest), nodes=0) as cluster:
            cluster.call("POST", GROUPS, gang[0])
            for pod in gang[1:]:
                cluster.call("POST", PODS, pod)
            eventually("both members are in rack-b",
                       lambda: {cluster.node_of("p0"), cluster.node_of("p1")} <= {"n2", "n3"})


def berth_itself_validates_gpu_requests(programs):
    berth = programs.berth
    with Cluster(berth) as cluster:
        refused = cluster.add_pod("half", {"gpu-fraction": "0.5"})
        assert refused["code"] == 422 and "GPU sharing is switched off" in refused["message"], refused
        assert cluster.add_pod("plain", {NETWORK: "Blue!"})["kind"] == "Pod"
        patched = cluster.call("PATCH", PODS + "/plain", {"metadata": {"annotations": {"gpu-memory": "0"}}},
                               MERGE_PATCH)
        assert patched["code"] == 422 and "metadata.annotations[gpu-memory]" in patched["message"], patched
    with Cluster(berth, "--gpu-sharing") as cluster:
        assert cluster.add_pod("half", {"gpu-fraction": "0.5"})["kind"] == "Pod"
        assert cluster.add_pod("whole", {"gpu-fraction": "1"})["code"] == 422
    with Cluster(berth, "--binder-plugins", "DynamicResources") as cluster:
        assert cluster.add_pod("half", {"gpu-fraction": "0.5"})["kind"] == "Pod"
    unknown = subprocess.run([str(berth), "up", "--in-memory", "--binder-plugins", "Teleport"],
                             capture_output=True, text=True, timeout=60)
    assert unknown.returncode == 2 and 'no binder plugin is named "Teleport"' in unknown.stderr, unknown


CASES = [
    a_pod_is_bound_when_its_network_is_attached,
    a_failed_attachment_is_deleted_and_the_pod_goes_elsewhere,
    bad_annotations_are_refused_together,
    a_group_gets_the_first_preferred_domain,
    berth_itself_validates_gpu_requests,
]


def main():
    chosen = suite.options(__doc__)
    return suite.run(CASES, chosen.words, Programs(chosen.berth))


if __name__ == "__main__":
    sys.exit(main())
