"""LeaderWorkerSet, unchanged, with its webhooks, roles and certificates, on `berth up`."""
import json

from operator_objects import RACK, RACKS, ended, label_racks, pod_template, pods_of, racks, running, variables
from operators import Operator, with_operators
from programs import eventually


class Lws(Operator):
    name, module_path = "lws", "sigs.k8s.io/lws"
    namespace, service, account = "lws-system", "lws-webhook-service", "lws-controller-manager"
    secret = "lws-webhook-server-cert"

    def configuration(self, certificates):
        return {**self.common(certificates), "apiVersion": "config.lws.x-k8s.io/v1alpha1",
                "internalCertManagement": {"enable": True}}


class LwsWithGangs(Lws):
    """It makes Volcano's PodGroups, of which Berth reads `minMember`."""

    def configuration(self, certificates):
        return {**super().configuration(certificates),
                "gangSchedulingManagement": {"schedulerProvider": "volcano"}}

    def install(self, server, folder):
        server.create(VOLCANO_GROUPS)
        super().install(server, folder)
        rule = {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"],
                "verbs": ["create", "get", "list", "watch"]}
        server.kubectl("patch", "clusterrole", "lws-manager-role", "--type=json", "-p",
                       json.dumps([{"op": "add", "path": "/rules/-", "value": rule}]))


VOLCANO_GROUPS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "podgroups.scheduling.volcano.sh"},
    "spec": {"group": "scheduling.volcano.sh", "scope": "Namespaced",
             "names": {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup"},
             "versions": [{"name": "v1beta1", "served": True, "storage": True, "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": {
                               "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def leader_worker_set(name, groups, size, *command, **metadata):
    template = {"metadata": {}, "spec": {**pod_template(*command)["spec"], "restartPolicy": "Always"}}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"name": name, **metadata},
            "spec": {"replicas": groups, "leaderWorkerTemplate": {"size": size, "workerTemplate": template}}}


def of_set(name, **labels):
    return ",".join(["leaderworkerset.sigs.k8s.io/name=" + name,
                     *("leaderworkerset.sigs.k8s.io/%s=%s" % (key.replace("_", "-"), value)
                       for key, value in labels.items())])


# It restarts a group when it sees a pod on its way out, which takes no time otherwise.
@with_operators(Lws, flags=(*RACKS, "--simulated-termination-duration=2s"))
def leader_worker_set_is_ready_rolls_out_and_restarts_a_group(server):
    server.create(leader_worker_set("serve", 2, 3, "serve", "v1"))
    made = ended(server, "leaderworkerset", "serve", "Available")
    assert (made["status"]["replicas"], made["status"]["readyReplicas"]) == (2, 2), made["status"]
    pods = {pod["metadata"]["name"]: pod for pod in running(server, of_set("serve"), 6)}
    assert sorted(pods) == ["serve-0", "serve-0-1", "serve-0-2", "serve-1", "serve-1-1", "serve-1-2"], pods
    for name, pod in pods.items():
        group, worker = (name.split("-")[1:] + ["0"])[:2]
        labels, env = pod["metadata"]["labels"], variables(pod)
        assert labels["leaderworkerset.sigs.k8s.io/group-index"] == group, labels
        assert labels["leaderworkerset.sigs.k8s.io/worker-index"] == worker, labels
        assert env["LWS_GROUP_SIZE"] == "3", env
        assert env["LWS_WORKER_INDEX"] in (worker, None), env  # None: read from the pod's label
        assert env["LWS_LEADER_ADDRESS"] == "serve-%s.serve.default" % group, env
    server.kubectl("delete", "pod", "serve-1-2")
    uid = pods["serve-1"]["metadata"]["uid"]

    def restarted():
        found = pods_of(server, of_set("serve", group_index=1))
        return len(found) == 3 and uid not in [pod["metadata"]["uid"] for pod in found]
    eventually("the group of a lost pod is made again", restarted)
    again = {pod["metadata"]["name"]: pod for pod in running(server, of_set("serve"), 6)}
    assert again["serve-0"]["metadata"]["uid"] == pods["serve-0"]["metadata"]["uid"]
    server.kubectl("patch", "leaderworkerset", "serve", "--type=json", "-p", json.dumps([
        {"op": "replace", "path": "/spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/command/1",
         "value": "v2"}]))
    eventually("all pods are of the new template", lambda: ["v2"] * 6 == [
        pod["spec"]["containers"][0]["command"][-1] for pod in pods_of(server, of_set("serve"))])
    ended(server, "leaderworkerset", "serve", "Available")
    server.kubectl("scale", "leaderworkerset", "serve", "--replicas=1")
    running(server, of_set("serve"), 3)
    server.kubectl("delete", "leaderworkerset", "serve")
    eventually("nothing is left of it", lambda: not server.get("pods,statefulsets")["items"])


@with_operators(Lws, flags=RACKS)
def leader_worker_set_places_each_group_in_a_rack_of_its_own(server):
    label_racks(server)
    server.create(leader_worker_set("apart", 3, 3, "serve",
                                    annotations={"leaderworkerset.sigs.k8s.io/exclusive-topology": RACK}))
    running(server, of_set("apart"), 9)
    used = [racks(server, pods_of(server, of_set("apart", group_index=index))) for index in range(3)]
    assert sorted(map(sorted, used)) == [["rack-0"], ["rack-1"], ["rack-2"]], used


@with_operators(LwsWithGangs, flags=(*RACKS, "--scheduler-name=berth", "--scheduler-name=volcano"))
def leader_worker_set_starts_whole_groups_in_racks(server):
    """A rack of three nodes of 32 cores holds three pods of 20: one group."""
    label_racks(server)
    target = {"group": "leaderworkerset.x-k8s.io", "kind": "LeaderWorkerSet", "name": "serve"}
    server.create({"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "PlacementPolicy",
                   "metadata": {"name": "serve"}, "spec": {"targetRef": target, "required": RACK}})
    made = leader_worker_set("serve", 4, 3, "serve")
    spec = made["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    spec["schedulerName"] = "volcano"
    spec["containers"][0]["resources"] = {"requests": {"cpu": "20"}}
    server.create(made)

    def phases():
        by_group = {}
        for pod in pods_of(server, of_set("serve")):
            index = pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/group-index"]
            by_group.setdefault(index, []).append(pod["status"].get("phase"))
        return sorted(map(sorted, by_group.values()))
    waiting = [["Pending"] * 3, *[["Running"] * 3] * 3]
    eventually("three groups run and one waits", lambda: phases() == waiting)
    used = [racks(server, [pod for pod in pods_of(server, of_set("serve", group_index=index))
                           if pod["spec"].get("nodeName")]) for index in range(4)]
    assert sorted(map(sorted, used)) == [[], ["rack-0"], ["rack-1"], ["rack-2"]], used
    eventually("its status says so", lambda: sorted(
        group.get("status", {}).get("phase", "") for group in server.get("podgroups.scheduling.volcano.sh")[
            "items"]) == ["Inqueue", "Running", "Running", "Running"])
    server.kubectl("scale", "leaderworkerset", "serve", "--replicas=3")
    running(server, of_set("serve"), 9)


LWS_CASES = (leader_worker_set_is_ready_rolls_out_and_restarts_a_group,
             leader_worker_set_places_each_group_in_a_rack_of_its_own,
             leader_worker_set_starts_whole_groups_in_racks)
