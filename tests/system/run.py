#!/usr/bin/env python3
"""Drives the real `berth up` with the real kubectl, and checks what a person would read.

Each function marked @check is one test; they run in order on one in-memory cluster, those marked
@check_alone start their own. BERTH_BUILD_DIR says where the executable is (build/release), KUBECTL which
kubectl (the one in PATH; without one it is built by Go into ~/.cache/berth, and without Go its tests count as
one skip).
"""

import base64
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite

ROOT = suite.ROOT
BERTH = suite.BERTH
READY_SECONDS_MAX = 40
COMMAND_SECONDS_MAX = 30
STOP_SECONDS_MAX = 2.0
KUBECTL_MODULE = "k8s.io/kubernetes/cmd/kubectl@v1.37.0"

CHECKS = []
ALONE = []


def check(function):
    CHECKS.append(function)
    return function


def check_alone(function):
    ALONE.append(function)
    return function


class Wrong(AssertionError):
    pass


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def has(text, *parts):
    for part in parts:
        found = part.search(text) if isinstance(part, re.Pattern) else part in text
        expect(found, f"wanted {getattr(part, 'pattern', part)!r} in:\n{text}")
    return text


def lacks(text, *parts):
    for part in parts:
        expect(part not in text, f"did not want {part!r} in:\n{text}")
    return text


def row(text, name):
    """The cells of the table row whose first cell is `name`."""
    for line in text.splitlines():
        cells = re.split(r" {2,}", line.strip())
        if cells[0] == name:
            return cells
    raise Wrong(f"no row {name} in:\n{text}")


def find_kubectl():
    named = os.environ.get("KUBECTL")
    found = shutil.which(named or "kubectl")
    if found or named:
        return found
    cache = pathlib.Path.home() / ".cache/berth"
    if (cache / "kubectl").exists():
        return str(cache / "kubectl")
    go = shutil.which("go")
    version = (
        re.search(r"go1\.(\d+)", subprocess.run([go, "version"], capture_output=True, text=True).stdout)
        if go
        else None
    )
    if not version or int(version[1]) < 26:
        return None
    cache.mkdir(parents=True, exist_ok=True)
    built = subprocess.run([go, "install", KUBECTL_MODULE], env=dict(os.environ, GOBIN=str(cache)))
    return str(cache / "kubectl") if built.returncode == 0 else None


