#!/usr/bin/env python3
"""Runs `berth apiserver`, `scheduler`, `binder` and `node-agent` as processes that work together.

Only the standard library. The closing line is "N passed, M failed"; the exit code is 0 when nothing failed.
"""
import json
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from self_signed import make_certificate
from served import call
from suite import eventually

ROOT = suite.ROOT
WAIT_SECONDS_MAX = 60
PODS = "/api/v1/namespaces/default/pods"
BIND_REQUESTS = "/apis/scheduling.berth.dev/v1alpha1/bindrequests"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth-scheduler"


class Process:
    """One `berth` process; `pattern` finds in its output where it serves."""

    def __init__(self, cluster, name, arguments, pattern):
        self.log = pathlib.Path(cluster.scratch.name, "%s-%d.log" % (name, len(cluster.processes)))
        with open(self.log, "w") as out:
            self.process = subprocess.Popen([str(cluster.berth)] + arguments, stdout=out, stderr=out)
        cluster.processes.append(self)
        self.url = eventually(name + " starts", lambda: self.look_for(pattern))

    def look_for(self, pattern):
        if self.process.poll() is not None:
            raise AssertionError("it ended: " + self.log.read_text()[-500:])
        found = re.search(pattern, self.log.read_text())
        return found and found[1]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.terminate()
        return self.process.wait(timeout=WAIT_SECONDS_MAX)

    def page(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def metric(self, line):
        found = re.search("^" + re.escape(line) + " ([0-9]+)$", self.page("/metrics")[1], re.MULTILINE)
        return int(found[1]) if found else None

    def ready(self):
        eventually("it is ready", lambda: self.page("/readyz")[0] == 200)
        return self


class Cluster:
    """An API server of its own and whatever parts a case starts; everything ends with it."""

    def __init__(self, berth):
        self.berth = berth
        self.scratch = tempfile.TemporaryDirectory(prefix="berth-parts-")
        self.processes = []

    def __enter__(self):
        try:
            self.kubeconfig = str(pathlib.Path(self.scratch.name, "kubeconfig"))
            self.audit = pathlib.Path(self.scratch.name, "audit")
            self.data = str(pathlib.Path(self.scratch.name, "data"))
            self.server = self.serve("127.0.0.1:0")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.process.poll() is None:
                process.kill()
        self.scratch.cleanup()

    def serve(self, listen):
        arguments = ["apiserver", "--insecure", "--listen", listen, "--data-dir", self.data,
                     "--kubeconfig", self.kubeconfig, "--audit-log", str(self.audit)]
        return Process(self, "apiserver", arguments, r"API on (\S+)")

    def part(self, *arguments):
        return Process(self, arguments[0], list(arguments) + ["--kubeconfig", self.kubeconfig],
                       r"metrics are on (\S+)")

    def call(self, method, path, body=None, content="application/json"):
        return call(self.server.url + path, method, body, content)

    def make(self, path, body):
        made = self.call("POST", path, body)
        assert made["kind"] != "Status", made
        return made

    def register_node(self, name):
        """One that is not ready."""
        self.make("/api/v1/nodes", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}})

    def make_node_ready(self, name):
        amounts = {"cpu": "8", "memory": "16Gi", "pods": "100"}
        status = {"status": {"capacity": amounts, "allocatable": amounts,
                             "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}
        answer = self.call("PATCH", "/api/v1/nodes/%s/status" % name, status, "application/merge-patch+json")
        assert answer["kind"] == "Node", answer

    def add_node(self, name):
        self.register_node(name)
        self.make_node_ready(name)

    def add_pod(self, name, scheduler="berth"):
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}
        self.make(PODS, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name},
                         "spec": {"schedulerName": scheduler, "containers": [container]}})

    def pod(self, name):
        return self.call("GET", PODS + "/" + name)

    def node_of(self, name):
        return self.pod(name)["spec"].get("nodeName")

    def bound(self, *names):
        return eventually("bound: " + " ".join(names), lambda: all(self.node_of(name) for name in names))

    def bindings(self, name):
        """The codes of the answers to all bindings of this pod."""
        lines = [json.loads(line) for line in self.audit.read_text().splitlines()]
        return [line["code"] for line in lines
                if line["resource"] == "pods/binding" and line["name"] == name]


