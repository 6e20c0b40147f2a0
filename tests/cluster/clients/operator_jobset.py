"""JobSet, unchanged, with its webhooks and roles, on `berth up`."""
from operator_objects import RACK, RACKS, ended, label_racks, pod_template, pods_of, racks, running
from operators import Operator, with_operators
from programs import eventually, list_of


class JobSet(Operator):
    name, module_path = "jobset", "sigs.k8s.io/jobset"
    namespace, service, account = "jobset-system", "jobset-webhook-service", "jobset-controller-manager"
    webhooks = ("mutatingwebhookconfiguration/jobset-mutating-webhook-configuration",
                "validatingwebhookconfiguration/jobset-validating-webhook-configuration")

    def configuration(self, certificates):
        return {**self.common(certificates), "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
                "internalCertManagement": {"enable": False}}


def replicated(name, *command, replicas=1, pods=1, template=None, **more):
    job = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "completionMode": "Indexed",
           "template": template or pod_template(*command)}
    return {"name": name, "replicas": replicas, "template": {"spec": job}, **more}


def jobset(name, *jobs, annotations=None, **spec):
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"replicatedJobs": list(jobs), **spec}}


def member_of(name):
    return "jobset.sigs.k8s.io/jobset-name=" + name


@with_operators(JobSet, flags=RACKS)
def jobset_runs_ends_and_restarts_its_jobs(server):
    refused = server.kubectl("create", "-f", "-", good=False, text=list_of([
        jobset("wrong", replicated("a", "true"), successPolicy={"operator": "All",
                                                                "targetReplicatedJobs": ["missing"]})]))
    assert 'The JobSet "wrong" is invalid' in refused and "'missing' does not appear" in refused, refused
    server.create(
        jobset("done", replicated("first", "sleep", "1", pods=2), replicated("second", "sleep", "1")),
        jobset("chosen", replicated("leader", "sleep", "1000"), replicated("workers", "sleep", "1", pods=2),
               successPolicy={"operator": "All", "targetReplicatedJobs": ["workers"]}),
        jobset("broken", replicated("leader", "sh", "-c", "sleep 1; exit 1"),
               replicated("workers", "sleep", "1000", pods=2), failurePolicy={"maxRestarts": 2}),
        jobset("ordered", replicated("init", "sleep", "1"),
               replicated("after", "sleep", "1", dependsOn=[{"name": "init", "status": "Complete"}])),
        jobset("led", replicated("workers", "sleep", "1000", pods=3), replicated("driver", "sleep", "1000"),
               coordinator={"replicatedJob": "driver", "jobIndex": 0, "podIndex": 0}))
    for name in ("done", "chosen", "ordered"):
        ended(server, "jobset", name, "Completed")
    broken = ended(server, "jobset", "broken", "Failed")
    assert broken["status"]["restarts"] == 2, broken["status"]
    jobs = {job["metadata"]["name"]: job["status"]
            for job in server.get("jobs", "-l", member_of("ordered"))["items"]}
    assert jobs["ordered-init-0"]["completionTime"] <= jobs["ordered-after-0"]["startTime"], jobs
    led = running(server, member_of("led"), 4)
    coordinators = {pod["metadata"]["annotations"].get("jobset.sigs.k8s.io/coordinator") for pod in led}
    assert coordinators == {"led-driver-0-0.led"}, coordinators
    assert server.get("service", "led")["spec"]["clusterIP"] == "None"
    assert {(pod["spec"]["hostname"], pod["spec"]["subdomain"]) for pod in led} == {
        *(("led-workers-0-%d" % index, "led") for index in range(3)), ("led-driver-0-0", "led")}
    server.kubectl("patch", "jobset", "led", "--type=merge", "-p", '{"spec": {"suspend": true}}')
    eventually("a suspended JobSet has no pod", lambda: not pods_of(server, member_of("led")))
    server.kubectl("patch", "jobset", "led", "--type=merge", "-p", '{"spec": {"suspend": false}}')
    running(server, member_of("led"), 4)
    server.kubectl("delete", "jobset", "--all")
    eventually("nothing is left of them", lambda: not server.get("jobs,pods")["items"])


@with_operators(JobSet, flags=RACKS)
def jobset_places_each_job_in_a_rack_of_its_own(server):
    label_racks(server)
    server.create(jobset("apart", replicated("workers", "sleep", "1000", replicas=3, pods=3),
                         annotations={"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK}))
    running(server, member_of("apart"), 9)
    used = [racks(server, pods_of(server, member_of("apart") + ",jobset.sigs.k8s.io/job-index=%d" % index))
            for index in range(3)]
    assert sorted(map(sorted, used)) == [["rack-0"], ["rack-1"], ["rack-2"]], used


@with_operators(JobSet, flags=RACKS)
def jobset_is_one_gang_in_one_rack(server):
    label_racks(server)
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "one"},
             "spec": {"schedulingPolicy": {"gang": {"minCount": 6}},
                      "schedulingConstraints": {"topology": [{"key": RACK}]}}}
    template = pod_template("sleep", "1000", schedulingGroup={"podGroupName": "one"})
    server.create(group, jobset("one", replicated("a", template=template, pods=3),
                                replicated("b", template=template, pods=3)))
    pods = running(server, member_of("one"), 6)
    assert len(racks(server, pods)) == 1, racks(server, pods)


JOBSET_CASES = (jobset_runs_ends_and_restarts_its_jobs, jobset_places_each_job_in_a_rack_of_its_own,
                jobset_is_one_gang_in_one_rack)
