"""kubectl of four minor versions, verb by verb, as a person would use them."""
import json
import re
import stat

from programs import HERE, Failure, Server, eventually, program

SHOWN_MAX = 1500
MINORS = ("1.34", "1.35", "1.36", "1.37")
LABELS = {"app": "web"}
WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": LABELS},
       "spec": {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": {
           "metadata": {"labels": LABELS}, "spec": {"containers": [
               {"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}]}}}}
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"},
            "data": {"colour": "red", "size": "1"}}
WIDGET = {"apiVersion": "shop.example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
          "spec": {"colour": "red"}}


class Kubectl:
    def __init__(self, server: Server, minor):
        self.server, self.minor = server, minor
        self.path = program("kubectl-" + minor)

    def __call__(self, *arguments, body=None, **options):
        text = json.dumps(body) if body is not None else None
        return self.server.run(self.path, *arguments, text=text, **options)

    def json(self, *arguments):
        return json.loads(self(*arguments, "-o", "json"))


def has(text, *parts):
    for part in parts:
        if not re.search(part, text, re.MULTILINE):
            raise Failure("wanted %r in:\n%s" % (part, text[-SHOWN_MAX:]))


def reads_and_discovers(kubectl):
    has(kubectl("version"), r"Client Version: v%s\." % re.escape(kubectl.minor), r"Server Version: v1\.37")
    has(kubectl("cluster-info"), "control plane.*is running")
    has(kubectl("api-resources"), r"^deployments +deploy +apps/v1 +true +Deployment",
        r"^bindrequests +br +scheduling.berth.dev/v1alpha1")
    has(kubectl("api-resources", "--verbs=list", "--namespaced=false", "-o", "wide"), "^nodes .*get,list")
    has(kubectl("api-versions"), "^apps/v1$", "^resource.k8s.io/v1$", "^scheduling.berth.dev/v1alpha1$")
    has(kubectl("get", "nodes"), r"^node-0+1? +Ready|^\S+ +Ready")
    has(kubectl("get", "nodes", "-o", "wide"), "INTERNAL-IP")
    has(kubectl("describe", "nodes"), "^Allocated resources:", "^Conditions:")
    has(kubectl("get", "--raw", "/readyz"), "ok")
    has(kubectl("get", "--raw", "/readyz?verbose"), r"^\[\+\]etcd ok$", "readyz check passed")
    has(kubectl("get", "nothings", good=False), 'doesn\'t have a resource type "nothings"')
    has(kubectl("get", "pod", "absent", good=False), r'^Error from server \(NotFound\): pods "absent"')


def explains(kubectl):
    has(kubectl("explain", "deployment.spec.strategy.rollingUpdate"), "FIELDS:", "maxSurge")
    has(kubectl("explain", "pods", "--recursive"), "terminationGracePeriodSeconds")
    has(kubectl("explain", "br.spec"), "selectedNode")
    kubectl("create", "-f", HERE / "chart" / "crds")
    kubectl("wait", "--for=condition=Established", "crd/widgets.shop.example.com", "--timeout=20s")
    has(kubectl("explain", "widgets.spec"), "colour.*<string>.*-required-", "enum: red, green, blue")


def applies_client_side(kubectl):
    has(kubectl("apply", "-f", "-", body=WEB), "deployment.apps/web created")
    has(kubectl("apply", "-f", "-", body=WEB), "deployment.apps/web unchanged")
    has(kubectl("rollout", "status", "deployment/web", "--timeout=60s"), "successfully rolled out")
    more = json.loads(json.dumps(WEB))
    more["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    difference = kubectl("diff", "-f", "-", body=more, good=False)
    has(difference, r"^\+ +- name: A", r"^\+ +value: .1.")
    has(kubectl("apply", "-f", "-", "--dry-run=server", body=more), r"configured \(server dry run\)")
    has(kubectl("apply", "-f", "-", body=more), "configured")
    has(kubectl("apply", "-f", "-", body=WEB), "configured")
    container = kubectl.json("get", "deployment", "web")["spec"]["template"]["spec"]["containers"][0]
    assert "env" not in container, container
    has(kubectl("apply", "view-last-applied", "deployment/web"), "image: web:1")
    kubectl("apply", "-f", "-", body=SETTINGS)
    del_size = {**SETTINGS, "data": {"colour": "red"}}
    kubectl("apply", "-f", "-", body=del_size)
    assert kubectl.json("get", "cm", "settings")["data"] == {"colour": "red"}
    wrong = {**SETTINGS, "dta": {"colour": "red"}}
    has(kubectl("apply", "-f", "-", body=wrong, good=False), 'unknown field "dta"')


def applies_custom_resources(kubectl):
    """kubectl sends a patch that /openapi/v3 lists for the kind."""
    has(kubectl("apply", "-f", "-", body=WIDGET), "widget.shop.example.com/w created")
    changed = {**WIDGET, "spec": {**WIDGET["spec"], "colour": "green"}}
    has(kubectl("diff", "-f", "-", body=changed, good=False), r"^\+ +colour: green")
    has(kubectl("apply", "-f", "-", body=changed), "configured")
    has(kubectl("apply", "-f", "-", body=changed), "unchanged")
    assert kubectl.json("get", "widget", "w")["spec"]["colour"] == "green"
    kubectl("delete", "widget", "w")


def prunes(kubectl):
    first = {**SETTINGS, "metadata": {"name": "first", "labels": {"set": "p"}}}
    kubectl("apply", "-f", "-", body=first)
    second = {**SETTINGS, "metadata": {"name": "second", "labels": {"set": "p"}}}
    said = kubectl("apply", "--prune", "-l", "set=p", "--prune-allowlist=core/v1/ConfigMap", "-f", "-",
                   body=second)
    has(said, "second created", "first pruned")
    kubectl("delete", "cm", "-l", "set=p")


def applies_server_side(kubectl):
    side = ("apply", "--server-side", "-f", "-")
    has(kubectl(*side, "--field-manager=a", body=WIDGET), "widget.shop.example.com/w serverside-applied")
    blue = {**WIDGET, "spec": {"colour": "blue"}}
    has(kubectl(*side, "--field-manager=b", body=blue, good=False), "conflict with \"a\"", "spec.colour")
    has(kubectl(*side, "--field-manager=b", "--force-conflicts", body=blue), "serverside-applied")
    managers = {entry["manager"] for entry in kubectl.json(
        "get", "wd", "w", "--show-managed-fields")["metadata"]["managedFields"]}
    assert "b" in managers, managers
    has(kubectl(*side, "--force-conflicts", body=SETTINGS), "configmap/settings serverside-applied")
    has(kubectl("diff", "--server-side", "--force-conflicts", "-f", "-", body={**SETTINGS, "data": {
        "colour": "green"}}, good=False), r"^\+ +colour: green")
    red = {**WIDGET, "spec": {"colour": "mauve"}}
    has(kubectl(*side, "--force-conflicts", body=red, good=False), 'Unsupported value: "mauve"')


def changes(kubectl):
    kubectl("patch", "cm", "settings", "--type=merge", "-p", '{"data":{"m":"1"}}')
    kubectl("patch", "cm", "settings", "--type=json", "-p", '[{"op":"add","path":"/data/j","value":"2"}]')
    kubectl("patch", "deployment", "web", "-p",
            '{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"B","value":"2"}]}]}}}}')
    data = kubectl.json("get", "cm", "settings")["data"]
    assert (data["m"], data["j"]) == ("1", "2"), data
    kubectl("label", "cm", "settings", "tier=front")
    kubectl("annotate", "cm", "settings", "note=here")
    has(kubectl("get", "cm", "-l", "tier=front", "-L", "tier"), "^settings .*front")
    kubectl("set", "env", "deployment/web", "C=3")
    kubectl("set", "resources", "deployment/web", "--requests=cpu=50m")
    has(kubectl("replace", "-f", "-", body={**SETTINGS, "data": {"colour": "pink"}}), "replaced")
    edits(kubectl)


def edits(kubectl):
    editor = kubectl.server.folder / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/colour: pink/colour: black/' \"$1\"\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    has(kubectl("edit", "cm", "settings", EDITOR=str(editor)), "configmap/settings edited")
    assert kubectl.json("get", "cm", "settings")["data"] == {"colour": "black"}
    has(kubectl("edit", "cm", "settings", EDITOR="true"), "Edit cancelled")


def rolls_out(kubectl):
    kubectl("set", "image", "deployment/web", "web=web:2")
    kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=second")
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    has(kubectl("rollout", "history", "deployment/web"), "^REVISION", "second")
    kubectl("rollout", "undo", "deployment/web")
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    kubectl("rollout", "pause", "deployment/web")
    kubectl("rollout", "resume", "deployment/web")
    kubectl("rollout", "restart", "deployment/web")
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    has(kubectl("scale", "deployment/web", "--replicas=3", "--current-replicas=2"), "scaled")
    kubectl("wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=60s")
    has(kubectl("autoscale", "deployment/web", "--min=1", "--max=3"), "autoscaled")
    # Half of the 100m that its pod requests.
    eventually("the autoscaler shows the usage", lambda: re.search(
        r"^web +Deployment/web +cpu: 50%/80% +1 +3 +3 ", kubectl("get", "hpa", "web"), re.MULTILINE))
    has(kubectl("expose", "deployment", "web", "--port=80"), "service/web exposed")


def measures(kubectl):
    has(kubectl("top", "nodes"), r"^NAME +CPU", r"^\S+ +[0-9]+m +[0-9]+% +[0-9]+Mi")
    has(kubectl("top", "pods", "-l", "app=web", "--containers"), r"^POD +NAME", r"^web-\S+ +web +50m +0Mi")
    has(kubectl("top", "pods", "-A", "--sort-by=cpu"), r"^NAMESPACE +NAME", r"^default +web-\S+ +50m +0Mi")
    has(kubectl("get", "pods.metrics.k8s.io", "-l", "app=web"), r"^NAME +CPU +MEMORY +WINDOW",
        r"^web-\S+ +50m +0 +[0-9]+s")
    has(kubectl("top", "pod", "absent", good=False), "NotFound")


def shows_pods(kubectl):
    has(kubectl("get", "all"), "^pod/web-.*Running", "^deployment.apps/web +3/3", "^replicaset.apps/web-")
    has(kubectl("describe", "deployment", "web"), "^Replicas: +3 desired", "ScalingReplicaSet")
    has(kubectl("describe", "pods", "-l", "app=web"), "^Node: ", "^QoS Class: +Burstable")
    name = kubectl("get", "pods", "-o", "jsonpath={.items[0].metadata.name}")
    has(kubectl("describe", "pod", name), "^Events:", "Scheduled")
    has(kubectl("get", "pods", "--sort-by=.metadata.name", "-o", "custom-columns=N:.metadata.name"), "^web-")
    has(kubectl("get", "pods", "-A", "-o", "jsonpath={.items[*].status.phase}"), "Running Running Running")
    has(kubectl("get", "pods", "--field-selector=status.phase=Running", "-o", "name"), "^pod/web-")
    has(kubectl("events", "--for", "deployment/web"), "ScalingReplicaSet")
    has(kubectl("get", "events", "--field-selector=reason=Scheduled"), "Scheduled")
    has(kubectl("logs", name), "simulated pod: it writes no logs")
    has(kubectl("logs", "absent", good=False), r"rror from server \(NotFound\)")
    for verb in (("exec", name, "--", "true"), ("attach", name), ("port-forward", name, "18080:80")):
        has(kubectl(*verb, good=False), "^(Error from server|error: )")


def runs_and_waits(kubectl):
    has(kubectl("run", "single", "--image=i", "--restart=Never"), "pod/single created")
    kubectl("wait", "pod/single", "--for=condition=Ready", "--timeout=60s")
    has(kubectl("create", "job", "once", "--image=i"), "job.batch/once created")
    kubectl("patch", "job", "once", "-p", '{"spec":{"suspend":true}}')
    has(kubectl("create", "cronjob", "often", "--image=i", "--schedule=* * * * *"), "created")
    has(kubectl("create", "job", "now", "--from=cronjob/often"), "job.batch/now created")
    for words in (("configmap", "made", "--from-literal=a=b"),
                  ("secret", "generic", "made", "--from-literal=a=b"),
                  ("namespace", "made"), ("serviceaccount", "made"), ("quota", "made", "--hard=pods=9"),
                  ("role", "made", "--verb=get", "--resource=pods"), ("priorityclass", "made", "--value=5"),
                  ("rolebinding", "made", "--role=made", "--user=me"), ("pdb", "made", "--selector=a=b",
                  "--min-available=1"), ("service", "clusterip", "made", "--tcp=80"),
                  ("ingress", "made", "--rule=a.example.com/=made:80")):
        has(kubectl("create", *words), "created")
        has(kubectl("describe", words[0], "made"), "^Name: +made")


def asks_for_rights(kubectl):
    has(kubectl("auth", "can-i", "create", "deployments"), "^yes")
    has(kubectl("auth", "can-i", "get", "pods", "--as=somebody", good=False), "^no")
    has(kubectl("auth", "can-i", "--list"), r"\*\.\*")
    has(kubectl("auth", "whoami"), "system:masters")
    has(kubectl("create", "token", "made", good=False), "error|Error from server")


def works_on_nodes(kubectl):
    node = kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].spec.nodeName}")
    has(kubectl("cordon", node), "cordoned")
    has(kubectl("drain", node, "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--timeout=60s"),
        "drained")
    has(kubectl("uncordon", node), "uncordoned")
    has(kubectl("taint", "node", node, "k=v:NoSchedule"), "tainted")
    has(kubectl("taint", "node", node, "k-"), "untainted")
    has(kubectl("top", "nodes", good=False), "Metrics API not available")


def watches_and_deletes(kubectl):
    said = kubectl("get", "pods", "-w", "--request-timeout=1s", good=None)
    has(said, "^NAME +READY", "^web-")
    has(kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=60s"), "deleted")
    eventually("its pods are gone", lambda: not kubectl.json("get", "pods", "-l", "app=web")["items"])
    has(kubectl("delete", "namespace", "made", "--timeout=60s"), "deleted")
    has(kubectl("delete", "pods,jobs,cm,wd", "--all", "--timeout=60s"), "deleted")
    has(kubectl("delete", "crd", "widgets.shop.example.com", "--timeout=60s"), "deleted")
    has(kubectl("delete", "cm", "absent", "--ignore-not-found"), "^$")


VERBS = (reads_and_discovers, explains, applies_client_side, applies_custom_resources, prunes,
         applies_server_side, changes, rolls_out, measures, shows_pods, runs_and_waits, asks_for_rights,
         works_on_nodes, watches_and_deletes)


def case_of(minor):
    def case(server):
        kubectl = Kubectl(server, minor)
        for verb in VERBS:
            try:
                verb(kubectl)
            except AssertionError as error:
                raise Failure("%s: %s" % (verb.__name__, error)) from error
    case.__name__ = "kubectl_%s_does_what_people_ask" % minor.replace(".", "_")
    return case


KUBECTL_CASES = tuple(map(case_of, MINORS))