def a_pod_is_placed_and_bound_by_two_processes(berth):
    with Cluster(berth) as cluster:
        scheduler = cluster.part("scheduler").ready()
        cluster.register_node("n1")
        cluster.add_pod("early")
        eventually("early waits for n1", lambda: "0/1 nodes" in str(cluster.pod("early")["status"]))
        # It lists the pod with its condition. A binder that watched already could see the BindRequest first,
        # and its binding would name the version before: refused, and sent again.
        binder = cluster.part("binder").ready()
        cluster.make_node_ready("n1")
        cluster.add_pod("late")
        cluster.bound("early", "late")
        assert cluster.bindings("early") == [201], cluster.bindings("early")
        cluster.add_pod("foreign", "somebody-else")
        cluster.add_pod("after")
        cluster.bound("after")
        assert not cluster.node_of("foreign")
        scheduled = 'scheduler_schedule_attempts_total{result="scheduled",profile="berth"}'
        eventually("three attempts are counted", lambda: scheduler.metric(scheduled) == 3)
        assert binder.metric('berth_writes_total{loop="controllers",result="refused"}') == 0
        waited = 'scheduler_dra_bindingconditions_allocations_total{status="timeout"}'
        assert (binder.metric(waited), scheduler.metric(waited)) == (0, None)
        assert scheduler.page("/healthz") == (200, "ok")
        bound = ('apiserver_request_total{verb="POST",group="",resource="pods",'
                 'subresource="binding",code="201"}')
        assert cluster.server.metric(bound) == 3
        assert cluster.server.metric('apiserver_longrunning_requests{verb="WATCH"}') > 0
        assert scheduler.end() == 0 and binder.end() == 0


