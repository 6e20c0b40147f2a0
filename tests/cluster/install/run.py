#!/usr/bin/env python3
"""Berth's installation on a real API server with RBAC: install, the definition, rights, doctor, uninstall.

Starts the rig (../rig/rig.sh); where that is not built, it says so and skips. One case wants ../chart.
Scheduler and node agent run with the tokens of the accounts that `berth install` made, and with the arguments
of its workloads; the audit log says which rights they used. Only the standard library, kubectl and the rig.
"""
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from control_plane import CACHE, GATES, ControlPlane, run_suite
import suite
from suite import Failure, eventually

CHART_PROGRAM = CACHE / "chart"
CHART = suite.ROOT / "deploy" / "helm" / "berth"
QUIET_SECONDS = 15
REMINDER_SECONDS = 10
NAMESPACE = "berth-system"
CRD = "bindrequests.scheduling.berth.dev"
CRDS = (CRD, *(plural + ".scheduling.berth.dev" for plural in (
    "devicehealthpolicies", "nodedevicehealths", "topologies", "placementpolicies")))
# Granted, and not used by this workload: each with the reason why it is granted all the same.
RARE = {
    ("berth-scheduler", "", "pods", "get"): "reads back a write that conflicts or whose answer was lost",
    ("berth-scheduler", "", "persistentvolumeclaims", "get"): "the same",
    ("berth-scheduler", "", "persistentvolumes", "get"): "the same",
    ("berth-scheduler", "resource.k8s.io", "devicetaintrules", "get"): "the same",
    ("berth-scheduler", "resource.k8s.io", "resourceclaims", "get"): "the same",
    ("berth-scheduler", "resource.k8s.io", "resourceclaims", "patch"): "where the client cannot replace it",
    ("berth-scheduler", "scheduling.k8s.io", "podgroups", "get"): "the same",
    ("berth-scheduler", "scheduling.berth.dev", "bindrequests", "get"): "the same",
    ("berth-scheduler", "scheduling.berth.dev", "devicehealthpolicies", "get"): "the same",
    ("berth-scheduler", "scheduling.berth.dev", "topologies", "get"): "the same",
    ("berth-scheduler", "scheduling.k8s.io", "workloads", "get"): "only while a policy names an owner",
    ("berth-scheduler", "batch", "jobs", "get"): "the same",
    ("berth-scheduler", "apps", "statefulsets", "get"): "the same",
    ("berth-scheduler", "jobset.x-k8s.io", "jobsets", "get"): "the same",
    ("berth-scheduler", "leaderworkerset.x-k8s.io", "leaderworkersets", "get"): "the same",
    ("berth-scheduler", "scheduling.berth.dev", "placementpolicies", "get"): "the same",
}


class Rig(ControlPlane):
    """With what `berth install` made run here."""

    def start(self, account, kind, replaced):
        """Runs the account's workload here: its own arguments, but for those that name this machine."""
        container = self.get(kind, account, "-n", NAMESPACE)["spec"]["template"]["spec"]["containers"][0]
        arguments = [argument for argument in container["args"] if argument.split("=")[0] not in replaced]
        arguments += ["%s=%s" % item for item in replaced.items()]
        return self.start_berth(account, *arguments, "--kubeconfig",
                                self.kubeconfig_with_token(account, NAMESPACE))

    def scrape(self, account):
        """The status of the metrics of the account's part, asked for with the token of the account itself."""
        said = re.findall(r"health and metrics are on (\S+)", (self.folder / (account + ".log")).read_text())
        token = self.kubectl("create", "token", account, "-n", NAMESPACE).strip()
        request = urllib.request.Request(said[-1].replace("0.0.0.0", "127.0.0.1") + "/metrics",
                                         headers={"Authorization": "Bearer " + token})
        try:
            trusting = ssl._create_unverified_context()
            return urllib.request.urlopen(request, timeout=10, context=trusting).status
        except urllib.error.HTTPError as refused:
            return refused.code

    def requests(self, account):
        """(group, resource, verb, code) of all that the account sent."""
        user = "system:serviceaccount:%s:%s" % (NAMESPACE, account)
        sent = set()
        for event in self.audited():
            if event["user"].get("username") != user or "objectRef" not in event:
                continue
            about = event["objectRef"]
            resource = "/".join(filter(None, (about.get("resource"), about.get("subresource"))))
            sent.add((about.get("apiGroup", ""), resource, event["verb"], event["responseStatus"]["code"]))
        return sent


