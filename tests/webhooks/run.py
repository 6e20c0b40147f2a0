#!/usr/bin/env python3
"""Admission webhooks of `berth up`: a webhook over TLS changes, refuses, hangs, lies.

Only the standard library and openssl. The closing line is "N passed, M failed"; the exit code is 0 when
nothing failed.
"""
import json
import pathlib
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from served import Served, call
from suite import eventually
from webhook import Webhook, allowed, denied, hang, patch_of, patched

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/"
MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
ANY_RULE = {"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["configmaps"]}


def expect(condition, what):
    if not condition:
        raise suite.Failure(what)


def expect_equal(seen, wanted, what):
    if seen != wanted:
        raise suite.Failure("%s: %r, not %r" % (what, seen, wanted))


class World:
    """One `berth up` and one webhook server for all cases; each case begins without configurations."""

    def __init__(self, berth):
        self.scratch = tempfile.TemporaryDirectory(prefix="berth-webhooks-")
        folder = pathlib.Path(self.scratch.name)
        self.webhook = Webhook(folder, "IP:127.0.0.1,DNS:hook.hooks.svc")
        self.audit = folder / "audit.log"
        self.served = Served(berth, "up", [], ["--audit-log", str(self.audit), "--nodes", "2",
                                               "--webhook-service", "hooks/hook=" + self.webhook.url])

    def close(self):
        self.served.close()
        self.webhook.close()
        self.scratch.cleanup()

    def call(self, method, path, body=None, content="application/json"):
        return call(self.served.url + path, method, body, content)

    def begin(self):
        for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations",
                     "validatingadmissionpolicybindings", "validatingadmissionpolicies",
                     "mutatingadmissionpolicybindings", "mutatingadmissionpolicies"):
            self.call("DELETE", CONFIGURATIONS + kind)
        self.call("DELETE", MAPS)
        self.webhook.forget()

    def register(self, kind, name, *webhooks, **more):
        made = self.call("POST", CONFIGURATIONS + kind + "webhookconfigurations",
                         {"metadata": {"name": name}, "webhooks": list(webhooks), **more})
        expect(made.get("kind") != "Status", made)

    def hook(self, path, name=None, **more):
        return {"name": name or path.strip("/") + ".example.com", "admissionReviewVersions": ["v1"],
                "sideEffects": "None", "clientConfig": self.webhook.client(path), "rules": [ANY_RULE],
                "timeoutSeconds": 5, **more}

    def make(self, name, **more):
        return self.call("POST", MAPS, {"metadata": {"name": name, **more.pop("metadata", {})}, **more})

    def metric(self, family, **labels):
        with urllib.request.urlopen(self.served.url + "/metrics", timeout=10) as page:
            lines = page.read().decode().splitlines()
        wanted = ['%s="%s"' % label for label in labels.items()]
        return sum(float(line.rpartition(" ")[2]) for line in lines
                   if line.startswith(family + "{") and all(label in line for label in wanted))

    def policy_checks(self, phase, **labels):
        counted = self.metric("apiserver_%s_admission_policy_check_total" % phase, **labels)
        timed = self.metric("apiserver_%s_admission_policy_check_duration_seconds_count" % phase, **labels)
        expect_equal(timed, counted, "histogram")
        return counted

    def audited(self, name, verb="create"):
        """The last line about such a request for the object, once it is written."""
        def look():
            lines = [json.loads(line) for line in self.audit.read_text().splitlines()]
            return [line for line in lines if line["name"] == name and line["verb"] == verb]
        return eventually("an audit line of " + name, look, 5)[-1]


def add_key(key, value):
    """An act that adds a key to the data of a ConfigMap."""
    def act(review):
        data = review["request"]["object"].get("data") or {}
        return patched(review, [{"op": "add", "path": "/data", "value": {**data, key: value}}])
    return act