def a_killed_binder_is_followed_by_another(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        cluster.part("scheduler", "--leader-elect=false").ready()
        binder = cluster.part("binder", "--leader-elect=false").ready()
        names = ["p%d" % i for i in range(30)]
        for name in names[:15]:
            cluster.add_pod(name)
        binder.kill()
        for name in names[15:]:
            cluster.add_pod(name)
        eventually("a bind request waits", lambda: cluster.call("GET", BIND_REQUESTS)["items"])
        again = cluster.part("binder", "--leader-elect=false").ready()
        cluster.bound(*names)
        assert again.metric('berth_writes_total{loop="controllers",result="refused"}') == 0
        for name in names:
            assert cluster.bindings(name) == [201], (name, cluster.bindings(name))


def one_of_two_schedulers_leads(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        leads = 'leader_election_master_status{name="berth-scheduler"}'
        attempts = 'scheduler_schedule_attempts_total{result="scheduled",profile="berth"}'
        first = cluster.part("scheduler", "--with-binder").ready()
        eventually("the first leads", lambda: first.metric(leads) == 1)
        second = cluster.part("scheduler", "--with-binder").ready()
        cluster.add_pod("a")
        cluster.bound("a")
        eventually("the first placed it", lambda: first.metric(attempts) == 1)
        assert (second.metric(leads), second.metric(attempts)) == (0, 0)
        holder = cluster.call("GET", LEASE)["spec"]["holderIdentity"]
        assert first.end() == 0
        eventually("the second leads", lambda: second.metric(leads) == 1)
        lease = cluster.call("GET", LEASE)["spec"]
        assert lease["holderIdentity"] != holder and lease["leaseTransitions"] == 1, lease
        cluster.add_pod("b")
        cluster.bound("b")


def a_leader_that_slept_through_its_lease_sends_nothing_and_ends(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        leads = 'leader_election_master_status{name="berth-scheduler"}'
        epoch = 'berth_leader_epoch{name="berth-scheduler"}'
        first = cluster.part("scheduler", "--with-binder").ready()
        eventually("the first leads", lambda: first.metric(leads) == 1)
        assert first.metric(epoch) == 1
        second = cluster.part("scheduler", "--with-binder").ready()
        assert (second.metric(leads), second.metric(epoch)) == (0, 0)
        first.process.send_signal(signal.SIGSTOP)
        names = ["p%d" % i for i in range(20)]
        for name in names:
            cluster.add_pod(name)
        cluster.bound(*names)
        assert (second.metric(leads), second.metric(epoch)) == (1, 2)
        first.process.send_signal(signal.SIGCONT)
        assert first.process.wait(timeout=WAIT_SECONDS_MAX) == 1
        assert "is lost" in first.log.read_text(), first.log.read_text()
        for name in names:
            assert cluster.bindings(name) == [201], (name, cluster.bindings(name))
        cluster.add_pod("after")
        cluster.bound("after")
        assert second.metric(leads) == 1


def a_lease_that_is_made_again_stops_nothing(berth):
    """As by an uninstall and an install, or an older backup: its terms count from 1 again."""
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        binder = cluster.part("binder").ready()
        for term in range(3):
            scheduler = cluster.part("scheduler").ready()
            cluster.add_pod("term-%d" % term)
            cluster.bound("term-%d" % term)
            assert scheduler.end() == 0
        assert cluster.call("GET", LEASE)["spec"]["leaseTransitions"] == 2
        cluster.call("DELETE", LEASE)
        scheduler = cluster.part("scheduler").ready()
        for name in ("first", "second"):
            cluster.add_pod(name)
            cluster.bound(name)
        epochs = {request["spec"]["podName"]: request["spec"]["epoch"]
                  for request in cluster.call("GET", BIND_REQUESTS)["items"]}
        assert epochs == {"term-0": 1, "term-1": 2, "term-2": 3, "first": 1, "second": 1}, epochs
        cluster.call("DELETE", LEASE)  # under its holder, which ends as at any loss of its Lease
        assert scheduler.process.wait(timeout=WAIT_SECONDS_MAX) == 1
        cluster.part("scheduler").ready()
        cluster.add_pod("third")
        cluster.bound("third")
        assert " W " not in binder.log.read_text(), binder.log.read_text()


def a_second_lease_name_stops_nothing(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        cluster.part("binder").ready()
        for name, lease in (("a", "one"), ("b", "one"), ("c", "two"), ("d", "one")):
            scheduler = cluster.part("scheduler", "--leader-elect-resource-name", lease).ready()
            cluster.add_pod(name)
            cluster.bound(name)
            assert scheduler.end() == 0


def forged_terms_stop_nothing_and_are_told(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        binder = cluster.part("binder").ready()
        cluster.part("scheduler").ready()
        cluster.add_pod("before")
        cluster.bound("before")
        uid = cluster.call("GET", LEASE)["metadata"]["uid"]
        for number, lease in enumerate(({"namespace": "kube-system", "name": "berth-scheduler", "uid": uid},
                                        {"namespace": "kube-system", "name": "mine", "uid": "u"}, None)):
            spec = {"podName": "nobody", "podUID": "u", "selectedNode": "n1", "epoch": 2 ** 62}
            if lease:
                spec["lease"] = lease
            cluster.make(BIND_REQUESTS.replace("v1alpha1/", "v1alpha1/namespaces/default/"),
                         {"kind": "BindRequest", "apiVersion": "scheduling.berth.dev/v1alpha1",
                          "metadata": {"name": "forged-%d" % number}, "spec": spec})
        cluster.add_pod("after")
        cluster.bound("after")
        eventually("it is told", lambda: "epoch that their Lease has not reached" in binder.log.read_text())
        doubts = 'berth_bind_request_term_doubts_total{why="%s"}'
        eventually("it is counted", lambda: binder.metric(doubts % "beyond") == 1
                   and binder.metric(doubts % "no-lease") == 1)


def a_refused_lease_is_told(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        scheduler = cluster.part("scheduler", "--with-binder", "--leader-elect-resource-namespace", "later")
        flag = "--leader-elect-resource-namespace"
        eventually("/readyz names it", lambda: flag in scheduler.page("/readyz")[1])
        code, text = scheduler.page("/readyz")
        assert code == 500 and "create leases.coordination.k8s.io in namespace later" in text, text
        told = [line for line in scheduler.log.read_text().splitlines() if " W " in line]
        assert len(told) == 1 and "--leader-elect-resource-namespace" in told[0], told
        refused = 'create leases.coordination.k8s.io in namespace later'
        assert scheduler.metric('berth_refused_requests_total{request="%s",code="404"}' % refused) > 0
        later = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "later"}}
        cluster.make("/api/v1/namespaces", later)
        scheduler.ready()
        cluster.add_pod("a")
        cluster.bound("a")


def parts_outlive_their_api_server(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        part = cluster.part("scheduler", "--with-binder", "--leader-elect=false").ready()
        cluster.add_pod("a")
        cluster.bound("a")
        address = cluster.server.url.removeprefix("http://")
        cluster.server.kill()
        cluster.server = cluster.serve(address)
        cluster.add_pod("b")
        cluster.bound("b")
        assert part.page("/readyz")[0] == 200


def a_node_agent_reports_what_a_driver_says(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
        cluster.make(claims, {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1",
                              "metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}})
        container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "dev"}]}}
        pod = cluster.make(PODS, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "sick"},
                                  "spec": {"nodeName": "n1", "containers": [container],
                                           "resourceClaims": [{"name": "dev", "resourceClaimName": "c"}]}})
        consumer = {"resource": "pods", "name": "sick", "uid": pod["metadata"]["uid"]}
        result = {"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-1"}
        answer = cluster.call("PATCH", claims + "/c/status",
                              {"status": {"allocation": {"devices": {"results": [result]}},
                                          "reservedFor": [consumer]}},
                              "application/merge-patch+json")
        assert answer["kind"] == "ResourceClaim", answer
        started = {"name": "c", "image": "i", "imageID": "i", "ready": True, "restartCount": 0,
                   "state": {"running": {}}}
        cluster.call("PATCH", PODS + "/sick/status",
                     {"status": {"phase": "Running", "containerStatuses": [started]}},
                     "application/merge-patch+json")
        nodes = pathlib.Path(cluster.scratch.name, "n")
        cluster.part("node-agent", "--node", "n1", "--nodes-dir", str(nodes), "--report", "PodStatus").ready()
        driver = subprocess.Popen([str(berth.parent / "health-driver"), "--registry",
                                   str(nodes / "n1" / "plugins_registry"), "--driver", "gpu.example.com",
                                   "--pool", "n1", "--device", "gpu-1"], stdin=subprocess.PIPE, text=True)
        try:
            driver.stdin.write("gpu-1 Unhealthy xid 79\n")
            driver.stdin.flush()

            def told():
                statuses = cluster.call("GET", PODS + "/sick")["status"].get("containerStatuses", [])
                return [resource.get("health") for status in statuses
                        for entry in status.get("allocatedResourcesStatus", [])
                        for resource in entry["resources"]]

            eventually("the pod's status names the sick device", lambda: told() == ["Unhealthy"])
        finally:
            driver.kill()
            driver.wait()


def policies_act_on_what_node_agents_report(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        own = "/apis/scheduling.berth.dev/v1alpha1/"
        cluster.make(own + "devicehealthpolicies", {
            "kind": "DeviceHealthPolicy", "apiVersion": "scheduling.berth.dev/v1alpha1",
            "metadata": {"name": "sick"},
            "spec": {"driver": "gpu.example.com", "messagePattern": "xid *", "effect": "NoExecute",
                     "recoverAfter": "1s", "budgets": {"cluster": 1}}})

        def report(health, message):
            devices = [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-%d" % n, "health": health,
                        "message": message} for n in (1, 2)]
            counts = {"healthy": 0, "unhealthy": 0, "unknown": 0, health.lower(): 2}
            return {"kind": "NodeDeviceHealth", "apiVersion": "scheduling.berth.dev/v1alpha1",
                    "metadata": {"name": "n1"}, "spec": {"devices": devices, **counts}}

        cluster.make(own + "nodedevicehealths", report("Unhealthy", "xid 79"))
        cluster.part("scheduler", "--with-binder").ready()
        rules = "/apis/resource.k8s.io/v1/devicetaintrules"

        def effects():
            return sorted(rule["spec"]["taint"]["effect"] for rule in cluster.call("GET", rules)["items"])

        eventually("rules within the budget", lambda: effects() == ["NoExecute", "NoSchedule"])
        eventually("the policy says so", lambda: cluster.call(
            "GET", own + "devicehealthpolicies/sick").get("status") == {
                "matchingDevices": 2, "taintedDevices": 2, "devicesOverBudget": 1})
        cluster.call("PATCH", own + "nodedevicehealths/n1", {"spec": report("Healthy", "")["spec"]},
                     "application/merge-patch+json")
        eventually("the taints are lifted", lambda: effects() == [])
        wrong = report("Fine", "")
        answer = cluster.call("PATCH", own + "nodedevicehealths/n1", {"spec": wrong["spec"]},
                              "application/merge-patch+json")
        assert "spec.devices[0].health: Unsupported value" in answer["message"], answer


def beyond_loopback_pages_are_encrypted_and_ask_who_reads_metrics(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        cluster.add_pod("a")
        part = cluster.part("scheduler", "--with-binder", "--listen", "0.0.0.0:0")
        assert part.url.startswith("https://0.0.0.0:"), part.url
        cluster.bound("a")
        trusting = ssl._create_unverified_context()

        def code_of(url, token=None):
            headers = {"Authorization": "Bearer " + token} if token else {}
            try:
                return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10,
                                              context=trusting).status
            except urllib.error.HTTPError as refused:
                return refused.code

        local = part.url.replace("0.0.0.0", "127.0.0.1")
        assert code_of(local + "/healthz") == code_of(local + "/readyz") == 200
        assert code_of(local + "/metrics") == 401
        assert code_of(local + "/metrics", "of nobody") == 401, "the API server knows no such token"
        page = "/berth/v1alpha1/decisions/pods/default/"
        assert code_of(local + page + "a") == 404
        on_loopback = cluster.part("scheduler", "--with-binder", "--leader-elect=false",
                                   "--scheduler-name", "second")
        cluster.add_pod("b", "second")
        cluster.bound("b")
        assert on_loopback.page(page + "b")[0] == 200, "the page is called otherwise"


def a_bind_request_made_by_hand_is_carried_out_or_refused(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        cluster.part("binder", "--leader-elect=false").ready()
        requests = "/apis/scheduling.berth.dev/v1alpha1/namespaces/default/bindrequests"

        def request(pod, **spec):
            uid = cluster.call("GET", PODS + "/" + pod)["metadata"]["uid"]
            given = {"podName": pod, "podUID": uid, "selectedNode": "n1", **spec}
            return cluster.call("POST", requests, {"apiVersion": "scheduling.berth.dev/v1alpha1",
                                                   "kind": "BindRequest", "metadata": {"name": pod},
                                                   "spec": given})

        def ended(pod):
            status = cluster.call("GET", requests + "/" + pod).get("status", {})
            return status if status.get("phase") in ("Succeeded", "Failed") else None

        cluster.add_pod("good", "nobody")
        assert request("good")["kind"] == "BindRequest"
        cluster.bound("good")
        status = eventually("it succeeds", lambda: ended("good"))
        assert status["observedGeneration"] == 1, status
        assert [(c["type"], c["status"]) for c in status["conditions"]] == [("Bound", "True")], status

        cluster.add_pod("bad", "nobody")
        refused = request("bad", podUID="", backoffLimit=-1)
        fields = [cause["field"] for cause in refused["details"]["causes"]]
        assert fields == ["spec.podUID", "spec.backoffLimit"], refused
        allocation = {"name": "none", "claimName": "none", "allocation": {"devices": {"results": []}}}
        request("bad", resourceClaimAllocations=[allocation])
        status = eventually("it fails", lambda: ended("bad"))
        assert status["reason"] == "InvalidRequest" and status["terminal"], status
        assert "spec.resourceClaimAllocations[0].name: Not found" in status["message"], status
        assert not cluster.node_of("bad")


def a_binder_answers_admission_reviews(berth):
    with Cluster(berth) as cluster:
        folder = pathlib.Path(cluster.scratch.name)
        first = make_certificate(folder)
        flags = ["--webhook", "--webhook-listen", "127.0.0.1:0", "--tls-cert-file", str(folder / "cert")]
        binder = cluster.part("binder", "--leader-elect=false", *flags, "--tls-private-key-file",
                              str(folder / "key"))
        url = re.search(r"answered on (\S+)/validate", binder.log.read_text())[1]

        def review(path, annotations, certificate, scheduler="berth"):
            pod = {"metadata": {"name": "p", "annotations": annotations},
                   "spec": {"schedulerName": scheduler, "containers": [{"name": "c"}]}}
            request = {"uid": "u-1", "operation": "CREATE", "object": pod,
                       "resource": {"group": "", "version": "v1", "resource": "pods"}}
            body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
            return post(path, json.dumps(body), certificate)

        def post(path, body, certificate):
            json_header = {"Content-Type": "application/json"}
            request = urllib.request.Request(url + path, body.encode(), json_header)
            trusting = ssl.create_default_context(cadata=certificate)
            try:
                with urllib.request.urlopen(request, timeout=10, context=trusting) as answer:
                    return answer.status, json.load(answer)["response"]
            except urllib.error.HTTPError as refused:
                return refused.code, refused.read().decode()

        code, answer = review("/validate", {"gpu-fraction": "2"}, first)
        assert code == 200 and answer["uid"] == "u-1" and not answer["allowed"], answer
        causes = [cause["field"] for cause in answer["status"]["details"]["causes"]]
        assert causes == ["metadata.annotations[gpu-fraction]"] * 2, answer
        allowed = {"uid": "u-1", "allowed": True}
        assert review("/validate", {"gpu-fraction": "2"}, first, "other")[1] == allowed
        assert review("/mutate", {}, first)[1] == allowed
        assert post("/validate", "{", first)[0] == 400
        assert post("/validate", "x" * (4 << 20), first)[0] == 413

        second = make_certificate(folder)

        def served():
            try:
                return review("/mutate", {}, second)[0] == 200
            except urllib.error.URLError:
                return False

        eventually("the new certificate is served", served)
        (folder / "cert").write_text("no certificate")
        eventually("the bad one is reported", lambda: "keeps its certificate" in binder.log.read_text())
        assert served()
        assert binder.end() == 0
        refused = subprocess.run([str(berth), "binder", "--kubeconfig", cluster.kubeconfig, "--webhook"],
                                 capture_output=True, text=True, timeout=60)
        assert refused.returncode == 2, refused
        assert "--tls-cert-file: is needed by --webhook" in refused.stderr, refused


def options_are_told_and_checked(berth):
    def run(*arguments):
        return subprocess.run([str(berth)] + list(arguments), capture_output=True, text=True, timeout=60)

    printed = run("scheduler", "--with-binder", "--scheduler-name", "x", "--print-config",
                  "--feature-gates", "GenericWorkload=true")
    assert printed.returncode == 0, printed.stderr
    for line in ("kind: BerthConfiguration", "apiVersion: config.berth.dev/v1alpha1", "  withBinder: true",
                 '  - x', "  GenericWorkload: true", "  CompositePodGroup: false"):
        assert line in printed.stdout.splitlines(), line
    assert run("binder", "--feature-gates", "NoSuchGate=true").returncode != 0
    assert run("node-agent").returncode == 2
    gated = run("node-agent", "--node", "n1", "--report", "PodStatus", "--feature-gates",
                "ResourceHealthStatus=false")
    assert gated.returncode == 2 and "ResourceHealthStatus=true" in gated.stderr, gated.stderr
    dry = run("install", "--dry-run", "--kubeconfig", "/nonexistent/kubeconfig", "--image", "r/berth:7")
    assert dry.returncode == 0 and "image: r/berth:7" in dry.stdout, dry.stderr
    definitions = json.loads(run("crds", "-o", "json").stdout)["items"]
    assert [one["spec"]["names"]["kind"] for one in definitions] == [
        "BindRequest", "DeviceHealthPolicy", "NodeDeviceHealth", "Topology",
        "PlacementPolicy"], definitions
    for wrong in (["--namespace", "A_B"], ["--replicas", "0"], ["--feature-gates", "NoSuchGate=true"]):
        assert run("install", "--dry-run", *wrong).returncode == 2, wrong
    for command in ("install", "uninstall", "doctor"):
        unreadable = run(command, "--kubeconfig", "/nonexistent/kubeconfig")
        assert unreadable.returncode == 1 and "/nonexistent/kubeconfig" in unreadable.stderr, unreadable
    missing = run("binder", "--kubeconfig", "/nonexistent/kubeconfig")
    assert missing.returncode == 1 and "/nonexistent/kubeconfig" in missing.stderr, missing.stderr


def every_part_reads_what_it_prints(berth):
    def run(*arguments):
        return subprocess.run([str(berth)] + list(arguments), capture_output=True, text=True, timeout=60)

    with tempfile.TemporaryDirectory(prefix="berth-config-") as folder:
        file = pathlib.Path(folder, "berth.yaml")
        for part, flags in (("up", ["--nodes=7", "-f", "a", "-f", "b", "--in-memory", "--insecure=false"]),
                            ("apiserver", ["--audit-log", "x y"]),
                            ("scheduler", ["--device-scoring", "LeastFragmenting", "--bind-backoff-limit=9"]),
                            ("binder", ["--binding-timeout", "90s", "--leader-elect=false"]),
                            ("node-agent", ["--node", "n1", "--health-timeout=1h"])):
            printed = run(part, *flags, "--print-config", "--log-level", "debug")
            assert printed.returncode == 0 and "level: debug" in printed.stdout, (part, printed)
            file.write_text(printed.stdout)
            again = run(part, "--config", str(file), "--print-config")
            assert again.stdout == printed.stdout, (part, again)
            before = run("--log-level", "debug", part, *flags, "--print-config")
            assert before.stdout == printed.stdout, (part, before)
        flagged = run("node-agent", "--config", str(file), "--node", "n2", "--print-config")
        assert "  node: n2" in flagged.stdout and "healthTimeout: 1h" in flagged.stdout, flagged
        refused = run("binder", "--config", str(file))
        assert refused.returncode == 1 and "berth.yaml:3: document 1: part: " in refused.stderr, refused
        file.write_text("apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nbindng: {}\n")
        refused = run("binder", "--config", str(file))
        assert refused.returncode == 1 and "berth.yaml:3: document 1: bindng: " in refused.stderr, refused
        assert run("binder", "--gang-timeout", "0s").returncode == 2
        assert run("binder", "--no-such-flag").returncode == 2


def a_file_reaches_the_scheduler(berth):
    with Cluster(berth) as cluster:
        file = pathlib.Path(cluster.scratch.name, "scheduler.yaml")
        file.write_text("apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n"
                        "scheduler: {schedulerNames: [from-the-file]}\nbinding: {backoffLimit: 7}\n")
        cluster.add_node("n1")
        cluster.part("scheduler", "--config", str(file)).ready()
        cluster.add_pod("a", "from-the-file")
        requests = eventually("a bind request", lambda: cluster.call("GET", BIND_REQUESTS)["items"])
        assert [one["spec"]["backoffLimit"] for one in requests] == [7], requests


def explained(berth, *arguments):
    """The exit code, the output and the errors of `berth explain`."""
    ran = subprocess.run([str(berth), "explain"] + list(arguments),
                         capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout, ran.stderr


def a_scheduler_explains_what_it_decided(berth):
    with Cluster(berth) as cluster:
        cluster.add_node("n1")
        scheduler = cluster.part("scheduler").ready()
        cluster.add_pod("small")
        cluster.add_pod("foreign", "somebody-else")
        eventually("it is placed", lambda: cluster.call("GET", BIND_REQUESTS)["items"])
        to = ["--kubeconfig", cluster.kubeconfig, "--server", scheduler.url]
        code, text, _ = explained(berth, "pod", "small", *to)
        assert code == 0 and "is placed on n1; the binder is at work" in text, text
        assert "DECISION  Placed" in text and "bind request made" in text, text
        code, text, _ = explained(berth, "po", "small", "--kubeconfig", cluster.kubeconfig)
        assert code == 0 and "--server" in text, text
        code, text, _ = explained(berth, "pod", "foreign", *to, "-o", "yaml")
        assert code == 0 and "its scheduler is somebody-else" in text and "state: Pending" in text, text
        code, _, errors = explained(berth, "pod", "none", *to)
        assert code == 1 and "pod default/none does not exist" in errors, errors
        code, _, errors = explained(berth, "pod", "small", "-n", "kube-system", *to)
        assert code == 1 and "in namespace default: say so with -n" in errors, errors
        assert explained(berth, "node", "n1", *to)[0] == 2
        binder = cluster.part("binder").ready()
        assert binder.page("/berth/v1alpha1/decisions/pods/default/small")[0] == 404
        cluster.bound("small")
        explained_now = json.loads(explained(berth, "pod", "small", *to, "-o", "json")[1])
        assert (explained_now["state"], explained_now["node"]) == ("Bound", "n1"), explained_now


def a_control_plane_explains_across_a_restart(berth):
    def up(cluster, folder):
        arguments = ["up", "--insecure", "--nodes", "2", "--data-dir", str(folder / "data"),
                     "--kubeconfig", str(folder / "kc"), "--listen", "127.0.0.1:0"]
        return Process(cluster, "up", arguments, r"API is on (\S+),")

    with Cluster(berth) as cluster:
        folder = pathlib.Path(cluster.scratch.name, "whole")
        whole = cluster.server = up(cluster, folder)
        to = ["--kubeconfig", str(folder / "kc")]
        gang = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
        cluster.make(gang, {"kind": "PodGroup", "apiVersion": "scheduling.k8s.io/v1beta1",
                            "metadata": {"name": "pair"},
                            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})

        def add(name, cpu, **spec):
            container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
            cluster.make(PODS, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name},
                                "spec": {"schedulerName": "berth", "containers": [container], **spec}})

        member = {"schedulingGroup": {"podGroupName": "pair"}}
        add("pair-0", "1", **member)
        add("huge", "4000")
        gated = eventually("the gang is gated", lambda: "the gang wants 2 pods, and 1 is there" in explained(
            berth, "podgroup", "pair", *to)[1])
        assert gated
        eventually("the pod is refused", lambda: "DECISION  Unschedulable" in explained(
            berth, "pod", "huge", *to)[1])
        refused = json.loads(explained(berth, "pod", "huge", *to, "-o", "json")[1])
        row = refused["refused"][0]
        assert (row["plugin"], row["nodes"]) == ("NodeResourcesFit", 2), refused
        assert [example["node"] for example in row["examples"]] == ["node-1", "node-2"], refused
        said = refused["decision"]
        assert said["sentence"].startswith("0/2 nodes are available: 2 Insufficient cpu."), said
        assert said["explanation"].startswith("pod default/huge waits: "), said
        add("pair-1", "1", **member)
        cluster.bound("pair-0", "pair-1")
        text = explained(berth, "podgroup", "pair", *to)[1]
        assert "2 pods, 2 with a node" in text and "pair-1" in text, text
        placed = json.loads(explained(berth, "pod", "pair-0", *to, "-o", "json")[1])["decision"]["id"]
        assert whole.end() == 0
        cluster.server = up(cluster, folder)
        again = json.loads(explained(berth, "pod", "pair-0", *to, "-o", "json")[1])
        assert again["decision"]["id"] == placed, again


def labels_of_nodes_become_a_topology(berth):
    def written(cluster, *arguments):
        ran = subprocess.run([str(berth), "topology", "--kubeconfig", cluster.kubeconfig, "--write",
                              *arguments], capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return ran.stderr.strip()

    with Cluster(berth) as cluster:
        for name, rack in ("n1", "r1"), ("n2", "r1"), ("n3", "r2"):
            labels = {"topology.kubernetes.io/zone": "z1", "example.com/rack": rack}
            cluster.make("/api/v1/nodes", {"kind": "Node", "apiVersion": "v1",
                                           "metadata": {"name": name, "labels": labels}})
        topology = "/apis/scheduling.berth.dev/v1alpha1/topologies/"
        assert written(cluster).endswith("topology.scheduling.berth.dev/default created")
        levels = cluster.call("GET", topology + "default")["spec"]["levels"]
        assert levels == [{"name": "zone", "nodeLabel": "topology.kubernetes.io/zone"}], levels
        given = ["--level", "zone=topology.kubernetes.io/zone", "--level", "rack=example.com/rack"]
        assert written(cluster, *given).endswith("topology.scheduling.berth.dev/default configured")
        assert written(cluster, *given).endswith("topology.scheduling.berth.dev/default unchanged")
        assert written(cluster, *given, "--name", "net").endswith("/net created")
        levels = cluster.call("GET", topology + "default")["spec"]["levels"]
        assert [level["name"] for level in levels] == ["zone", "rack"], levels
        shown = subprocess.run([str(berth), "topology", "--kubeconfig", cluster.kubeconfig, *given],
                               capture_output=True, text=True, timeout=60).stdout
        assert "Topology default from --level: `-o yaml` prints it" in shown, shown


CASES = (a_pod_is_placed_and_bound_by_two_processes, a_killed_binder_is_followed_by_another,
         one_of_two_schedulers_leads, a_leader_that_slept_through_its_lease_sends_nothing_and_ends,
         a_lease_that_is_made_again_stops_nothing, a_second_lease_name_stops_nothing,
         forged_terms_stop_nothing_and_are_told, a_refused_lease_is_told, parts_outlive_their_api_server,
         policies_act_on_what_node_agents_report, a_node_agent_reports_what_a_driver_says,
         beyond_loopback_pages_are_encrypted_and_ask_who_reads_metrics,
         a_bind_request_made_by_hand_is_carried_out_or_refused, a_binder_answers_admission_reviews,
         options_are_told_and_checked,
         every_part_reads_what_it_prints, a_file_reaches_the_scheduler,
         a_scheduler_explains_what_it_decided, a_control_plane_explains_across_a_restart,
         labels_of_nodes_become_a_topology)


def main():
    chosen = suite.options(__doc__)
    return suite.run(CASES, chosen.words, chosen.berth)


if __name__ == "__main__":
    sys.exit(main())