def applied(text):
    """{name: what became of it} of the lines of install and uninstall."""
    return {line.split()[0]: line.split()[1] for line in text.splitlines()}


def install_creates_and_then_changes_nothing(rig):
    first = applied(rig.run("install", "--node-agent", "--feature-gates", GATES))
    assert set(first.values()) == {"created"}, first
    again = applied(rig.run("install", "--node-agent", "--feature-gates", GATES))
    assert set(again.values()) == {"unchanged"} and again.keys() == first.keys(), again
    rig.kubectl("scale", "-n", NAMESPACE, "deployment/berth-scheduler", "--replicas=1")
    changed = rig.run("install", "--node-agent", "--feature-gates", GATES, "--image", "berth:next")
    line = "deployment.apps/berth-scheduler configured (left to who set it: .spec.replicas)"
    assert line in changed.splitlines(), changed
    deployment = rig.get("deployment", "berth-scheduler", "-n", NAMESPACE)["spec"]
    assert deployment["replicas"] == 1, deployment
    assert deployment["template"]["spec"]["containers"][0]["image"] == "berth:next", deployment
    dry = subprocess.run([rig.berth, "install", "--dry-run"], capture_output=True, text=True, check=True)
    assert "created" not in rig.kubectl("apply", "--dry-run=server", "--server-side", "--force-conflicts",
                                        "-f", "-", text=dry.stdout)


def the_definition_is_served_as_the_embedded_server_does(rig):
    request = {"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "BindRequest",
               "metadata": {"name": "x", "namespace": "default"},
               "spec": {"podName": "p", "podUID": "u", "selectedNode": "n1", "decisionID": "d1", "epoch": 2}}
    rig.kubectl("create", "-f", "-", text=json.dumps(request))
    header = rig.kubectl("get", "br", "-o", "wide").splitlines()[0].split()
    columns = ["NAME", "POD", "NODE", "PHASE", "STEP", "GROUP", "AGE", "DECISION", "REASON", "ATTEMPTS"]
    assert header == columns, header
    assert "x" in rig.kubectl("get", "br", "--field-selector", "spec.selectedNode=n1")

    def change(spec, refusal):
        told = rig.kubectl("patch", "br", "x", "--type=merge", "-p", json.dumps({"spec": spec}), good=None)
        assert (refusal or "patched") in told, told

    change({"selectedNode": "n2"}, "a decision is immutable")
    change({"podUID": "v"}, "the pod is immutable")
    change({"epoch": 1}, "must not be decreased")
    change({"epoch": 3, "withdrawn": True}, None)
    change({"withdrawn": False}, "a withdrawn decision stays withdrawn")
    change({"decisionID": "d2", "selectedNode": "n2"}, "a decision is immutable")
    rig.patch_status("br", "x", {"status": {"phase": "Failed", "decisionID": "d1"}})
    change({"decisionID": "d2", "selectedNode": "n2", "withdrawn": None}, None)
    change({"decisionID": "d3"}, "a decision is immutable")
    bad = {**request, "metadata": {"name": "bad", "namespace": "default"},
           "spec": {**request["spec"], "podName": "Not_A_Name", "epoch": -1}}
    told = rig.kubectl("create", "-f", "-", text=json.dumps(bad), good=False)
    assert "spec.podName" in told and "spec.epoch" in told, told
    rig.kubectl("delete", "br", "x")


def bound(rig, *names):
    def look():
        pods = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in rig.get("pods")["items"]}
        return all(pods.get(name) for name in names)
    eventually("bound: " + ", ".join(names), look)


def condition_of_claim(rig, name, kind):
    claim = rig.get("resourceclaim", name)
    result = claim["status"]["allocation"]["devices"]["results"][0]
    condition = {"type": "gpu.example.com/" + kind, "status": "True", "reason": "Told", "message": "",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}
    rig.patch_status("resourceclaim", name, {"status": {"devices": [
        {"driver": result["driver"], "pool": result["pool"], "device": result["device"],
         "conditions": [condition]}]}})


def parked_on(rig, other_than=None):
    """The device that the pod `fabric` waits for."""
    def look():
        requests = [item for item in rig.get("br")["items"] if item["spec"].get("podName") == "fabric"]
        allocation = rig.get("resourceclaim", "card").get("status", {}).get("allocation")
        if not requests or not allocation:
            return None
        device = allocation["devices"]["results"][0]["device"]
        waits = requests[0].get("status", {}).get("step") == "WaitingForDevices"
        return device if waits and device != other_than else None
    return eventually("the binder waits for a card", look)