def a_webhook_changes_what_is_stored(world):
    world.webhook.act("/change", add_key("a", "1"))
    world.register("mutating", "m", world.hook("/change"))
    made = world.make("changed", data={"b": "2"})
    expect_equal(made["data"], {"a": "1", "b": "2"}, "answer")
    expect_equal(world.call("GET", MAPS + "/changed")["data"], {"a": "1", "b": "2"}, "stored")
    review = world.webhook.asked("/change")[0]
    request = review["request"]
    expect_equal((review["kind"], review["apiVersion"]), ("AdmissionReview", "admission.k8s.io/v1"), "type")
    expect_equal(request["kind"], {"group": "", "version": "v1", "kind": "ConfigMap"}, "kind")
    expect_equal(request["requestResource"], {"group": "", "version": "v1", "resource": "configmaps"},
                 "resource")
    expect_equal((request["operation"], request["name"], request["namespace"], request["dryRun"]),
                 ("CREATE", "changed", "default", False), "request")
    expect_equal(request["userInfo"]["username"], "kubernetes-admin", "user")
    expect("system:masters" in request["userInfo"]["groups"], request["userInfo"])
    expect_equal(request["options"]["kind"], "CreateOptions", "options")
    expect_equal(request["oldObject"], None, "old object")
    metadata = request["object"]["metadata"]
    expect("uid" not in metadata and "creationTimestamp" not in metadata, metadata)
    expect(world.webhook.queries()[0].endswith("?timeout=5s"), world.webhook.queries())
    expect(world.metric("apiserver_admission_webhook_request_total", name="change.example.com",
                        type="admit", code="200") >= 1, "request metric")
    line = world.audited("changed")
    mutation = json.loads(line["annotations"]["mutation.webhook.admission.k8s.io/round_0_index_0"])
    expect_equal(mutation, {"configuration": "m", "webhook": "change.example.com", "mutated": True}, "audit")


def an_update_has_both_objects(world):
    world.make("updated", data={"a": "1"})
    world.register("validating", "v", world.hook("/look"))
    world.call("PATCH", MAPS + "/updated", {"data": {"a": "2"}}, "application/merge-patch+json")
    request = world.webhook.asked("/look")[0]["request"]
    expect_equal((request["operation"], request["options"]["kind"]), ("UPDATE", "UpdateOptions"), "request")
    expect_equal((request["object"]["data"], request["oldObject"]["data"]), ({"a": "2"}, {"a": "1"}),
                 "objects")
    expect("uid" in request["object"]["metadata"], "metadata")


def a_webhook_refuses_in_the_words_of_kubernetes(world):
    world.register("validating", "v", world.hook("/refuse"))
    prefix = 'admission webhook "refuse.example.com" denied the request'
    cases = [({}, 400, prefix + " without explanation", None),
             ({"message": "no"}, 400, prefix + ": no", None),
             ({"reason": "Forbidden", "code": 403}, 403, prefix + ": Forbidden", "Forbidden"),
             ({"message": "too big", "code": 200}, 400, prefix + ": too big", None),
             ({"message": "later", "reason": "Conflict", "code": 409}, 409, prefix + ": later", "Conflict")]
    for status, code, message, reason in cases:
        world.webhook.act("/refuse", lambda review, status=status: denied(review, **status))
        refused = world.make("refused")
        expect_equal((refused["code"], refused["message"], refused.get("reason")), (code, message, reason),
                     status)
    expect_equal(world.call("GET", MAPS + "/refused")["code"], 404, "stored")
    expect_equal(world.audited("refused")["refusedBy"], "refuse.example.com", "audit")
    expect(world.metric("apiserver_admission_webhook_rejection_count", name="refuse.example.com",
                        error_type="no_error", rejection_code="409") >= 1, "rejection metric")


def mutating_ones_follow_each_other_by_name(world):
    for path in ("/z", "/a", "/b"):
        world.webhook.act(path, add_key(path[1:], "1"))
    world.register("mutating", "second", world.hook("/b"))
    world.register("mutating", "first", world.hook("/z"), world.hook("/a"))
    expect_equal(world.make("ordered")["data"], {"z": "1", "a": "1", "b": "1"}, "data")
    expect_equal(world.webhook.paths(), ["/z", "/a", "/b"], "order")


def one_that_wants_it_is_called_again(world):
    world.webhook.act("/early", lambda review: allowed(review))
    world.webhook.act("/once", lambda review: allowed(review))
    world.webhook.act("/late", add_key("late", "1"))
    world.register("mutating", "m", world.hook("/early", reinvocationPolicy="IfNeeded"), world.hook("/once"),
                   world.hook("/late"))
    world.make("again")
    expect_equal(world.webhook.paths(), ["/early", "/once", "/late", "/early"], "calls")
    expect_equal(world.webhook.asked("/early")[1]["request"]["object"]["data"], {"late": "1"}, "what it saw")


