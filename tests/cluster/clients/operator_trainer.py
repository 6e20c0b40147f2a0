"""Kubeflow Trainer over JobSet, unchanged, with webhooks and roles, on `berth up`."""
import json
import os

from operator_jobset import JobSet, member_of
from operator_objects import (RACKS, condition, coscheduling_groups, ended, pod_template, pods_of, running,
                              variables)
from operators import Operator, with_operators
from programs import eventually, list_of


class Trainer(Operator):
    name, module_path = "trainer", "github.com/kubeflow/trainer/v2"
    namespace, service = "kubeflow-system", "kubeflow-trainer-controller-manager"
    account = service
    webhooks = ("mutatingwebhookconfiguration/defaulter.trainer.kubeflow.org",
                "validatingwebhookconfiguration/validator.trainer.kubeflow.org")

    def kustomization(self, folder):
        """Its own overlay, without the one that names JobSet's release by a URL."""
        base = os.path.relpath(self.source / "manifests" / "base", folder)
        parts = [os.path.join(base, part) for part in ("crds", "manager", "rbac", "webhook")]
        (folder / "namespace.yaml").write_text(json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}))
        (folder / "kustomization.yaml").write_text(json.dumps(
            {"namespace": self.namespace, "resources": [*parts, "namespace.yaml"]}))
        return folder

    def install(self, server, folder):
        coscheduling_groups(server)
        super().install(server, folder)

    def configuration(self, certificates):
        """It has no certDir of its own, and no default for the election."""
        common = self.common(certificates)
        del common["webhook"]["certDir"]
        common["leaderElection"] |= {"resourceName": "trainer.kubeflow.org", "leaseDuration": "15s",
                                     "renewDeadline": "10s", "retryPeriod": "2s"}
        return {**common, "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
                "certManagement": {"enable": False}}


def training_runtime(name, *command, **spec):
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    template = pod_template(*command)
    template["spec"]["containers"][0]["name"] = "node"
    job = {"name": "node", "template": {"metadata": {"labels": label},
                                        "spec": {"backoffLimit": 0, "template": template}}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
            "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}},
            "spec": {"mlPolicy": {"numNodes": 1, "torch": {}},
                     "template": {"spec": {"replicatedJobs": [job]}}, **spec}}


def train_job(name, runtime, nodes, **trainer):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": name},
            "spec": {"runtimeRef": {"name": runtime}, "trainer": {"numNodes": nodes, **trainer}}}


@with_operators(JobSet, Trainer, flags=RACKS)
def trainer_makes_jobsets_that_end(server):
    server.create(training_runtime("torch", "sleep", "2"), training_runtime("broken", "false"))
    refused = server.kubectl("create", "-f", "-", text=list_of([train_job("lost", "missing", 1)]), good=False)
    assert 'admission webhook "validator.trainjob.trainer.kubeflow.org" denied' in refused, refused
    server.create(train_job("done", "torch", 3), train_job("lost", "broken", 1))
    pods = running(server, member_of("done"), 3)
    for pod in pods:
        env = variables(pod)
        assert env["PET_NNODES"] == "3" and env["PET_MASTER_ADDR"] == "done-node-0-0.done", env
    ended(server, "trainjob", "done", "Complete")
    ended(server, "trainjob", "lost", "Failed")
    assert condition(server.get("jobset", "done"), "Completed")
    server.kubectl("delete", "trainjob", "--all")
    eventually("nothing is left of them", lambda: not server.get("jobsets,jobs,pods")["items"])


@with_operators(JobSet, Trainer, flags=RACKS)
def trainer_asks_for_all_pods_or_none(server):
    """Nine nodes of 32 cores hold nine pods of 20."""
    policy = {"podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": 100}}}
    server.create(training_runtime("gang", "sleep", "1000", **policy))
    big = {"resourcesPerNode": {"requests": {"cpu": "20"}}}
    server.create(train_job("first", "gang", 6, **big))
    running(server, member_of("first"), 6)
    server.create(train_job("second", "gang", 4, **big))
    waiting = eventually("the second is made", lambda: len(pods_of(server, member_of("second"))) == 4
                         and pods_of(server, member_of("second")))
    eventually("its group is refused", lambda: any(
        event["reason"] == "FailedScheduling" for event in server.get("events")["items"]
        if event["involvedObject"]["name"] in [pod["metadata"]["name"] for pod in waiting]))
    assert not [pod for pod in pods_of(server, member_of("second")) if pod["spec"].get("nodeName")]
    server.kubectl("delete", "trainjob", "first")
    running(server, member_of("second"), 4)
    group = eventually("its status says so", lambda: server.get("podgroups.scheduling.x-k8s.io", "second")[
        "status"].get("phase") == "Running")
    assert group


TRAINER_CASES = (trainer_makes_jobsets_that_end, trainer_asks_for_all_pods_or_none)
