"""The rig (rig/rig.sh) as the suites here use it: a control plane with an audit log, and Berth's processes.

Only the standard library, kubectl and the rig.
"""
import functools
import http.client
import json
import os
import pathlib
import ssl
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import suite
from suite import Failure, eventually

RIG = HERE / "rig" / "rig.sh"
CACHE = pathlib.Path(os.environ.get("RIG_CACHE") or pathlib.Path.home() / ".cache" / "berth-rig")
WAIT_SECONDS_MAX = 60
GATES = "DRADeviceCompatibilityGroups=true,DRAListTypeAttributes=true"  # as the rig has them
POLICY = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""


class ControlPlane:
    """A control plane with RBAC and an audit log, and the parts of Berth that a case starts."""

    def __init__(self, berth, folder, *flags):
        self.berth, self.folder, self.parts = berth, folder, []
        self.audit = folder / "audit.jsonl"
        policy = folder / "policy.yaml"
        policy.write_text(POLICY)
        audit = "--audit-policy-file=%s --audit-log-path=%s" % (policy, self.audit)
        self.started = subprocess.run([RIG, "up", folder / "rig", *flags], capture_output=True, text=True,
                                      env={**os.environ, "RIG_API_FLAGS": audit}, check=False)
        self.kubeconfig = folder / "rig" / "kubeconfig"
        self.connections = threading.local()

    def close(self):
        for part in self.parts:
            part.kill()
            part.wait()
        subprocess.run([RIG, "down", self.folder / "rig", "--purge"], check=False)

    def run(self, *arguments, code=0, kubeconfig=None):
        """What `berth` prints; its exit code is checked."""
        command = [str(self.berth), *arguments, "--kubeconfig", str(kubeconfig or self.kubeconfig)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_SECONDS_MAX, check=False)
        if done.returncode != code:
            raise Failure("%s ended with %d:\n%s%s" % (arguments, done.returncode, done.stdout, done.stderr))
        return done.stdout

    def kubectl(self, *arguments, text=None, good=True):
        done = subprocess.run(["kubectl", "--kubeconfig", str(self.kubeconfig), *arguments], input=text,
                              capture_output=True, text=True, timeout=WAIT_SECONDS_MAX, check=False)
        if good is not None and (done.returncode == 0) != good:
            raise Failure("kubectl %s: %s%s" % (" ".join(arguments), done.stdout, done.stderr))
        return done.stdout if good else done.stdout + done.stderr

    @functools.cached_property
    def access(self):
        """(the cluster of the kubeconfig, the administrator's token)"""
        config = json.loads(self.kubectl("config", "view", "--raw", "-o", "json"))
        return config["clusters"][0]["cluster"], config["users"][0]["user"]["token"]

    def request(self, verb, path, text=None, content="application/json"):
        """(status, body) over a connection of the thread's own: kubectl would take 0.1 s of CPU for each."""
        cluster, token = self.access
        if getattr(self.connections, "open", None) is None:
            tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
            tls.check_hostname = False
            address = cluster["server"].removeprefix("https://")
            self.connections.open = http.client.HTTPSConnection(address, context=tls, timeout=30)
        headers = {"Authorization": "Bearer " + token, "Content-Type": content}
        self.connections.open.request(verb, path, text, headers)
        response = self.connections.open.getresponse()
        return response.status, response.read().decode()

    def call(self, verb, path, body=None, content="application/json", absent=None):
        """The answer; `absent` where the object is not there; a Failure with the server's words else."""
        code, answer = self.request(verb, path, body and json.dumps(body), content)
        if code == 404 and absent is not None:
            return absent
        if code >= 300:
            raise Failure("%s %s: %s" % (verb, path, json.loads(answer).get("message", answer)))
        return json.loads(answer)

    def get(self, *arguments):
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def patch_status(self, kind, name, patch):
        self.kubectl("patch", *kind.split(), name, "--subresource=status", "--type=merge",
                     "-p", json.dumps(patch))

    def node(self, name, allocatable):
        self.kubectl("apply", "-f", "-", text=json.dumps(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        self.patch_status("node", name, {"status": {"capacity": allocatable, "allocatable": allocatable,
                                                    "conditions": [ready]}})

    def kubeconfig_with_token(self, account, namespace):
        """A kubeconfig with the account's token, as a pod would have it."""
        token = self.kubectl("create", "token", account, "-n", namespace).strip()
        config = json.loads(self.kubectl("config", "view", "--raw", "-o", "json"))
        config["users"] = [{"name": "admin", "user": {"token": token}}]
        file = self.folder / (account + ".json")
        file.write_text(json.dumps(config))
        return file

    def start_berth(self, name, *arguments):
        """Runs `berth` here until it serves; its output goes to NAME.log."""
        log = self.folder / (name + ".log")
        began = log.stat().st_size if log.exists() else 0
        with open(log, "a", encoding="utf-8") as out:
            part = subprocess.Popen([str(self.berth), *map(str, arguments)], stdout=out, stderr=out)
        self.parts.append(part)
        eventually(name + " runs", lambda: b"health and metrics" in log.read_bytes()[began:])
        return part

    def scheduler(self, *arguments, gates=GATES, kubeconfig=None):
        """A scheduler with its binder, without an election."""
        return self.start_berth("scheduler", "scheduler", "--with-binder", "--leader-elect=false",
                                "--feature-gates", gates, "--kubeconfig", kubeconfig or self.kubeconfig,
                                *arguments)

    def audited(self):
        """The audit log's events, in its order."""
        for line in self.audit.read_text().splitlines():
            yield json.loads(line)


def run_suite(title, name, cases, make, *flags):
    """Runs a suite on the control plane that `make(berth, folder, *flags)` starts; skips without the rig."""
    chosen = suite.options(title)
    if not (CACHE / "rig").exists():
        print("SKIP %s: not built (tests/cluster/run.py --build): %s" % (name, CACHE / "rig"))
        return suite.close(0, 0, 1)
    with tempfile.TemporaryDirectory(prefix="berth-cluster-") as scratch:
        plane = make(chosen.berth, pathlib.Path(scratch), *flags)
        try:
            if plane.started.returncode != 0:
                print("FAIL: rig: " + plane.started.stderr)
                return suite.close(0, 1)
            return suite.run(cases, chosen.words, plane)
        finally:
            plane.close()