def selectors_and_conditions_choose(world):
    world.register("validating", "v",
                   world.hook("/labelled", objectSelector={"matchLabels": {"seen": "yes"}}),
                   world.hook("/elsewhere", namespaceSelector={"matchLabels": {"no": "such"}}),
                   world.hook("/conditioned", matchConditions=[
                       {"name": "name", "expression": "object.metadata.name.startsWith('good')"},
                       {"name": "user", "expression": "request.userInfo.username != 'nobody'"}]))
    world.make("bad")
    expect_equal(world.webhook.paths(), [], "none")
    world.make("bad-labelled", metadata={"labels": {"seen": "yes"}})
    expect_equal(world.webhook.paths(), ["/labelled"], "by label")
    world.make("good")
    expect_equal(world.webhook.paths(), ["/labelled", "/conditioned"], "by condition")


def a_condition_that_fails_follows_the_failure_policy(world):
    broken = [{"name": "broken", "expression": "object.data.absent == 'x'"}]
    world.register("validating", "v", world.hook("/strict", matchConditions=broken))
    refused = world.make("strict")
    expect_equal((refused["code"], refused["reason"]), (403, "Forbidden"), "refusal")
    expect("no such key: absent" in refused["message"] or "no such key: data" in refused["message"], refused)
    world.begin()
    world.register("validating", "v", world.hook("/lenient", matchConditions=broken, failurePolicy="Ignore"))
    expect_equal(world.make("lenient")["kind"], "ConfigMap", "answer")
    expect_equal(world.webhook.paths(), [], "calls")


def wait_while(world, act, seconds_max=30):
    """The answer of a create that the webhook treats so."""
    world.webhook.act("/bad", act)
    began = time.monotonic()
    made = world.make("bad-%d" % time.monotonic_ns())
    expect(time.monotonic() - began < seconds_max, "it took %.1f s" % (time.monotonic() - began))
    return made


LIES = [
    ("closed connection", lambda review: "close", "failed to call webhook: Post"),
    ("another uid", lambda review: {**allowed(review), "uid": "other"}, "expected response.uid="),
    ("no JSON", lambda review: (200, "hello"), "failed to call webhook"),
    ("status 500", lambda review: (500, "broken"), 'an error on the server ("broken") has prevented the req'),
    ("too much", lambda review: "flood", "too large"),
    ("no response", lambda review: (200, json.dumps({"kind": "AdmissionReview",
                                                     "apiVersion": "admission.k8s.io/v1"})),
     "webhook response was absent"),
    ("patch without type", lambda review: allowed(review, patch=patch_of([])),
     "webhook returned response.patch but not response.patchType"),
    ("undecodable patch", lambda review: patched(review, "x"), "received undecodable patch in webhook resp"),
]


def lies_and_failures_are_named_or_ignored(world):
    for policy in ("Fail", "Ignore"):
        world.begin()
        world.register("mutating", "m", world.hook("/bad", failurePolicy=policy))
        for name, act, message in LIES:
            made = wait_while(world, act)
            if policy == "Ignore":
                expect_equal(made["kind"], "ConfigMap", name)
                continue
            expect_equal((made["code"], made.get("reason")), (500, "InternalError"), name)
            expect(made["message"].startswith(
                'Internal error occurred: failed calling webhook "bad.example.com": '), made["message"])
            expect(message in made["message"], "%s: %s" % (name, made["message"]))
    expect(world.metric("apiserver_admission_webhook_fail_open_count", name="bad.example.com") >= len(LIES),
           "fail open metric")


def a_patch_that_does_not_apply_is_an_error_whatever_the_policy(world):
    world.register("mutating", "m", world.hook("/bad", failurePolicy="Ignore"))
    made = wait_while(world, lambda review: patched(review, [{"op": "test", "path": "/kind", "value": "x"}]))
    expect_equal((made["code"], made["reason"]), (500, "InternalError"), "answer")


def a_validating_webhook_may_not_patch(world):
    world.register("validating", "v", world.hook("/bad"))
    made = wait_while(world, lambda review: patched(review, [{"op": "add", "path": "/data", "value": {}}]))
    expect("validating webhook may not return response.patch" in made["message"], made["message"])


