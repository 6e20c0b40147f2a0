#!/usr/bin/env python3
"""Groups of other projects on `berth up`: their definitions are installed, their objects and pods go in.

Only the standard library. The closing line is "N passed, M failed".
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from served import Served, call

NAMES = ("berth", "volcano", "scheduler-plugins-scheduler")
# The parts of the projects' definitions on which anything here depends.
DEFINITIONS = {
    "podgroups.scheduling.x-k8s.io": ("v1alpha1", "PodGroup", {
        "spec": {"minMember": {"type": "integer", "format": "int32"},
                 "scheduleTimeoutSeconds": {"type": "integer", "format": "int32"}},
        "status": {"phase": {"type": "string"}, "occupiedBy": {"type": "string"},
                   **{name: {"type": "integer", "format": "int32"}
                      for name in ("running", "succeeded", "failed")}}}),
    "podgroups.scheduling.volcano.sh": ("v1beta1", "PodGroup", {
        "spec": {"minMember": {"type": "integer", "format": "int32"}, "queue": {"type": "string"}},
        "status": {"phase": {"type": "string"},
                   **{name: {"type": "integer", "format": "int32"}
                      for name in ("running", "succeeded", "failed")}}}),
    "podgroups.scheduling.run.ai": ("v2alpha2", "PodGroup", None),
    "podgangs.scheduler.grove.io": ("v1alpha1", "PodGang", None),
}


def part(properties):
    if properties is None:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "properties": properties}


def definition(name):
    version, kind, shape = DEFINITIONS[name]
    plural, group = name.split(".", 1)
    schema = {"type": "object", "properties": {
        "spec": part(shape and shape["spec"]), "status": part(shape and shape["status"])}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name, "annotations": {
                "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"
            }},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"plural": plural, "singular": plural[:-1], "kind": kind,
                               "listKind": kind + "List"},
                     "versions": [{"name": version, "served": True, "storage": True,
                                   "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": schema}}]}}


class Cluster:
    def __init__(self, served):
        self.url = served.url

    def path(self, kind, name=""):
        base = {"pods": "/api/v1", "events": "/api/v1", "podgroups": "/apis/scheduling.k8s.io/v1beta1",
                "compositepodgroups": "/apis/scheduling.k8s.io/v1alpha3"}.get(kind)
        if base is None:
            plural, group = kind.split(".", 1)
            base, kind = "/apis/%s/%s" % (group, DEFINITIONS[plural + "." + group][0]), plural
        return "%s%s/namespaces/default/%s%s" % (self.url, base, kind, name and "/" + name)

    def create(self, kind, body):
        answer = call(self.path(kind), "POST", body)
        assert answer.get("kind") != "Status", answer
        return answer

    def get(self, kind, name):
        answer = call(self.path(kind, name), "GET")
        return None if answer.get("kind") == "Status" else answer

    def delete(self, kind, name):
        call(self.path(kind, name), "DELETE")

    def object(self, resource, name, spec):
        version, kind, _ = DEFINITIONS[resource]
        return self.create(resource, {"apiVersion": resource.split(".", 1)[1] + "/" + version, "kind": kind,
                                      "metadata": {"name": name}, "spec": spec})

    def pod(self, name, cpu="1", labels=None, annotations=None, scheduler="berth"):
        return self.create("pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
            "spec": {"schedulerName": scheduler, "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}})

    def phases(self, *names):
        return [self.get("pods", name)["status"].get("phase") for name in names]

    def run(self, *names):
        suite.eventually("%s run" % ", ".join(names),
                         lambda: all(phase == "Running" for phase in self.phases(*names)), 30)

    def status(self, resource, name, **wanted):
        def told():
            status = self.get(resource, name).get("status", {})
            return all(status.get(key) == value for key, value in wanted.items())
        suite.eventually("%s %s says %s" % (resource, name, wanted), told, 30)


PLUGINS = "podgroups.scheduling.x-k8s.io"
VOLCANO = "podgroups.scheduling.volcano.sh"
KAI = "podgroups.scheduling.run.ai"
GROVE = "podgangs.scheduler.grove.io"


def a_gang_of_scheduler_plugins_starts_whole(cluster):
    cluster.object(PLUGINS, "train", {"minMember": 3, "scheduleTimeoutSeconds": 60})
    label = {"scheduling.x-k8s.io/pod-group": "train"}
    for name in ("train-0", "train-1"):
        cluster.pod(name, labels=label, scheduler="scheduler-plugins-scheduler")
    group = suite.eventually("its PodGroup", lambda: cluster.get("podgroups", "train"), 30)
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}, group
    assert group["metadata"]["ownerReferences"][0]["apiVersion"] == "scheduling.x-k8s.io/v1alpha1", group
    cluster.status(PLUGINS, "train", phase="Pending")
    assert cluster.phases("train-0", "train-1") == ["Pending", "Pending"], "an incomplete gang started"
    cluster.pod("train-2", labels=label, scheduler="scheduler-plugins-scheduler")
    cluster.run("train-0", "train-1", "train-2")
    cluster.status(PLUGINS, "train", phase="Running", running=3)
    cluster.delete(PLUGINS, "train")
    for name in ("train-0", "train-1", "train-2"):
        cluster.delete("pods", name)
    suite.eventually("the PodGroup goes with its object", lambda: not cluster.get("podgroups", "train"), 30)


def a_gang_without_room_takes_none(cluster):
    cluster.object(PLUGINS, "wide", {"minMember": 3})
    for name in ("wide-0", "wide-1", "wide-2"):
        cluster.pod(name, cpu="20", labels={"scheduling.x-k8s.io/pod-group": "wide"})
    group = suite.eventually("it is told", lambda: [
        row for row in (cluster.get("podgroups", "wide") or {}).get("status", {}).get("conditions", [])
        if row["type"] == "PodGroupInitiallyScheduled" and row["status"] == "False"], 30)
    assert "minCount (3) cannot be satisfied" in group[0]["message"], group
    names = ("wide-0", "wide-1", "wide-2")
    assert not any(cluster.get("pods", name)["spec"].get("nodeName") for name in names)
    for name in ("wide-0", "wide-1", "wide-2"):
        cluster.delete("pods", name)


def volcano_may_make_its_pods_at_once(cluster):
    cluster.object(VOLCANO, "job", {"minMember": 2, "queue": "default"})
    cluster.status(VOLCANO, "job", phase="Inqueue")
    for name in ("job-0", "job-1"):
        cluster.pod(name, annotations={"scheduling.k8s.io/group-name": "job"}, scheduler="volcano")
    cluster.run("job-0", "job-1")
    cluster.status(VOLCANO, "job", phase="Running", running=2)


def kai_s_subgroups_start_together(cluster):
    cluster.object(KAI, "serve", {"minSubGroup": 2, "subGroups": [{"name": "lead", "minMember": 1},
                                                                  {"name": "work", "minMember": 2}]})
    def member(name, part):
        cluster.pod(name, labels={"kai.scheduler/subgroup-name": part},
                    annotations={"pod-group-name": "serve"})
    member("serve-l", "lead")
    member("serve-w0", "work")
    suite.eventually("the tree", lambda: cluster.get("compositepodgroups", "serve")
                     and cluster.get("podgroups", "serve-work"), 30)
    assert cluster.phases("serve-l", "serve-w0") == ["Pending", "Pending"], "an incomplete tree started"
    member("serve-w1", "work")
    cluster.run("serve-l", "serve-w0", "serve-w1")


def grove_s_gang_is_scored(cluster):
    cluster.object(GROVE, "gang", {
        "podgroups": [{"name": "gang-p", "podReferences": [], "minReplicas": 1,
                       "topologyConstraint": {"packConstraint": {"preferred": "kubernetes.io/hostname"}}}]})
    cluster.pod("gang-0", labels={"grove.io/podgang": "gang", "grove.io/podclique": "gang-p"})
    cluster.run("gang-0")
    cluster.status(GROVE, "gang", phase="Running", placementScore=1)


def a_field_that_cannot_be_followed_is_told(cluster):
    cluster.object(PLUGINS, "odd", {"minMember": -1})
    cluster.pod("odd-0", labels={"scheduling.x-k8s.io/pod-group": "odd"})
    event = suite.eventually("an event InvalidGroup", lambda: [
        event for event in call(cluster.path("events"), "GET")["items"]
        if event["reason"] == "InvalidGroup"], 30)
    assert "spec.minMember: must be a count of 0 or more" in event[0]["message"], event


def v1alpha2_is_served_and_stored_as_v1beta1(cluster):
    old = cluster.url + "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
    made = call(old, "POST", {
        "apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "ray"},
        "spec": {"podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}},
                 "schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": "PodGroup"}})
    assert made["spec"]["podGroupTemplateRef"]["workload"]["podGroupTemplateName"] == "t", made
    assert made["spec"]["disruptionMode"] == "PodGroup", made
    stored = cluster.get("podgroups", "ray")
    assert stored["spec"]["workloadRef"] == {"workloadName": "w", "templateName": "t"}, stored
    assert stored["spec"]["disruptionMode"] == {"all": {}}, stored


def main():
    options = suite.options(__doc__)
    flags = ["--nodes", "2"]
    for name in NAMES:
        flags += ["--scheduler-name", name]
    served = Served(options.berth, "up", [], flags)
    try:
        cluster = Cluster(served)
        for name in DEFINITIONS:
            path = served.url + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            answer = call(path, "POST", definition(name))
            assert answer["kind"] == "CustomResourceDefinition", answer
            suite.eventually(name + " is established", lambda: any(
                row["type"] == "Established" and row["status"] == "True"
                for row in call(path + "/" + name, "GET").get("status", {}).get("conditions") or []), 30)
        return suite.run((a_gang_of_scheduler_plugins_starts_whole, a_gang_without_room_takes_none,
                          volcano_may_make_its_pods_at_once, kai_s_subgroups_start_together,
                          grove_s_gang_is_scored, a_field_that_cannot_be_followed_is_told,
                          v1alpha2_is_served_and_stored_as_v1beta1), options.words, cluster)
    finally:
        served.close()


if __name__ == "__main__":
    sys.exit(main())