def leave_what_a_killed_scheduler_leaves(rig):
    """A gang of which one request of two was written, and the claim of a try that came to nothing."""
    member, group = rig.get("pod", "train-0")["metadata"], rig.get("podgroup", "train")["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": member["name"], "uid": member["uid"],
             "controller": True}
    rig.kubectl("create", "-f", "-", text=json.dumps(
        {"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "BindRequest",
         "metadata": {"name": "train-0-" + member["uid"][:8], "namespace": "default",
                      "ownerReferences": [owner]},
         "spec": {"podName": "train-0", "podUID": member["uid"], "selectedNode": "n1", "decisionID": "d0",
                  "schedulerName": "berth", "group": {"name": "train", "uid": group["uid"], "size": 2}}}))
    large = rig.get("pod", "too-large")["metadata"]
    rig.kubectl("create", "-f", "-", text=json.dumps(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
         "metadata": {"name": "left-over", "namespace": "default",
                      "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
                      "ownerReferences": [{**owner, "name": "too-large", "uid": large["uid"]}]},
         "spec": {"devices": {"requests": [
             {"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}]}}}))


def bind_volumes(rig):
    """Does what the volume controller and a provisioner do, once the binder has asked for it."""
    rig.patch_status("pv", "disk", {"status": {"phase": "Available"}})

    def asked():
        scratch, disk = rig.get("pvc", "scratch")["metadata"], rig.get("pv", "disk")
        node = scratch.get("annotations", {}).get("volume.kubernetes.io/selected-node")
        return node == "n1" and disk["spec"].get("claimRef", {}).get("uid") and disk
    disk = eventually("a volume is reserved and another one asked for", asked)
    spec = {key: disk["spec"][key] for key in ("storageClassName", "accessModes", "capacity", "hostPath")}
    claim = rig.get("pvc", "scratch")["metadata"]
    spec.update({"storageClassName": "made", "claimRef": {"namespace": "default", "name": "scratch",
                                                          "uid": claim["uid"]}})
    rig.kubectl("create", "-f", "-", text=json.dumps(
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "made"}, "spec": spec}))
    for name, volume in (("data", "disk"), ("scratch", "made")):
        rig.kubectl("patch", "pvc", name, "-p", json.dumps(
            {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
             "spec": {"volumeName": volume}}))


def the_scheduler_lives_on_its_rights(rig):
    rig.node("n1", {"cpu": "16", "memory": "64Gi", "pods": "110"})
    rig.kubectl("apply", "--server-side", "-f", str(HERE / "workload.yaml"))
    leave_what_a_killed_scheduler_leaves(rig)
    rig.start("berth-scheduler", "deployment", {"--listen": "0.0.0.0:0"})
    bound(rig, "plain", "claims", "extended", "train-0", "train-1")
    bind_volumes(rig)
    bound(rig, "volumes")
    first = parked_on(rig)
    condition_of_claim(rig, "card", "Broken")
    parked_on(rig, other_than=first)
    condition_of_claim(rig, "card", "Attached")
    bound(rig, "fabric")
    events = rig.get("events")["items"]
    assert any(event["reason"] == "FailedScheduling" for event in events), events
    conditions = rig.get("pod", "too-large")["status"]["conditions"]
    assert any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions), conditions
    eventually("the claim of the earlier try is deleted", lambda: "left-over" not in rig.kubectl(
        "get", "resourceclaims", "-o", "name"))
    policies_act_on_reports(rig)
    assert_rights(rig, "berth-scheduler")


def policies_act_on_reports(rig):
    """On two devices of no slice; the definitions refuse what the embedded server refuses."""
    def policy(**spec):
        return json.dumps({"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "DeviceHealthPolicy",
                           "metadata": {"name": "sick"}, "spec": {"driver": "sick.example.com", **spec}})

    for spec, refusal in (({"effect": "NoExecute"}, "effect NoExecute needs a bound"),
                          ({"effect": "Sometimes"}, "Unsupported value"),
                          ({"effect": "None", "holdFor": "25h"}, "must be a duration from 0s to 24h"),
                          ({"effect": "None", "holdFor": "soon"}, "spec.holdFor"),
                          ({"effect": "None", "budgets": {"rack": 1}}, "budgets.rack needs rackLabel")):
        told = rig.kubectl("create", "-f", "-", text=policy(**spec), good=False)
        assert refusal in told, told
    rig.kubectl("create", "-f", "-",
                text=policy(effect="NoExecute", recoverAfter="1s", budgets={"cluster": 1}))

    def report(health):
        devices = [{"driver": "sick.example.com", "pool": "a/b", "device": "gpu-%d" % n, "health": health}
                   for n in (1, 2)]
        return {"healthy": 0, "unhealthy": 0, "unknown": 0, health.lower(): 2, "devices": devices}

    rig.kubectl("create", "-f", "-", text=json.dumps(
        {"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "NodeDeviceHealth",
         "metadata": {"name": "n1"}, "spec": report("Unhealthy")}))
    told = rig.kubectl("patch", "ndh", "n1", "--type=merge", "-p", json.dumps({"spec": report("Fine")}),
                       good=False)
    assert "spec.devices[0].health" in told, told

    def effects():
        return sorted(rule["spec"]["taint"]["effect"] for rule in rig.get("devicetaintrules")["items"])

    eventually("one device is within the budget", lambda: effects() == ["NoExecute", "NoSchedule"])
    rig.kubectl("patch", "dhp", "sick", "--type=merge", "-p", json.dumps({"spec": {"effect": "NoSchedule"}}))
    eventually("the policy changed its mind", lambda: effects() == ["NoSchedule", "NoSchedule"])
    columns = [line.split() for line in rig.kubectl("get", "dhp").splitlines()]
    assert columns[0] == ["NAME", "DRIVER", "HEALTH", "EFFECT", "MATCHING", "TAINTED", "OVER-BUDGET",
                          "AGE"], columns
    rig.kubectl("patch", "ndh", "n1", "--type=merge", "-p", json.dumps({"spec": report("Healthy")}))
    eventually("the taints are lifted", lambda: effects() == [])
    rig.kubectl("delete", "dhp/sick", "ndh/n1")


def the_node_agent_lives_on_its_rights(rig):
    kubelet = rig.folder / "kubelet"
    (kubelet / "plugins_registry").mkdir(parents=True)
    rig.start("berth-node-agent", "daemonset",
              {"--listen": "0.0.0.0:0", "--node": "n1", "--kubelet-dir": kubelet,
               "--nodes-dir": rig.folder / "nodes"})
    driver = subprocess.Popen([rig.berth.parent / "health-driver", "--registry", kubelet / "plugins_registry",
                               "--driver", "gpu.example.com", "--pool", "n1", "--device", "gpu-1"],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    rig.parts.append(driver)
    for health in ("Healthy", "Unhealthy", "Healthy", "Unhealthy", "Healthy"):
        driver.stdin.write("gpu-1 %s told\n" % health)
        driver.stdin.flush()
        eventually("the report says " + health, lambda health=health: [
            device["health"] for report in rig.get("ndh")["items"]
            for device in report["spec"].get("devices", [])] == [health])
    columns = rig.kubectl("get", "ndh").splitlines()[0].split()
    assert columns == ["NAME", "HEALTHY", "UNHEALTHY", "UNKNOWN", "OBSERVED", "AGE"], columns
    assert rig.get("ndh", "n1")["metadata"]["ownerReferences"][0]["kind"] == "Node"
    assert_rights(rig, "berth-node-agent")


def granted_rights(rig, account):
    """(group, resource, verb) of the roles as they are stored."""
    rules = rig.get("clusterrole", account)["rules"]
    for role in rig.get("role", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=" + account)["items"]:
        rules += role["rules"]
    return {(group, resource, verb) for rule in rules for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"]}


def assert_rights(rig, account):
    """Nothing refused; nothing granted that was not used, but for what RARE names."""
    # An account may not read metrics; to know that, its part asks who it is and what it may.
    assert rig.scrape(account) == 403
    granted = granted_rights(rig, account)
    rare = {row[1:] for row in RARE if row[0] == account}

    def used_rights():
        used = {request[:3] for request in rig.requests(account)}
        # The API server asks for this one by itself when a status write changes an allocation.
        return used | {("resource.k8s.io", "resourceclaims/binding", verb) for group, resource, verb in used
                       if resource == "resourceclaims/status"}

    # Some come with time, as renewing the Lease does.
    limit = time.monotonic() + QUIET_SECONDS
    while granted - used_rights() - rare and time.monotonic() < limit:
        time.sleep(1)
    used = used_rights()
    unused = sorted(granted - used - rare)
    assert not unused, "granted and not used: %s" % unused
    refused = sorted(request for request in rig.requests(account) if request[3] in (401, 403))
    assert not refused, "refused: %s" % refused
    needless = sorted(rare & used)
    if needless:
        print("      RARE names what was used this time: %s" % needless)
    print("      %s: %d rights granted, %d used, %d rare, none refused" %
          (account, len(granted), len(granted & used), len(rare - used)))


def doctor_tells_what_is_wrong(rig):
    """The pods do not run here, so the API server is told that they do."""
    rig.patch_status("deployment -n %s" % NAMESPACE, "berth-scheduler",
                     {"status": {"replicas": 1, "readyReplicas": 1}})
    rig.kubectl("apply", "-f", "-", text=json.dumps(
        {"apiVersion": "v1", "kind": "Pod",
         "metadata": {"name": socket.gethostname(), "namespace": NAMESPACE,
                      "labels": {"app.kubernetes.io/name": "berth-scheduler"}},
         "spec": {"containers": [{"name": "c", "image": "berth"}]}}))
    well = rig.run("doctor")
    assert re.fullmatch(r"Berth can schedule on https://\S+ \(Kubernetes 1\.37\)\n", well), well
    rig.kubectl("delete", "clusterrole", "berth-scheduler")
    told = rig.run("doctor", code=1)
    assert "blocks  ServiceAccount berth-system/berth-scheduler: may not list, watch nodes" in told, told
    told = rig.run("doctor", code=1, kubeconfig=rig.kubeconfig_with_token("berth-scheduler", NAMESPACE))
    assert "blocks  these credentials: may not list, watch nodes" in told, told
    field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/group/properties/uid"
    rig.kubectl("patch", "crd", CRD, "--type=json", "-p", json.dumps([{"op": "remove", "path": field}]))
    assert "is older: it drops what this Berth writes (spec.group.uid)" in rig.run("doctor", code=1)
    slice_file = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "half"},
                  "spec": {"driver": "gpu.example.com", "nodeName": "n1", "devices": [],
                           "pool": {"name": "half", "generation": 1, "resourceSliceCount": 2}}}
    rig.kubectl("apply", "-f", "-", text=json.dumps(slice_file))
    assert "pool half of driver gpu.example.com: has 1 of 2" in rig.run("doctor", code=1)
    rig.kubectl("delete", "resourceslice", "half")
    restored = applied(rig.run("install", "--node-agent", "--feature-gates", GATES))
    assert restored["clusterrole.rbac.authorization.k8s.io/berth-scheduler"] == "created", restored
    assert restored["customresourcedefinition.apiextensions.k8s.io/" + CRD] == "configured", restored
    rig.run("doctor")
    assert "does not answer" in rig.run("doctor", code=1, kubeconfig=unreachable(rig))


def unreachable(rig):
    config = json.loads(rig.kubectl("config", "view", "--raw", "-o", "json"))
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    file = rig.folder / "unreachable.json"
    file.write_text(json.dumps(config))
    return file


def until_nothing_is_left(rig, kinds):
    """Waits for the end of all of Berth's objects of these kinds. kube-apiserver 1.37 may lose the deletion
    of a definition that conflicted with another write of it, until it looks again after 5 minutes; each
    change of the definition reminds it."""
    reminded = time.monotonic()

    def is_gone():
        nonlocal reminded
        left = [name for name in rig.kubectl("get", kinds, "-o", "name").split() if "berth" in name]
        if left and time.monotonic() > reminded + REMINDER_SECONDS:
            reminded = time.monotonic()
            for name in left:
                rig.kubectl("annotate", "--overwrite", name, "reminded=%d" % reminded, good=None)
        return not left

    eventually("nothing is left of " + kinds, is_gone)


def uninstall_leaves_nothing_but_what_is_used(rig):
    rig.kubectl("create", "-f", "-", text=json.dumps(
        {"apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "BindRequest",
         "metadata": {"name": "left", "namespace": "default"},
         "spec": {"podName": "p", "podUID": "u", "selectedNode": "n1"}}))
    removed = applied(rig.run("uninstall"))
    crd = "customresourcedefinition.apiextensions.k8s.io/" + CRD
    assert removed.pop(crd) == "kept" and set(removed.values()) == {"deleted"}, removed
    removed = applied(rig.run("uninstall", "--crds"))
    assert removed[crd] == "deleted", removed
    until_nothing_is_left(rig, "crd,ns,clusterroles,clusterrolebindings")
    assert rig.run("uninstall") == ""


def contents(rig, names):
    """What the named objects say, without what the API server adds."""
    said = {}
    for name in names:
        stored = rig.get(name, "-n", NAMESPACE)
        said[name] = {key: value for key, value in stored.items() if key not in ("metadata", "status")}
    return said


def the_chart_gives_the_same_objects(rig):
    """Helm's own library installs, upgrades and takes away; then the command finds nothing of its own."""
    flags = ("--node-agent", "--feature-gates", GATES)
    values = ("nodeAgent.enabled=true", "featureGates=" + GATES.replace(",", "\\,"))

    def chart(*arguments):
        done = subprocess.run([CHART_PROGRAM, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "KUBECONFIG": str(rig.kubeconfig)})
        if done.returncode != 0:
            raise Failure("chart %s: %s" % (arguments[0], done.stderr))
        return done.stdout

    assert "[ERROR]" not in chart("lint", CHART), chart("lint", CHART)
    names = list(applied(rig.run("install", *flags)))
    by_command = contents(rig, names)
    rig.run("uninstall", "--crds")
    until_nothing_is_left(rig, "crd,ns")
    assert "revision 1 deployed" in chart("install", CHART, "berth", NAMESPACE, *values)
    by_chart = contents(rig, names)
    for name, said in by_command.items():
        assert by_chart[name] == said, "%s: %s, and by the chart %s" % (name, said, by_chart[name])
    assert "revision 2 deployed" in chart("upgrade", CHART, "berth", NAMESPACE, "replicas=3")
    assert rig.get("deployment", "berth-scheduler", "-n", NAMESPACE)["spec"]["replicas"] == 3
    assert "berth-node-agent" not in rig.kubectl("get", "ds,sa,clusterrole", "-A", "-o", "name")
    assert set(applied(rig.run("uninstall")).values()) == {"kept"}
    chart("uninstall", "berth", NAMESPACE)
    left = rig.kubectl("get", "crd,deploy,sa,svc,clusterrole,clusterrolebinding", "-A", "-o", "name")
    assert [line for line in left.splitlines() if "berth" in line] == [
        "customresourcedefinition.apiextensions.k8s.io/" + crd for crd in CRDS], left


def the_page_is_right(rig):
    """Every `$ berth` line of docs/install.md, in order; what the page shows of the first one's output."""
    definitions = ["crd/" + crd for crd in CRDS]
    rig.kubectl("delete", "--wait=false", "--ignore-not-found", *definitions, "ns/" + NAMESPACE)
    until_nothing_is_left(rig, "crd,ns")
    page = (suite.ROOT / "docs" / "install.md").read_text()
    commands = re.findall(r"^    \$ berth (.*)\n((?:    (?!\$).*\n)*)", page, re.MULTILINE)
    verbs = [words.split()[0] for words, _ in commands]
    assert verbs == ["install", "install", "doctor", "uninstall"], commands
    for words, shown in commands:
        doctor = words == "doctor"  # whose findings on the page are examples; here no pod runs
        said = rig.run(*words.split(), code=1 if doctor else 0)
        missing = [line for line in shown.split("\n") if line.strip(" …") and line.strip() not in said]
        assert doctor or not missing, (missing, said)


CASES = (install_creates_and_then_changes_nothing, the_definition_is_served_as_the_embedded_server_does,
         the_scheduler_lives_on_its_rights, the_node_agent_lives_on_its_rights, doctor_tells_what_is_wrong,
         uninstall_leaves_nothing_but_what_is_used, the_chart_gives_the_same_objects,
         the_page_is_right)


def main():
    cases = CASES
    if not CHART_PROGRAM.exists():
        print("SKIP %s: not built: %s" % (the_chart_gives_the_same_objects.__name__, CHART_PROGRAM))
        cases = [case for case in CASES if case != the_chart_gives_the_same_objects]
    return run_suite(__doc__, "tests/cluster/install", cases, Rig, "--kcm", "--gc")


if __name__ == "__main__":
    sys.exit(main())