def a_webhook_that_hangs_harms_nobody_else(world):
    world.webhook.act("/slow", hang(30))
    rule = {**ANY_RULE, "resources": ["secrets"]}
    world.register("validating", "v", world.hook("/slow", timeoutSeconds=2, rules=[rule]))
    answers = []

    def slow(i):
        answers.append(world.call("POST", SECRETS, {"metadata": {"name": "s%d" % i}}))
    threads = [threading.Thread(target=slow, args=(i,)) for i in range(48)]
    for thread in threads:
        thread.start()
    eventually("the webhook is called", lambda: len(world.webhook.asked("/slow")) >= 16, 5)
    expect(not answers, "%d secrets are answered already" % len(answers))
    for i in range(50):
        expect_equal(world.make("beside-%d" % i)["kind"], "ConfigMap", "beside")
    for thread in threads:
        thread.join()
    for made in answers:
        expect_equal(made["code"], 500, "slow")
        expect("context deadline exceeded" in made["message"], made["message"])


def a_service_is_reached_by_the_flag(world):
    world.webhook.act("/served", add_key("served", "1"))
    world.register("mutating", "m", world.hook("/served", clientConfig=world.webhook.service("/served")))
    expect_equal(world.make("by-service")["data"], {"served": "1"}, "data")
    world.begin()
    world.register("mutating", "m", world.hook(
        "/served", clientConfig=world.webhook.service("/served", name="unknown")))
    refused = world.make("unmapped")
    expect('Post "https://unknown.hooks.svc:443/served?timeout=5s": this server does not reach Services' in
           refused["message"], refused["message"])


def a_path_with_two_slashes_is_cleaned(world):
    """Suites that use envtest register such URLs."""
    world.webhook.act("/twice", add_key("twice", "1"))
    world.register("mutating", "m", world.hook("/twice", clientConfig=world.webhook.client("//twice")))
    expect_equal(world.make("twice")["data"], {"twice": "1"}, "data")


def a_certificate_is_verified(world):
    other = pathlib.Path(world.scratch.name, "other")
    other.mkdir()
    stranger = Webhook(other, "DNS:elsewhere.example.com")
    try:
        wrong_authority = {**world.webhook.client("/x"), "caBundle": stranger.client("/x")["caBundle"]}
        for client in (wrong_authority, stranger.client("/x")):
            world.begin()
            world.register("validating", "v", world.hook("/x", clientConfig=client))
            refused = world.make("unverified")
            expect_equal(refused["code"], 500, "answer")
            expect("failed to call webhook" in refused["message"], refused["message"])
        expect_equal(world.webhook.paths() + stranger.paths(), [], "calls")
    finally:
        stranger.close()


def a_dry_run_calls_those_without_side_effects(world):
    world.register("validating", "v", world.hook("/pure"))
    made = world.call("POST", MAPS + "?dryRun=All", {"metadata": {"name": "dry"}})
    expect_equal(made["kind"], "ConfigMap", "answer")
    request = world.webhook.asked("/pure")[0]["request"]
    expect_equal((request["dryRun"], request["options"]["dryRun"]), (True, ["All"]), "request")
    expect_equal(world.call("GET", MAPS + "/dry")["code"], 404, "stored")


def a_delete_is_asked_for(world):
    world.make("kept")
    rule = {**ANY_RULE, "operations": ["DELETE"]}
    world.register("validating", "v", world.hook("/keep", rules=[rule]))
    world.webhook.act("/keep", lambda review: denied(review, message="kept", code=403))
    refused = world.call("DELETE", MAPS + "/kept")
    expect_equal((refused["code"], refused["message"]),
                 (403, 'admission webhook "keep.example.com" denied the request: kept'), "answer")
    request = world.webhook.asked("/keep")[0]["request"]
    expect_equal((request["operation"], request["object"], request["oldObject"]["metadata"]["name"],
                  request["options"]["kind"]), ("DELETE", None, "kept", "DeleteOptions"), "request")
    world.webhook.act("/keep", allowed)
    world.call("DELETE", MAPS + "/kept")
    expect_equal(world.call("GET", MAPS + "/kept")["code"], 404, "stored")