class Cluster:
    """One `berth up`. `arguments` come after the kubeconfig's."""

    def __init__(self, directory, *arguments):
        self.directory = pathlib.Path(directory)
        self.kubeconfig = self.directory / "kubeconfig"
        self.arguments = [str(argument) for argument in arguments]
        self.process = None

    def start(self, *more):
        self.kubeconfig.unlink(missing_ok=True)
        self.log = open(self.directory / "log", "ab")
        command = [
            str(BERTH),
            "up",
            "--kubeconfig",
            str(self.kubeconfig),
            "--listen",
            "127.0.0.1:0",
            "--log-level",
            "warning",
        ]
        self.process = subprocess.Popen(
            command + self.arguments + [str(m) for m in more], stdout=self.log, stderr=self.log
        )
        limit = time.monotonic() + READY_SECONDS_MAX
        while not self.kubeconfig.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise Wrong("berth up did not come up:\n" + (self.directory / "log").read_text())
            time.sleep(0.02)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Seconds that a SIGTERM took."""
        if not self.process or self.process.poll() is not None:
            return 0.0
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Wrong("berth up did not end within 15 s of SIGTERM")
        return time.monotonic() - began

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def run(self, *arguments, stdin=None, editor=None):
        environment = {key: value for key, value in os.environ.items() if key != "KUBERNETES_SERVICE_HOST"}
        environment.update(KUBECONFIG=str(self.kubeconfig), HOME=str(self.directory))
        if editor:
            environment["KUBE_EDITOR"] = editor
        return subprocess.run(
            [KUBECTL, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=environment,
            timeout=COMMAND_SECONDS_MAX,
        )

    def __call__(self, *arguments, stdin=None, editor=None):
        """What the command printed; it must succeed."""
        done = self.run(*arguments, stdin=stdin, editor=editor)
        expect(
            done.returncode == 0,
            f"kubectl {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}",
        )
        return done.stdout + done.stderr

    def refused(self, *arguments, stdin=None):
        done = self.run(*arguments, stdin=stdin)
        expect(done.returncode != 0, f"kubectl {' '.join(arguments)} succeeded:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def json(self, *arguments):
        return json.loads(self(*arguments, "-o", "json"))


def pod(name, **spec):
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "registry.example/pause:3.10"}], **spec},
        }
    )


def config(name, **data):
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


@check
def version(k):
    has(k("version"), "Server Version: v1.37")


@check
def api_resources(k):
    text = k("api-resources")
    expect(row(text, "pods")[1:] == ["po", "v1", "true", "Pod"], text)
    has(
        text,
        re.compile(r"resourceclaims +resource\.k8s\.io/v1 +true +ResourceClaim"),
        "podgroups",
        "bindrequests",
    )


@check
def explain(k):
    has(k("explain", "resourceslice.spec.devices.consumesCounters"), "compatibilityGroups", "<[]string>",
        "counterSet", "-required-")
    has(k("explain", "pod.spec.containers.resources"), "limits", "<map[string]Quantity>")
    has(k("explain", "bindrequest.spec"), "podUID", "resourceClaimAllocations")


@check
def get_nodes_table(k):
    text = k("get", "nodes")
    has(text.splitlines()[0], re.compile(r"^NAME +STATUS +ROLES +AGE +VERSION$"))
    expect(row(text, "node-1")[1] == "Ready", text)


@check
def get_wide(k):
    has(k("get", "nodes", "-o", "wide").splitlines()[0], "INTERNAL-IP", "KERNEL-VERSION", "CONTAINER-RUNTIME")


@check
def get_all_namespaces(k):
    text = k("get", "namespaces")
    for name in ("default", "kube-system", "kube-public"):
        expect(row(text, name)[1] == "Active", text)


@check
def create_from_file(k):
    has(k("create", "-f", "-", stdin=pod("one")), "pod/one created")
    has(k("wait", "--for=condition=Ready", "pod/one", "--timeout=20s"), "pod/one condition met")
    cells = row(k("get", "pods"), "one")
    expect(cells[1:4] == ["1/1", "Running", "0"], str(cells))
    has(
        k("get", "pod", "one", "-o", "wide").splitlines()[0],
        "IP",
        "NODE",
        "NOMINATED NODE",
        "READINESS GATES",
    )
    has(k("get", "pods", "-A").splitlines()[0], "NAMESPACE")


@check
def create_again(k):
    has(k.refused("create", "-f", "-", stdin=pod("one")), 'pods "one" already exists')


@check
def get_yaml_json_jsonpath(k):
    has(
        k("get", "pod", "one", "-o", "yaml"),
        "kind: Pod",
        "schedulerName: default-scheduler",
        "qosClass: BestEffort",
    )
    expect(k.json("get", "pod", "one")["spec"]["priority"] == 0, "priority of a plain pod is 0")
    has(k("get", "pod", "one", "-o", "jsonpath={.status.phase}"), "Running")
    expect(k("get", "pod", "one", "-o", "name") == "pod/one\n", "name output")
    lacks(k("get", "pod", "one", "-o", "yaml"), "managedFields")


@check
def selectors(k):
    k("create", "-f", "-", stdin=pod("two"))
    has(lacks(k("get", "pods", "-l", "app=two"), "one"), "two")
    has(lacks(k("get", "pods", "-l", "app in (one),app!=two"), "two"), "one")
    k("wait", "--for=jsonpath={.status.phase}=Running", "pod/two", "--timeout=20s")
    node = k("get", "pod", "two", "-o", "jsonpath={.spec.nodeName}")
    has(k("get", "pods", "--field-selector", f"spec.nodeName={node},status.phase=Running"), "two")
    has(
        k("get", "pods", "--field-selector", "status.phase=Failed"),
        "No resources found in default namespace.",
    )
    has(k.refused("get", "pods", "--field-selector", "spec.size=1"), "field label not supported: spec.size")


@check
def watch(k):
    done = k.run("get", "pods", "-w", "--request-timeout=2s", "--output-watch-events")
    has(done.stdout, re.compile(r"EVENT +NAME"), re.compile(r"ADDED +one"))


@check
def describe_pod(k):
    has(
        k("describe", "pod", "one"),
        re.compile(r"Name: +one"),
        re.compile(r"Status: +Running"),
        re.compile(r"Node: +node-\d"),
        "QoS Class:",
        "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s",
        "Scheduled",
    )


@check
def describe_node(k):
    has(
        k("describe", "node", "node-1"),
        re.compile(r"Name: +node-1"),
        "Capacity:",
        "Allocatable:",
        "KubeletReady",
        re.compile(r"Taints: +<none>"),
        "Allocated resources:",
    )


@check
def describe_claims_and_groups(k):
    k("apply", "-f", str(ROOT / "examples/gang.yaml"))
    has(k("wait", "--for=condition=PodScheduled", "pod/train-0", "--timeout=25s"), "condition met")
    has(k("describe", "podgroup", "train"), re.compile(r"Name: +train"), re.compile(r"Min Count: +4"))
    claim = k("get", "resourceclaims", "-o", "name").split()[0]
    has(k("describe", claim), "Allocation", "Reserved For")
    has(k("get", "resourceclaims"), "allocated,reserved")


@check
def bind_requests(k):
    has(k("get", "bindrequests").splitlines()[0], "NAME", "AGE")
    expect(k("get", "br", "-o", "name") == k("get", "bindrequests", "-o", "name"), "br is the short name")


@check
def create_namespace_and_config_map(k):
    has(k("create", "namespace", "team"), "namespace/team created")
    has(
        k("create", "configmap", "settings", "-n", "team", "--from-literal=a=1"), "configmap/settings created"
    )
    expect(row(k("get", "configmap", "settings", "-n", "team"), "settings")[1] == "1", "one entry")
    has(k.refused("create", "configmap", "late", "-n", "nosuch"), 'namespaces "nosuch" not found')


@check
def run(k):
    has(k("run", "three", "--image=registry.example/pause:3.10", "--restart=Never"), "pod/three created")
    expect(k.json("get", "pod", "three")["spec"]["restartPolicy"] == "Never", "restart policy")


@check
def apply_create_change_remove(k):
    has(k("apply", "-f", "-", stdin=config("conf", a="1", b="2")), "configmap/conf created")
    has(k("apply", "-f", "-", stdin=config("conf", a="1", b="2")), "configmap/conf unchanged")
    has(k("apply", "-f", "-", stdin=config("conf", a="3", b="2")), "configmap/conf configured")
    has(k("apply", "-f", "-", stdin=config("conf", a="3")), "configmap/conf configured")
    expect(k.json("get", "configmap", "conf")["data"] == {"a": "3"}, "the field is gone")


@check
def apply_pod_twice(k):
    has(k("apply", "-f", "-", stdin=pod("applied")), "pod/applied created")
    has(k("apply", "-f", "-", stdin=pod("applied")), "pod/applied unchanged")
    has(
        k.refused("apply", "-f", "-", stdin=pod("applied", nodeSelector={"a": "b"})),
        "pod updates may not change fields other than",
    )


@check
def apply_deployment_defaults(k):
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i:1"}]},
            },
        },
    }
    has(k("apply", "-f", "-", stdin=json.dumps(manifest)), "deployment.apps/web created")
    spec = k.json("get", "deployment", "web")["spec"]
    expect(spec["replicas"] == 1 and spec["strategy"]["rollingUpdate"]["maxSurge"] == "25%", str(spec))
    has(k("describe", "deployment", "web"), "RollingUpdateStrategy:", "25% max unavailable, 25% max surge")
    has(k("delete", "deployment", "web"), 'deployment.apps "web" deleted')


@check
def scale(k):
    k("create", "deployment", "scaled", "--image=nginx", "--replicas=2")
    has(k("scale", "deployment", "scaled", "--replicas=4"), "deployment.apps/scaled scaled")
    expect(k.json("get", "deployment", "scaled")["spec"]["replicas"] == 4, "four replicas")
    has(k.refused("scale", "deployment", "nosuch", "--replicas=4"), "not found")
    k("delete", "deployment", "scaled")


@check
def rollouts(k):
    k("create", "deployment", "served", "--image=web:1", "--replicas=3")
    has(k("rollout", "status", "deployment/served"), "successfully rolled out")
    k("set", "image", "deployment/served", "web=web:2")
    has(k("rollout", "status", "deployment/served"), "successfully rolled out")
    has(k("rollout", "history", "deployment/served"), re.compile(r"^1 ", re.M), re.compile(r"^2 ", re.M))
    has(k("rollout", "undo", "deployment/served"), "rolled back")
    has(k("rollout", "status", "deployment/served"), "successfully rolled out")
    served = k.json("get", "deployment", "served")
    expect(served["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3", str(served))
    images = {p["spec"]["containers"][0]["image"] for p in k.json("get", "pods", "-l", "app=served")["items"]}
    expect("web:1" in images, f"the first image again, not {images}")
    k("rollout", "restart", "deployment/served")
    has(k("rollout", "status", "deployment/served"), "successfully rolled out")
    has(k("get", "deployment", "served"), "3/3")
    k("delete", "deployment", "served")
    k("wait", "--for=delete", "pods", "-l", "app=served", "--timeout=20s")


@check
def jobs_complete(k):
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {
            "completions": 3,
            "parallelism": 2,
            "completionMode": "Indexed",
            "template": {
                "metadata": {"annotations": {"berth.dev/run-time": "200ms"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]},
            },
        },
    }
    k("create", "-f", "-", stdin=json.dumps(job))
    has(k("wait", "--for=condition=complete", "job/train", "--timeout=20s"), "condition met")
    has(k("get", "job", "train"), "Complete", "3/3")
    has(k("describe", "job", "train"), "Completed Indexes:  0-2", "SuccessfulCreate", "Completed")
    k("delete", "job", "train")
    k("wait", "--for=delete", "pods", "-l", "job-name=train", "--timeout=20s")


@check
def namespaces_have_an_account(k):
    k("create", "namespace", "accounts")
    for made in ("serviceaccount/default", "configmap/kube-root-ca.crt"):
        has(k("wait", "--for=create", made, "-n", "accounts", "--timeout=10s"), "condition met")
    has(k("get", "configmap", "kube-root-ca.crt", "-n", "accounts", "-o", "yaml"), "BEGIN CERTIFICATE")
    k("run", "tenant", "--image=web:1", "-n", "accounts")
    spec = k.json("get", "pod", "tenant", "-n", "accounts")["spec"]
    expect(spec["serviceAccountName"] == "default", str(spec))
    expect(spec["volumes"][0]["name"].startswith("kube-api-access-"), str(spec))
    nobody = json.dumps({"spec": {"serviceAccountName": "nobody"}})
    has(
        k.refused("run", "guest", "--image=web:1", "-n", "accounts", f"--overrides={nobody}"),
        'serviceaccount "nobody" not found',
    )
    k("delete", "namespace", "accounts")


@check
def edit(k):
    script = k.directory / "editor"
    script.write_text('#!/bin/sh\nsed -i \'s/  a: "3"/  a: "4"/\' "$1"\n')
    script.chmod(0o755)
    has(k("edit", "configmap", "conf", editor=str(script)), "configmap/conf edited")
    expect(k.json("get", "configmap", "conf")["data"] == {"a": "4"}, "what the editor wrote")


@check
def patch(k):
    has(k("patch", "configmap", "conf", "--type=merge", "-p", '{"data":{"z":"9"}}'), "configmap/conf patched")
    has(k("patch", "configmap", "conf", "--type=json", "-p", '[{"op":"remove","path":"/data/a"}]'), "patched")
    expect(k.json("get", "configmap", "conf")["data"] == {"z": "9"}, "both patches")


@check
def label_and_annotate(k):
    has(k("label", "pod", "one", "tier=front"), "pod/one labeled")
    has(k.refused("label", "pod", "one", "tier=back"), "already has a value")
    has(k("label", "pod", "one", "tier-"), "pod/one unlabeled")
    has(k("annotate", "pod", "one", "note=hello"), "pod/one annotated")
    expect(k.json("get", "pod", "one")["metadata"]["annotations"]["note"] == "hello", "annotation")


@check
def diff(k):
    done = k.run("diff", "-f", "-", stdin=config("conf", z="10"))
    expect(
        done.returncode == 1,
        f"diff exits 1 when something differs, not {done.returncode}:\n{done.stdout}{done.stderr}",
    )
    has(done.stdout, re.compile(r"^-  z: \"9\"", re.M), re.compile(r"^\+  z: \"10\"", re.M))


@check
def replace_and_dry_run(k):
    has(
        k("create", "-f", "-", "--dry-run=server", stdin=config("dry", a="1")),
        "configmap/dry created (server dry run)",
    )
    has(k.refused("get", "configmap", "dry"), 'configmaps "dry" not found')
    has(k("replace", "-f", "-", stdin=config("conf", q="1")), "configmap/conf replaced")


@check
def unknown_fields_and_invalid_objects(k):
    typo = json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "typo"}, "spec": {"container": []}}
    )
    has(k.refused("create", "-f", "-", stdin=typo), 'unknown field "spec.container"')
    nameless = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "bad"},
            "spec": {"containers": [{"name": "c"}]},
        }
    )
    has(k.refused("create", "-f", "-", stdin=nameless), "spec.containers[0].image: Required value")


@check
def cordon_and_taint(k):
    has(k("cordon", "node-1"), "node/node-1 cordoned")
    has(k("get", "nodes"), "Ready,SchedulingDisabled")
    has(k("uncordon", "node-1"), "node/node-1 uncordoned")
    has(k("taint", "node", "node-1", "a=b:NoSchedule"), "node/node-1 tainted")
    has(k("taint", "node", "node-1", "a-"), "node/node-1 untainted")
    has(k.refused("taint", "node", "node-1", "a=b:Sometimes"), "Sometimes")


@check
def services_and_secrets(k):
    has(k("create", "service", "clusterip", "svc", "--tcp=80:8080"), "service/svc created")
    cells = row(k("get", "service", "svc"), "svc")
    expect(cells[1] == "ClusterIP" and cells[2].startswith("10.96.") and cells[4] == "80/TCP", str(cells))
    k("wait", "--for=create", f"ipaddress/{cells[2]}", "--timeout=10s")
    has(k("create", "secret", "generic", "s", "--from-literal=p=text"), "secret/s created")
    expect(row(k("get", "secret", "s"), "s")[1:3] == ["Opaque", "1"], "type and count")
    has(k("create", "job", "work", "--image=i:1"), "job.batch/work created")
    expect(
        k.json("get", "job", "work")["spec"]["selector"]["matchLabels"], "a job selects its pods by its uid"
    )


@check
def events(k):
    has(k("events"), "LAST SEEN", "REASON", "Scheduled", "Pod/one")
    has(k("get", "events"), "pod/one")
    has(
        k("get", "events", "--field-selector", "reason=Scheduled,involvedObject.name=one"),
        "Successfully assigned default/one to node-",
    )


@check
def logs_and_exec(k):
    expect(
        len(k("logs", "one").strip().splitlines()) == 1, "one line that says that there is nothing to read"
    )
    has(k.refused("exec", "one", "--", "ls"), "exec")


@check
def delete_and_wait(k):
    has(k("delete", "pod", "two"), 'pod "two" deleted')
    has(k.refused("get", "pod", "two"), 'Error from server (NotFound): pods "two" not found')
    k("delete", "pod", "three", "--wait=false")
    k("wait", "--for=delete", "pod/three", "--timeout=10s")
    has(k("delete", "namespace", "team"), 'namespace "team" deleted')
    has(k.refused("get", "namespace", "team"), "not found")


@check
def roles_decide(k):
    """An account does what its role says from the next request on, and grants no more than it has."""
    k("create", "serviceaccount", "operator")
    as_operator = "--as=system:serviceaccount:default:operator"
    has(
        k.refused("get", "pods", as_operator),
        'pods is forbidden: User "system:serviceaccount:default:operator" cannot list resource "pods" in API '
        'group "" in the namespace "default"',
    )
    has(k.refused("auth", "can-i", "list", "pods", as_operator), "no")
    k("create", "role", "operator", "--verb=get,list", "--resource=pods")
    k("create", "rolebinding", "operator", "--role=operator", "--serviceaccount=default:operator")
    has(k("auth", "can-i", "list", "pods", as_operator), "yes")
    k("get", "pods", as_operator)
    has(k("auth", "can-i", "--list", as_operator), re.compile(r"pods +\[\] +\[\] +\[get list\]"))
    has(k("auth", "whoami", as_operator), "system:serviceaccounts:default")
    k("create", "rolebinding", "admins", "--clusterrole=admin", "--serviceaccount=default:operator")
    has(
        k.refused("create", "role", "more", "--verb=get", "--resource=nodes", as_operator),
        "is attempting to grant RBAC permissions not currently held",
    )
    has(k("auth", "can-i", "create", "deployments.apps", as_operator), "yes")
    has(k("get", "clusterrole", "admin", "-o", "jsonpath={.rules[*].resources}"), "deployments")


@check
def tokens_of_accounts(k):
    """A token is the account, for those who have nothing else."""
    cluster = k.json("config", "view", "--raw")["clusters"][0]["cluster"]
    authority = k.directory / "ca.crt"
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))

    def with_token(run, token, *arguments):
        return run(
            "--kubeconfig=/dev/null", f"--server={cluster['server']}", f"--certificate-authority={authority}",
            f"--token={token}", *arguments,
        )

    k("create", "serviceaccount", "robot")
    token = k("create", "token", "robot", "--duration=10m").strip()
    has(with_token(k, token, "auth", "whoami"), "system:serviceaccount:default:robot")
    has(with_token(k.refused, token, "get", "pods"), 'User "system:serviceaccount:default:robot" cannot list')
    has(with_token(k, token, "get", "--raw", "/openid/v1/jwks"), '"alg":"ES256"')
    annotations = {"kubernetes.io/service-account.name": "robot"}
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
              "metadata": {"name": "robot-token", "annotations": annotations}}
    k("create", "-f", "-", stdin=json.dumps(secret))
    k("wait", "--for=jsonpath={.data.token}", "secret/robot-token", "--timeout=10s")
    lasting = base64.b64decode(k.json("get", "secret", "robot-token")["data"]["token"]).decode()
    has(with_token(k, lasting, "auth", "whoami"), "system:serviceaccount:default:robot")
    k("delete", "serviceaccount", "robot")
    for ended in (token, lasting):
        has(with_token(k.refused, ended, "get", "pods"), "must be logged in")
    k("wait", "--for=delete", "secret/robot-token", "--timeout=10s")


@check
def certificates_are_signed(k):
    """What `kubectl certificate approve` approves is signed, and its owner is known by it."""
    if not shutil.which("openssl"):
        raise suite.Skip("openssl is missing")
    key, request = k.directory / "eve.key", k.directory / "eve.csr"
    subprocess.run(
        ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
         "/O=dev/CN=eve", "-keyout", str(key), "-out", str(request)],
        check=True, capture_output=True, timeout=COMMAND_SECONDS_MAX,
    )
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "eve"},
        "spec": {
            "request": base64.b64encode(request.read_bytes()).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    }
    k("apply", "-f", "-", stdin=json.dumps(body))
    k("certificate", "approve", "eve")
    k("wait", "csr/eve", "--for=jsonpath={.status.certificate}", "--timeout=10s")
    has(k("get", "csr", "eve"), "Approved,Issued")
    signed = k.directory / "eve.crt"
    signed.write_bytes(base64.b64decode(k("get", "csr", "eve", "-o", "jsonpath={.status.certificate}")))
    k("config", "set-credentials", "eve", f"--client-certificate={signed}", f"--client-key={key}")
    cluster = k.json("config", "view")["clusters"][0]["name"]
    k("config", "set-context", "eve", f"--cluster={cluster}", "--user=eve")
    has(k("--context=eve", "auth", "whoami"), "eve", "dev")


@check
def cluster_info(k):
    has(k("cluster-info"), "Kubernetes control plane", "is running at", "https://127.0.0.1:")


@check_alone
def malformed_manifest(directory):
    """Names file, document, line and path, and exits 1 before it serves."""
    manifest = directory / "bad.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: Pod\nmetadata:\n"
        "  name: p\nspec:\n  containers:\n  - name: 7\n    image: i\n"
    )
    done = subprocess.run(
        [str(BERTH), "up", "--in-memory", "--kubeconfig", str(directory / "kubeconfig"), "-f", str(manifest)],
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
    )
    expect(done.returncode == 1, f"exit {done.returncode}: {done.stdout}{done.stderr}")
    has(done.stderr, "bad.yaml", re.compile(r"document 2|\b(7|8|9|10|11|12|13)\b"), "spec.containers")
    expect(not (directory / "kubeconfig").exists(), "no kubeconfig is written")


@check_alone
def manifest_applied_again(directory):
    """A second start changes what is there; typed lists are taken apart; a bad change serves nothing."""
    manifest = directory / "list.yaml"
    text = (
        "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n  data: {x: '1'}\n"
        "- metadata: {name: b}\n  data: {x: '1'}\n"
    )
    manifest.write_text(text)
    arguments = ("--data-dir", directory / "data", "-f", manifest)
    with Cluster(directory, *arguments) as k:
        k("patch", "configmap", "a", "-p", '{"data":{"mine":"1"}}')
    manifest.write_text(text.replace("'1'", "'2'", 1))
    with Cluster(directory, *arguments) as k:
        expect(k.json("get", "configmap", "a")["data"] == {"x": "2", "mine": "1"}, "a is changed")
        expect(k.json("get", "configmap", "b")["data"] == {"x": "1"}, "b stays")
    manifest.write_text(text.replace("'1'", "7", 1))
    done = subprocess.run(
        [str(BERTH), "up", *map(str, arguments)], capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX
    )
    expect(done.returncode == 1, f"exit {done.returncode}: {done.stdout}{done.stderr}")
    has(done.stderr, "list.yaml:5: document 1: items[0].data.x: ConfigMap a")


def dumped(kind, name, owner=None, version="v1", ns=None, **more):
    """An object as another cluster shows it, with what its server has set."""
    uid = lambda text: str(uuid.uuid5(uuid.NAMESPACE_DNS, text))
    metadata = {"name": name, "uid": uid(kind + name), "resourceVersion": "77", "generation": 3,
                "creationTimestamp": "2026-08-01T10:01:00Z", **({"namespace": ns} if ns else {})}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": owner[0], "name": owner[1], "uid": uid("".join(owner)),
             "controller": True}]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


@check_alone
def manifests_of_another_cluster(directory):
    """Objects of a dump stay: owners are found by kind and name, devices in use and nodes ready."""
    dra = {"version": "resource.k8s.io/v1"}
    request = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    result = {"request": "r", "driver": "gpu.test", "pool": "node-1", "device": "g0"}
    slices = [
        dumped("ResourceSlice", name, ("Node", node), **dra, spec={
            "driver": "gpu.test", "nodeName": node, "devices": [{"name": "g0"}, {"name": "g1"}],
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}})
        for name, node in (("here", "node-1"), ("gone", "ip-10-0-1-5"))]
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}
    items = [
        dumped("DeviceClass", "gpu", **dra, spec={}), *slices,
        dumped("ResourceClaim", "busy-gpu", ("Pod", "busy"), ns="default", **dra, spec=request, status={
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": "busy", "uid": "of-another-server"}]}),
        dumped("Pod", "busy", ns="default", spec={
            "nodeName": "node-1", "resourceClaims": [{"name": "gpu", "resourceClaimName": "busy-gpu"}],
            "containers": [container]}),
        dumped("Pod", "over", ns="default",
               spec={"nodeName": "node-1", "containers": [{"name": "c", "image": "i"}]},
               status={"phase": "Succeeded"}),
        dumped("ConfigMap", "garbage", ns="default"),
        dumped("Node", "far", spec={}, status={"conditions": [{"type": "Ready", "status": "True"}]}),
    ]
    manifest = directory / "dump.json"
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    with Cluster(directory, "--in-memory", "--nodes", "1", "-f", manifest) as k:
        # The garbage collector is at work: it deletes an object whose owner is nowhere.
        k("patch", "configmap", "garbage", "-p", json.dumps({"metadata": {"ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "no", "uid": str(uuid.uuid4())}]}}))
        k("wait", "--for=delete", "configmap/garbage", "--timeout=20s")
        has(k("get", "resourceslices"), "here", "gone")
        node = k.json("get", "node", "node-1")["metadata"]["uid"]
        owners = {name: k.json("get", "resourceslice", name)["metadata"].get("ownerReferences")
                  for name in ("here", "gone")}
        expect(owners["gone"] is None and owners["here"][0]["uid"] == node, f"owners: {owners}")
        claim = k.json("get", "resourceclaim", "busy-gpu")
        expect(claim["status"]["allocation"]["devices"]["results"][0]["device"] == "g0", "allocated")
        expect(k.json("get", "pod", "over")["status"]["phase"] == "Succeeded", "it does not run again")
        expect(not k.json("get", "node", "far")["spec"].get("taints"), "a node that was ready is ready")
        pod = k.json("get", "pod", "busy")["metadata"]["uid"]
        expect([one["uid"] for one in claim["status"]["reservedFor"]] == [pod], "its consumer is here")


@check_alone
def killed_and_restarted(directory):
    """Every acknowledged object is there after kill -9."""
    cluster = Cluster(directory, "--data-dir", directory / "data").start()
    for number in range(5):
        cluster("create", "configmap", f"kept-{number}", f"--from-literal=n={number}")
    cluster.kill()
    with cluster as k:
        for number in range(5):
            expect(
                k.json("get", "configmap", f"kept-{number}")["data"] == {"n": str(number)}, f"kept-{number}"
            )


@check_alone
def lost_database(directory):
    """A data directory without its database is refused, and opened with what is left when told so."""
    data = directory / "data"
    cluster = Cluster(directory, "--data-dir", data).start()
    cluster("create", "configmap", "lost", "--from-literal=n=1")
    cluster.kill()
    for file in data.glob("berth.db*"):
        if not file.name.endswith(".mark"):
            file.unlink()
    done = subprocess.run(
        [str(BERTH), "up", "--data-dir", str(data), "--listen", "127.0.0.1:0"],
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
    )
    expect(done.returncode == 1, f"exit {done.returncode}: {done.stdout}{done.stderr}")
    has(done.stderr, "the database is missing", "--accept-data-loss")
    cluster.start("--accept-data-loss")
    try:
        cluster.refused("get", "configmap", "lost")
        cluster("create", "configmap", "kept", "--from-literal=n=1")
    finally:
        cluster.stop()


@check_alone
def copied_and_restored(directory):
    """A copy made while the server runs has what was written before, and becomes a directory of its own."""
    data, copy, other = directory / "data", directory / "copy", directory / "other"

    def command(*words):
        done = subprocess.run(
            [str(BERTH), *map(str, words)], capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX
        )
        return done.returncode, done.stdout + done.stderr

    with Cluster(directory, "--data-dir", data) as k:
        k("create", "configmap", "before", "--from-literal=n=1")
        code, text = command("backup", "--data-dir", data, copy)
        expect(code == 0, text)
        has(text, "Copied ", f": {copy}")
        k("create", "configmap", "after", "--from-literal=n=1")
        newest = int(k.json("get", "configmap", "after")["metadata"]["resourceVersion"])
        code, text = command("backup", "--data-dir", data, copy)
        expect(code == 1, text)
        has(text, "exists already")
        code, text = command("restore", "--data-dir", data, copy)
        expect(code == 1, text)
        has(text, "holds objects already")
    code, text = command("restore", "--data-dir", other, copy)
    expect(code == 0, text)
    (directory / "second").mkdir()
    with Cluster(directory / "second", "--data-dir", other) as k:
        expect(k.json("get", "configmap", "before")["data"] == {"n": "1"}, "before")
        k.refused("get", "configmap", "after")
        k("create", "configmap", "next", "--from-literal=n=1")
        version = int(k.json("get", "configmap", "next")["metadata"]["resourceVersion"])
        expect(version > newest, f"{version} is behind {newest}")


@check_alone
def other_controllers(directory):
    k = Cluster(directory, "--in-memory", "--nodes", "2", "--controllers", "*,-deployment").start()
    try:
        k("create", "deployment", "idle", "--image=web:1")
        k("create", "job", "done", "--image=web:1")
        k("wait", "--for=jsonpath={.status.ready}=1", "job/done", "--timeout=20s")
        status = k.json("get", "deployment", "idle").get("status", {})
        expect("observedGeneration" not in status, f"nobody acts on the Deployment: {status}")
    finally:
        k.stop()
    done = subprocess.run(
        [str(BERTH), "up", "--controllers", "*,deployments"], capture_output=True, text=True
    )
    expect(done.returncode != 0, "an unknown controller is refused")
    has(done.stderr, "--controllers", '"deployments"', "deployment-controller")


@check_alone
def terminated(directory):
    """SIGTERM ends it within two seconds, with exit status 0, while a client watches."""
    cluster = Cluster(directory, "--in-memory", "--nodes", "2").start()
    watching = subprocess.Popen(
        [KUBECTL, "--kubeconfig", str(cluster.kubeconfig), "get", "nodes", "-w"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(0.5)
    seconds = cluster.stop()
    watching.kill()
    watching.wait()
    expect(seconds <= STOP_SECONDS_MAX, f"took {seconds:.1f} s")
    expect(cluster.process.returncode == 0, f"exit status {cluster.process.returncode}")


@check_alone
def foreign_kubeconfig(directory):
    """A file that Berth did not write stays as it is."""
    mine = directory / "mine"
    mine.write_text("apiVersion: v1\nkind: Config\nclusters: []\n")
    done = subprocess.run(
        [str(BERTH), "up", "--in-memory", "--kubeconfig", str(mine), "--listen", "127.0.0.1:0"],
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
    )
    expect(done.returncode in (1, 2), f"exit {done.returncode}")
    has(done.stderr, "mine")
    expect(mine.read_text().endswith("clusters: []\n"), "the file changed")


@check_alone
def names_and_port_stay(directory):
    """On all interfaces: the certificate has the given names, and the next start the same port and CA."""
    servers, authorities = [], []
    for start in ("first", "second"):
        kubeconfig = directory / start
        command = [str(BERTH), "up", "--in-memory", "--cert-dir", str(directory / "pki"),
                   "--listen", "0.0.0.0:0", "--tls-san", "berth.example.com", "--kubeconfig", str(kubeconfig)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            suite.eventually("the kubeconfig is written", kubeconfig.exists)
            servers.append(re.search(r"server: \"(.*)\"", kubeconfig.read_text())[1])
            authorities.append(directory.joinpath("pki", "ca.crt").read_text())
            port = int(servers[-1].rsplit(":", 1)[1])
            trusting = ssl.create_default_context(cadata=authorities[-1])
            with socket.create_connection(("127.0.0.1", port), timeout=COMMAND_SECONDS_MAX) as plain:
                trusting.wrap_socket(plain, server_hostname="berth.example.com").close()
        finally:
            process.terminate()
            process.wait(COMMAND_SECONDS_MAX)
    expect(servers[0].startswith("https://berth.example.com:"), servers[0])
    expect(servers[0] == servers[1] and authorities[0] == authorities[1], str(servers))


def main():
    global KUBECTL
    only = set(sys.argv[1:])
    if not BERTH.exists():
        print(f"SKIP no executable {BERTH}")
        return suite.close(0, 0, 1)
    KUBECTL = find_kubectl()
    tally = suite.Tally()
    wanted = [function for function in CHECKS if not only or function.__name__ in only]
    with tempfile.TemporaryDirectory(prefix="berth-system-") as scratch:
        if KUBECTL and wanted:
            directory = pathlib.Path(scratch, "shared")
            directory.mkdir()
            cluster = Cluster(directory, "--in-memory", "-f", ROOT / "examples/cluster")
            try:
                with cluster:
                    for function in wanted:
                        tally.attempt(function, cluster)
            except Wrong as error:
                tally.fail("the shared cluster", str(error))
        for function in ALONE:
            if only and function.__name__ not in only:
                continue
            if not KUBECTL and function in (killed_and_restarted, other_controllers, terminated):
                continue
            directory = pathlib.Path(scratch, function.__name__)
            directory.mkdir()
            tally.attempt(function, directory)
    if not KUBECTL:
        print("SKIP everything that needs kubectl: none is installed and Go 1.26 is not there to build it")
    return tally.close(skipped=0 if KUBECTL else 1)


if __name__ == "__main__":
    sys.exit(main())
