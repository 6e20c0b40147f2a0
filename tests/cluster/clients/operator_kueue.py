"""Kueue with Jobs, pods, pod groups and Deployments, unchanged, with webhooks and roles, on `berth up`."""
import json

from operator_jobset import JobSet, jobset, member_of, replicated
from operator_lws import Lws, leader_worker_set, of_set
from operator_objects import RACK, RACKS, ended, label_racks, pod_template, pods_of, racks, running
from operator_trainer import Trainer, train_job, training_runtime
from operators import Operator, with_operators
from programs import eventually


class Kueue(Operator):
    name, module_path = "kueue", "sigs.k8s.io/kueue"
    namespace, service, account = "kueue-system", "kueue-webhook-service", "kueue-controller-manager"
    secret = "kueue-webhook-server-cert"
    operators = ()  # whose objects it queues

    def configuration(self, certificates):
        """Its visibility server writes to a folder of the root, so it is off."""
        return {**self.common(certificates), "apiVersion": "config.kueue.x-k8s.io/v1beta2",
                "namespace": self.namespace, "featureGates": {"VisibilityOnDemand": False},
                "integrations": {"frameworks": ["batch/job", "pod", "deployment", "statefulset",
                                                *self.operators]}}


class KueueOfAll(Kueue):
    """With the operators that must be there before it starts."""

    operators = ("jobset.x-k8s.io/jobset", "leaderworkerset.x-k8s.io/leaderworkerset",
                 "trainer.kubeflow.org/trainjob")


QUEUE = {"kueue.x-k8s.io/queue-name": "queue"}
QUOTA = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
IN_QUEUE = "kueue.x-k8s.io/queue-name=queue"
IN_GROUP = "kueue.x-k8s.io/pod-group-name=g"


def queues(cores, topology=None, **of_cluster):
    """One queue of that many cores."""
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    flavor = {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": str(cores)}]}
    spec = {"nodeLabels": {"kubernetes.io/os": "linux"}, "topologyName": topology} if topology else {}
    return ({**kueue, "kind": "ResourceFlavor", "metadata": {"name": "plain"}, "spec": spec},
            {**kueue, "kind": "ClusterQueue", "metadata": {"name": "all"},
             "spec": {"namespaceSelector": {}, **of_cluster,
                      "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}},
            {**kueue, "kind": "LocalQueue", "metadata": {"name": "queue", "namespace": "default"},
             "spec": {"clusterQueue": "all"}})


def queued_pod(name, *command, group=None, total=0):
    labels, annotations = dict(QUEUE), {}
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
        annotations["kueue.x-k8s.io/pod-group-total-count"] = str(total)
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": labels, "annotations": annotations},
            "spec": pod_template(*command)["spec"]}


def gated(pods):
    return [pod["metadata"]["name"] for pod in pods if pod["spec"].get("schedulingGates")]


@with_operators(Kueue, flags=RACKS)
def kueue_holds_pods_and_groups_to_the_quota(server):
    server.create(*queues(4))
    server.create(*(queued_pod("long-%d" % number, "sleep", "1000") for number in range(3)))
    running(server, IN_QUEUE, 3)
    server.create(*(queued_pod("group-%d" % number, "sleep", "1000", group="g", total=3)
                    for number in range(3)))
    server.create(queued_pod("single", "sleep", "1"))
    eventually("what fits goes first",
               lambda: server.get("pod", "single")["status"].get("phase") == "Succeeded")
    group = pods_of(server, IN_GROUP)
    assert len(gated(group)) == 3, group
    server.kubectl("delete", "pod", "long-0", "long-1")
    running(server, IN_GROUP, 3)
    assert server.get("pod", "long-2")["status"]["phase"] == "Running"


@with_operators(Kueue, flags=RACKS)
def kueue_starts_jobs_and_deployments_when_the_quota_allows(server):
    server.create(*queues(4))
    job = {"parallelism": 3, "completions": 3, "template": pod_template("sleep", "2")}
    server.create(*({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": QUEUE},
                     "spec": job} for name in ("one", "two")))
    for name in ("one", "two"):
        ended(server, "job", name, "Complete")
    first, second = sorted((server.get("job", name)["status"] for name in ("one", "two")),
                           key=lambda status: status["startTime"])
    assert first["completionTime"] <= second["startTime"], (first, second)
    template = pod_template("serve", labels={"app": "web"})
    template["spec"]["restartPolicy"] = "Always"
    server.create({"apiVersion": "apps/v1", "kind": "Deployment",
                   "metadata": {"name": "web", "labels": QUEUE},
                   "spec": {"replicas": 6, "selector": {"matchLabels": {"app": "web"}},
                            "template": template}})
    eventually("four of six run", lambda: server.get("deployment", "web")["status"].get("readyReplicas") == 4)
    assert len(gated(pods_of(server, "app=web"))) == 2
    server.kubectl("patch", "clusterqueue", "all", "--type=json", "-p", json.dumps([
        {"op": "replace", "path": QUOTA, "value": "6"}]))
    eventually("all run", lambda: server.get("deployment", "web")["status"].get("readyReplicas") == 6)


def in_queue(made, **labels):
    made["metadata"].setdefault("labels", {}).update({**QUEUE, **labels})
    return made


@with_operators(JobSet, Lws, Trainer, KueueOfAll, flags=RACKS)
def kueue_queues_the_objects_of_the_other_operators(server):
    """Twelve cores are full with the first two; a Job of high priority takes those of the second."""
    label_racks(server)
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    levels = [{"nodeLabel": RACK}, {"nodeLabel": "kubernetes.io/hostname"}]
    server.create({**kueue, "kind": "Topology", "metadata": {"name": "racks"}, "spec": {"levels": levels}},
                  {**kueue, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 1000},
                  *queues(12, "racks", preemption={"withinClusterQueue": "LowerPriority"}),
                  training_runtime("torch", "sleep", "1"))
    template = pod_template("sleep", "1000")
    template["metadata"]["annotations"] = {"kueue.x-k8s.io/podset-required-topology": RACK}
    server.create(in_queue(jobset("train", *(replicated(name, template=template, pods=3) for name in "ab"))))
    trained = running(server, member_of("train"), 6)
    assert len(racks(server, trained)) == 1, racks(server, trained)
    server.create(in_queue(leader_worker_set("serve", 2, 3, "serve")))
    served = {pod["metadata"]["uid"] for pod in running(server, of_set("serve"), 6)}
    high = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "high"},
            "spec": {"parallelism": 6, "completions": 6, "template": pod_template("sleep", "3")}}
    server.create(in_queue(high, **{"kueue.x-k8s.io/priority-class": "high"}))
    ended(server, "job", "high", "Complete")
    again = {pod["metadata"]["uid"] for pod in running(server, of_set("serve"), 6)}
    assert not served & again, "the pods of the Job found room without a preemption"
    assert {pod["metadata"]["uid"] for pod in running(server, member_of("train"), 6)} == {
        pod["metadata"]["uid"] for pod in trained}
    server.create(in_queue(train_job("short", "torch", 2)))
    server.kubectl("delete", "leaderworkerset", "serve")
    ended(server, "trainjob", "short", "Complete")


KUEUE_CASES = (kueue_holds_pods_and_groups_to_the_quota,
               kueue_starts_jobs_and_deployments_when_the_quota_allows,
               kueue_queues_the_objects_of_the_other_operators)