def own_controllers_are_seen(world):
    rule = {**ANY_RULE, "operations": ["CREATE"], "resources": ["pods"]}
    binding = {**ANY_RULE, "operations": ["CREATE"], "resources": ["pods/binding"]}
    world.webhook.act("/label", lambda review: patched(
        review, [{"op": "add", "path": "/metadata/labels/stamped", "value": "yes"}]))
    world.register("mutating", "m", world.hook("/label", rules=[rule]))
    world.register("validating", "v", world.hook("/bind", rules=[binding]))
    world.call("POST", DEPLOYMENTS, {
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                 "template": {"metadata": {"labels": {"app": "web"}},
                              "spec": {"containers": [{"name": "c", "image": "i"}]}}}})

    def running():
        pods = world.call("GET", PODS)["items"]
        return len(pods) == 2 and all(pod["status"].get("phase") == "Running" for pod in pods) and pods
    for pod in eventually("two pods run", running, 30):
        expect_equal(pod["metadata"]["labels"].get("stamped"), "yes", "label")
    first = world.webhook.asked("/label")[0]["request"]
    expect(first["object"]["metadata"]["generateName"].startswith("web-") and
           first["name"].startswith("web-"), first)
    bound = world.webhook.asked("/bind")[0]["request"]
    expect_equal((bound["kind"]["kind"], bound["subResource"], bound["object"]["target"]["kind"]),
                 ("Binding", "binding", "Node"), "binding")
    world.call("DELETE", DEPLOYMENTS + "/web")
    eventually("the pods are gone", lambda: not world.call("GET", PODS)["items"], 30)


def subresources_are_chosen_by_name(world):
    world.call("POST", DEPLOYMENTS, {
        "metadata": {"name": "sized"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "sized"}},
                 "template": {"metadata": {"labels": {"app": "sized"}},
                              "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    rule = {"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"],
            "resources": ["deployments/scale"]}
    world.webhook.act("/scale", lambda review: patched(
        review, [{"op": "replace", "path": "/spec/replicas", "value": 1}]))
    world.register("mutating", "m", world.hook("/scale", rules=[rule]))
    scaled = world.call("PATCH", DEPLOYMENTS + "/sized/scale", {"spec": {"replicas": 5}},
                        "application/merge-patch+json")
    expect_equal(scaled["spec"]["replicas"], 1, "replicas")
    request = world.webhook.asked("/scale")[0]["request"]
    expect_equal((request["kind"], request["object"]["spec"], request["oldObject"]["kind"]),
                 ({"group": "autoscaling", "version": "v1", "kind": "Scale"}, {"replicas": 5}, "Scale"),
                 "request")
    world.call("DELETE", DEPLOYMENTS + "/sized")


def an_equivalent_version_is_converted(world):
    rule = {"operations": ["CREATE"], "apiGroups": ["events.k8s.io"], "apiVersions": ["v1"],
            "resources": ["events"]}
    # The simulated nodes make events, too.
    own = [{"name": "own", "expression": "request.name in ['e1', 'e2']"}]
    world.webhook.act("/note", lambda review: patched(
        review, [{"op": "replace", "path": "/note", "value": "changed"}]))
    world.register("mutating", "m", world.hook("/note", rules=[rule], matchConditions=own))
    event = {"metadata": {"name": "e1"}, "involvedObject": {"namespace": "default", "name": "x"},
             "reason": "R", "message": "said", "type": "Normal"}
    made = world.call("POST", "/api/v1/namespaces/default/events", event)
    expect_equal(made.get("message"), "changed", "message")
    request = world.webhook.asked("/note")[0]["request"]
    expect_equal((request["resource"]["group"], request["requestResource"]["group"],
                  request["object"]["note"]), ("events.k8s.io", "", "said"), "request")
    world.begin()
    world.register("mutating", "m", world.hook("/note", rules=[rule], matchPolicy="Exact",
                                                matchConditions=own))
    world.call("POST", "/api/v1/namespaces/default/events", {**event, "metadata": {"name": "e2"}})
    expect_equal(world.webhook.paths(), [], "calls")


DEFINITION = {
    "metadata": {"name": "gizmos.ex.io"},
    "spec": {"group": "ex.io", "scope": "Namespaced", "names": {"plural": "gizmos", "kind": "Gizmo"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                               "spec": {"type": "object", "properties": {
                                   "size": {"type": "integer"},
                                   "color": {"type": "string", "default": "red"}}},
                               "status": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}}}}]}}


