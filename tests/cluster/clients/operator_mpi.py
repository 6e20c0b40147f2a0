"""The MPI operator with gang scheduling, unchanged, with its roles, on `berth up`."""
import socket

from operator_objects import RACKS, coscheduling_groups, ended, pod_template, pods_of, running
from operators import Operator, with_operators
from programs import Skip, eventually

PORT = 8080  # of its health check; no flag changes it


class MpiOperator(Operator):
    name, module_path = "mpi-operator", "github.com/kubeflow/mpi-operator"
    namespace = account = "mpi-operator"
    probe_path = "/healthz"

    def __init__(self):
        super().__init__()
        self.probe_port = PORT
        with socket.socket() as taken:
            if taken.connect_ex(("127.0.0.1", PORT)) == 0:
                raise Skip("another program listens at port %d, which the MPI operator needs" % PORT)

    def kustomization(self, _folder):
        return self.source / "manifests" / "overlays" / "standalone"

    def install(self, server, folder):
        coscheduling_groups(server)
        super().install(server, folder)

    def arguments(self, _folder, _certificates):
        return "-gang-scheduling=berth", "-lock-namespace=" + self.namespace


def mpi_job(name, workers, cores, *launcher):
    def replica(count, *command):
        template = pod_template(*command)
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": str(cores)}}
        return {"replicas": count, "template": template}
    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": name},
            "spec": {"runPolicy": {"cleanPodPolicy": "Running"},
                     "mpiReplicaSpecs": {"Launcher": replica(1, *launcher),
                                         "Worker": replica(workers, "/usr/sbin/sshd", "-De")}}}


@with_operators(MpiOperator, flags=RACKS)
def mpi_jobs_start_whole_one_after_the_other(server):
    """Nine nodes of 32 cores hold nine pods of 20, and each job has five with its launcher."""
    server.create(mpi_job("first", 4, 20, "sleep", "1000"))
    running(server, "training.kubeflow.org/job-name=first", 5)
    server.create(mpi_job("second", 4, 20, "sleep", "2"))
    of_second = "training.kubeflow.org/job-name=second"
    eventually("the pods of the second are made", lambda: len(pods_of(server, of_second)) == 5)
    eventually("its group waits", lambda: any(
        event["reason"] == "FailedScheduling" and event["involvedObject"]["name"].startswith("second-")
        for event in server.get("events")["items"]))
    assert not [pod for pod in pods_of(server, of_second) if pod["spec"].get("nodeName")]
    server.kubectl("delete", "mpijob", "first")
    ended(server, "mpijob", "second", "Succeeded")
    eventually("its workers are removed", lambda: all(
        pod["status"]["phase"] == "Succeeded" for pod in pods_of(server, of_second)))


MPI_CASES = (mpi_jobs_start_whole_one_after_the_other,)