def custom_objects_are_pruned_after_a_patch(world):
    world.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    rules = [{"operations": ["CREATE"], "apiGroups": ["ex.io"], "apiVersions": ["*"], "resources": ["*"]},
             {"operations": ["UPDATE"], "apiGroups": ["ex.io"], "apiVersions": ["*"],
              "resources": ["gizmos/status"]}]
    world.webhook.act("/gizmo", lambda review: patched(review, [
        {"op": "add", "path": "/spec", "value": {"size": 3, "unknown": 1}}]))
    world.register("mutating", "m", world.hook("/gizmo", rules=rules[:1]))
    world.register("validating", "v", world.hook("/status", rules=rules[1:]))
    gizmos = "/apis/ex.io/v1/namespaces/default/gizmos"
    made = world.call("POST", gizmos, {"apiVersion": "ex.io/v1", "kind": "Gizmo", "metadata": {"name": "g"}})
    expect_equal(made["spec"], {"size": 3, "color": "red"}, "spec")
    world.call("PATCH", gizmos + "/g/status", {"status": {"ok": True}}, "application/merge-patch+json")
    expect_equal([review["request"]["subResource"] for review in world.webhook.asked("/status")], ["status"],
                 "calls")
    world.call("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.ex.io")


def warnings_and_annotations_reach_the_client_and_the_log(world):
    world.webhook.act("/warn", lambda review: allowed(review, warnings=["mind the gap"],
                                                      auditAnnotations={"seen": "yes"}))
    world.register("validating", "v", world.hook("/warn"))
    body = json.dumps({"metadata": {"name": "warned"}}).encode()
    request = urllib.request.Request(world.served.url + MAPS, body, {"Content-Type": "application/json"},
                                     method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        expect_equal(answer.headers.get_all("Warning"), ['299 - "mind the gap"'], "warnings")
    expect_equal(world.audited("warned")["annotations"], {"warn.example.com/seen": "yes"}, "annotations")


def configurations_are_exempt_and_checked(world):
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    world.webhook.act("/all", lambda review: denied(review, message="no"))
    world.register("validating", "v", world.hook("/all", rules=[rule]))
    world.register("validating", "w", world.hook("/other"))
    review = world.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                        {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}})
    expect_equal(review["kind"], "SelfSubjectAccessReview", "review")
    world.call("DELETE", CONFIGURATIONS + "validatingwebhookconfigurations")
    bad = world.hook("/x", name="short", timeoutSeconds=31, sideEffects="Some",
                     admissionReviewVersions=["v9"],
                     matchConditions=[{"name": "c", "expression": "object.x +"}],
                     clientConfig={"url": "http://127.0.0.1/x"})
    bad["rules"] = [{**ANY_RULE, "operations": ["*", "MAKE"], "resources": ["*/*", "pods"]}]
    refused = world.call("POST", CONFIGURATIONS + "validatingwebhookconfigurations",
                         {"metadata": {"name": "bad"}, "webhooks": [bad]})
    expect_equal(refused["code"], 422, "code")
    for part in ("webhooks[0].name", "webhooks[0].timeoutSeconds", "webhooks[0].sideEffects",
                 "webhooks[0].admissionReviewVersions", "webhooks[0].matchConditions[0].expression",
                 "webhooks[0].clientConfig.url", "webhooks[0].rules[0].operations[1]",
                 "webhooks[0].rules[0].resources"):
        expect(part + ": " in refused["message"], part + " in " + refused["message"])


def bind_policy(world, spec, binding, phase="validating", name="limit"):
    rules = {"resourceRules": [{**ANY_RULE, "operations": ["CREATE", "UPDATE"]}]}
    policy = {"metadata": {"name": name}, "spec": {"matchConstraints": rules, **spec}}
    for path, body in ((phase + "admissionpolicies", policy),
                       (phase + "admissionpolicybindings",
                        {"metadata": {"name": name + "-here"}, "spec": {"policyName": name, **binding}})):
        path = CONFIGURATIONS + path
        made = world.call("POST", path, body)
        expect(made.get("kind") != "Status", made)


def a_policy_denies_with_its_message(world):
    spec = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "variables": [{"name": "keys", "expression": "has(object.data) ? size(object.data) : 0"}],
            "validations": [{"expression": "variables.keys <= int(params.data.max)",
                             "messageExpression": "'at most ' + params.data.max + ' keys'"}]}
    world.make("limits", data={"max": "1"})
    bind_policy(world, spec, {"validationActions": ["Deny"], "paramRef": {
        "name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}})
    expect_equal(world.make("small", data={"a": "1"})["kind"], "ConfigMap", "small")
    refused = world.make("large", data={"a": "1", "b": "2"})
    expect_equal((refused["code"], refused["reason"], refused["message"]), (
        422, "Invalid", "configmaps \"large\" is forbidden: ValidatingAdmissionPolicy 'limit' with binding "
        "'limit-here' denied request: at most 1 keys"), "refusal")
    expect_equal(world.audited("large")["refusedBy"], "limit", "audit")
    expect(world.policy_checks("validating", error_type="invalid_error", enforcement_action="deny") >= 1,
           "metric")
    world.call("DELETE", MAPS + "/limits")
    refused = world.make("unlimited")
    expect("failed to configure binding: no params found" in refused["message"], refused["message"])


def a_policy_warns_and_audits(world):
    bind_policy(world, {"validations": [{"expression": "has(object.data)", "message": "without data"}],
                        "auditAnnotations": [{"key": "name",
                                              "valueExpression": "'is ' + object.metadata.name"}]},
                {"validationActions": ["Warn", "Audit"]})
    expect_equal(world.make("empty")["kind"], "ConfigMap", "answer")
    annotations = world.audited("empty")["annotations"]
    expect_equal(annotations["limit/name"], "is empty", "annotation")
    failures = json.loads(annotations["validation.policy.admission.k8s.io/validation_failure"])
    expect_equal(failures, [{"message": "without data", "policy": "limit", "binding": "limit-here",
                             "expressionIndex": 0, "validationActions": ["Warn", "Audit"]}], "failures")
    for action in ("warn", "audit"):
        expect(world.policy_checks("validating", enforcement_action=action) >= 1, action)


def a_policy_asks_who_may(world):
    account = "authorizer.serviceAccount('default', 'default').requestResource"
    bind_policy(world, {"validations": [
        {"expression": "authorizer.requestResource.check('create').allowed()", "message": "not the caller"},
        {"expression": account + ".check('create').allowed()", "message": "not the account"}]},
        {"validationActions": ["Deny"]})
    refused = world.make("asked")
    expect(refused["message"].endswith("denied request: not the account"), refused["message"])
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
    rule = {"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}
    world.call("POST", roles + "roles", {"metadata": {"name": "maker"}, "rules": [rule]})
    world.call("POST", roles + "rolebindings", {
        "metadata": {"name": "maker"}, "roleRef": {"kind": "Role", "name": "maker"},
        "subjects": [{"kind": "ServiceAccount", "name": "default"}]})
    expect_equal(world.make("asked")["kind"], "ConfigMap", "answer")


def a_policy_says_what_no_object_has(world):
    bind_policy(world, {"validations": [{"expression": "object.dta.a == 'b'"}]},
                {"validationActions": ["Warn"]})

    def warnings():
        status = world.call("GET", CONFIGURATIONS + "validatingadmissionpolicies/limit").get("status", {})
        return status.get("typeChecking", {}).get("expressionWarnings")
    said = eventually("a warning", warnings, 10)[0]
    expect_equal(said["fieldRef"], "spec.validations[0].expression", "place")
    for part in ("/v1, Kind=ConfigMap: compilation failed: ", "undefined field 'dta'"):
        expect(part in said["warning"], said["warning"])


def mutate_by(world, name, *expressions, binding=None, **spec):
    """A policy with these mutations: JSON patches begin with a bracket."""
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}} if text.startswith("[") else
                 {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
                 for text in expressions]
    bind_policy(world, {"mutations": mutations, "reinvocationPolicy": "Never", **spec}, binding or {},
                "mutating", name)


def a_policy_changes_what_is_stored(world):
    world.make("marks", data={"team": "red"})
    mutate_by(world, "marks",
              "Object{metadata: Object.metadata{labels: {'team': params.data.team}},"
              " data: {'size': variables.size}}",
              "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('seen'),"
              " value: object.data.size}]",
              "[JSONPatch{op: 'test', path: '/data/size', value: 'x'},"
              " JSONPatch{op: 'remove', path: '/data'}]",
              variables=[{"name": "size", "expression": "string(size(object.data))"}],
              matchConditions=[{"name": "some", "expression": "object.metadata.name != 'left'"}],
              paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
              binding={"paramRef": {"name": "marks", "namespace": "default",
                                    "parameterNotFoundAction": "Deny"}})
    made = world.make("marked", data={"a": "1"}, metadata={"labels": {"x": "y"}})
    expect_equal((made["data"], made["metadata"]["labels"]),
                 ({"a": "1", "size": "1", "seen": "1"}, {"x": "y", "team": "red"}), "answer")
    expect_equal(world.call("GET", MAPS + "/marked")["data"], made["data"], "stored")
    expect_equal(world.make("left", data={"a": "1"})["data"], {"a": "1"}, "a condition that is false")
    changed = world.call("PATCH", MAPS + "/marked", {"data": {"b": "2"}}, "application/merge-patch+json")
    expect_equal(changed["data"]["size"], "4", "an update")
    expect(world.policy_checks("mutating", policy="marks", policy_binding="marks-here",
                               error_type="no_error") >= 6, "metric")


def policies_come_before_webhooks_and_run_again(world):
    add = "[JSONPatch{op: 'add', path: '/data/%s', value: string(size(object.data))}]"
    mutate_by(world, "again", add % "again", reinvocationPolicy="IfNeeded")
    mutate_by(world, "once", add % "once")
    world.webhook.act("/add", add_key("hook", "1"))
    world.register("mutating", "m", world.hook("/add"))
    expect_equal(world.make("counted", data={"a": "1"})["data"],
                 {"a": "1", "again": "4", "once": "2", "hook": "1"}, "answer")
    expect_equal(len(world.webhook.asked("/add")), 1, "calls")


def a_policy_that_cannot_change_refuses_or_is_ignored(world):
    prefix = "policy 'p' with binding 'p-here' denied request: "
    for expression, message in (
            ("Object{data: Object.data{a: object.absent}}",
             "expression 'Object{data: Object.data{a: object.absent}}' resulted in error: "
             "no such key: absent"),
            ("Object{data: Object.spec{}}", "type mismatch: unexpected type name \"Object.spec\", expected "
             "\"Object.data\", which matches field name path from root Object type"),
            ("Object{daat: 1}", "error applying patch: failed to convert patch object to typed object: "
             ".daat: field not declared in schema"),
            ("[JSONPatch{op: 'remove', path: '/data/b'}]", "JSON Patch: nothing to remove at b")):
        mutate_by(world, "p", expression)
        refused = world.make("refused", data={"a": "1"})
        expect_equal((refused["code"], refused["reason"], refused["message"]),
                     (403, "Invalid", prefix + message), expression)
        expect_equal(world.audited("refused")["refusedBy"], "p", "audit")
        world.begin()
        mutate_by(world, "p", expression, failurePolicy="Ignore")
        expect_equal(world.make("ignored", data={"a": "1"})["data"], {"a": "1"}, expression)
        expect(world.policy_checks("mutating", policy="p", error_type="invalid_error") >= 2, "metric")
        world.begin()
    mutate_by(world, "p", "[JSONPatch{op: 'add', path: '/daat', value: 1}]", failurePolicy="Ignore")
    refused = world.make("refused")
    expect_equal((refused["code"], refused["message"]), (
        500, "Internal error occurred: strict decoding error: unknown field \"daat\""), "unknown member")


def main():
    options = suite.options(__doc__)
    world = World(options.berth)
    try:
        def clean(case):
            def run(given):
                given.begin()
                case(given)
            run.__name__ = case.__name__
            return run
        return suite.run([clean(case) for case in CASES], options.words, world)
    finally:
        world.close()


CASES = [
    a_webhook_changes_what_is_stored,
    an_update_has_both_objects,
    a_webhook_refuses_in_the_words_of_kubernetes,
    mutating_ones_follow_each_other_by_name,
    one_that_wants_it_is_called_again,
    selectors_and_conditions_choose,
    a_condition_that_fails_follows_the_failure_policy,
    lies_and_failures_are_named_or_ignored,
    a_patch_that_does_not_apply_is_an_error_whatever_the_policy,
    a_validating_webhook_may_not_patch,
    a_webhook_that_hangs_harms_nobody_else,
    a_service_is_reached_by_the_flag,
    a_path_with_two_slashes_is_cleaned,
    a_certificate_is_verified,
    a_dry_run_calls_those_without_side_effects,
    a_delete_is_asked_for,
    own_controllers_are_seen,
    subresources_are_chosen_by_name,
    an_equivalent_version_is_converted,
    custom_objects_are_pruned_after_a_patch,
    warnings_and_annotations_reach_the_client_and_the_log,
    configurations_are_exempt_and_checked,
    a_policy_denies_with_its_message,
    a_policy_warns_and_audits,
    a_policy_asks_who_may,
    a_policy_says_what_no_object_has,
    a_policy_changes_what_is_stored,
    policies_come_before_webhooks_and_run_again,
    a_policy_that_cannot_change_refuses_or_is_ignored,
]

if __name__ == "__main__":
    sys.exit(main())
