"""What the scripts share: the program under test, a small API client, test objects, and how a script
ends.

A script defines `story(lab)`, which returns a sentence when all is well and raises Defect when it is not,
and calls `run(story)`. The executable is $BERTH, or build/release/berth of this tree.
"""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from api_resources import path_of

BERTH = os.path.abspath(os.environ.get("BERTH", HERE.parent.parent / "build" / "release" / "berth"))
EXIT_OK, EXIT_DEFECT, EXIT_SKIPPED = 0, 1, 77
START_LIMIT_S = 60
SOME_TIME = "2026-01-01T00:00:00Z"  # lastTransitionTime of conditions that a test sets


class Defect(Exception):
    """The program did not do what it promises."""


class Skip(Exception):
    """Something that the script needs is not on this machine."""


def expect(condition, otherwise):
    if not condition:
        raise Defect(otherwise)


def wait_for(question, seconds=30, step=0.05):
    """The first true answer of `question()`, or None after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() >= end:
            return None
        time.sleep(step)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Process:
    """A child that is up once `pattern` stands in its output."""

    def __init__(self, lab, arguments, name, pattern, env=None):
        self.log = lab.folder / f"{name}-{len(lab.processes)}.log"
        with open(self.log, "w") as log:
            self.child = subprocess.Popen(arguments, stdout=log, stderr=log, env=env)
        lab.processes.append(self)
        self.up = wait_for(lambda: self._look_for(pattern), START_LIMIT_S, 0.02)
        if not self.up:
            raise RuntimeError(f"{name} did not start: {self.output()[-2000:]}")

    def _look_for(self, pattern):
        if self.child.poll() is not None:
            raise RuntimeError(f"{arguments_of(self.child)} ended: {self.output()[-2000:]}")
        return re.search(pattern, self.output())

    def output(self):
        return self.log.read_text(errors="replace")

    def kill(self):
        """As kill -9 does."""
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def arguments_of(child):
    return " ".join(str(word) for word in child.args[:2])


class Lab:
    """A folder for every file and the processes of one story."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.processes = []
        signal.signal(
            signal.SIGTERM, lambda *_: sys.exit("ended by a signal")
        )  # so that processes are stopped

    def up(self, *arguments, data=None):
        """`berth up` over plain HTTP; returns the process and its API."""
        kept = ["--data-dir", str(data)] if data else ["--in-memory"]
        kubeconfig = self.folder / f"up-{len(self.processes)}.kubeconfig"
        command = [BERTH, "up", "--insecure", "--listen", "127.0.0.1:0", "--kubeconfig", str(kubeconfig)]
        process = Process(self, command + kept + list(arguments), "up", r"(http://127\.0\.0\.1:\d+)")
        return process, ready_api(process.up.group(1))

    def stop(self):
        for process in reversed(self.processes):
            process.kill()


def ready_api(url):
    api = Api(url)
    if not wait_for(lambda: api.request("GET", "/readyz")[0] == 200, START_LIMIT_S):
        raise RuntimeError(f"{url} is not ready")
    return api


def run(story):
    """Runs a story in a fresh folder, says how it ended in one line, and ends the program."""
    if not os.access(BERTH, os.X_OK):
        sys.exit(f"no executable at {BERTH}: set BERTH")
    with tempfile.TemporaryDirectory(prefix="berth-hostile-") as folder:
        lab = Lab(folder)
        try:
            print(f"ok: {story(lab)}")
            code = EXIT_OK
        except Defect as defect:
            print(f"DEFECT: {defect}")
            code = EXIT_DEFECT
        except Skip as reason:
            print(f"skipped: {reason}")
            code = EXIT_SKIPPED
        finally:
            lab.stop()
    sys.exit(code)


# The API

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


class Api:
    """A client of one API server, in the namespace default."""

    def __init__(self, url):
        self.url = url

    def request(self, method, path, body=None, content_type="application/json", timeout=30):
        """Status code and decoded answer; code 0 when no answer came."""
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, _decoded(answer.read())
        except urllib.error.HTTPError as refusal:
            return refusal.code, _decoded(refusal.read())
        except (OSError, http.client.HTTPException):
            return 0, {}

    def path(self, kind, name="", subresource="", everywhere=False):
        return path_of(kind, "" if everywhere else "default", name, subresource)

    def create(self, *objects):
        for item in objects:
            code, answer = self.request("POST", self.path(item["kind"]), item)
            if not 200 <= code < 300:
                raise RuntimeError(f"create {item['kind']} {item['metadata']['name']}: {code} {answer}")
            if item["kind"] == "Node" and "status" in item:
                self.patch("Node", item["metadata"]["name"], {"status": item["status"]}, "status")

    def get(self, kind, name):
        code, answer = self.request("GET", self.path(kind, name))
        return answer if code == 200 else None

    def list(self, kind):
        return self.request("GET", self.path(kind, everywhere=True))[1].get("items", [])

    def delete(self, kind, name, grace_s=None):
        body = None if grace_s is None else {"gracePeriodSeconds": grace_s}
        return self.request("DELETE", self.path(kind, name), body)[0]

    def patch(self, kind, name, body, subresource="", content_type=MERGE_PATCH):
        return self.request("PATCH", self.path(kind, name, subresource), body, content_type)[0]

    # What the stories ask for

    def bound(self, prefix=""):
        """Node by name of the bound pods whose name begins with `prefix`."""
        return {
            item["metadata"]["name"]: item["spec"]["nodeName"]
            for item in self.list("Pod")
            if item["spec"].get("nodeName") and item["metadata"]["name"].startswith(prefix)
        }

    def is_bound(self, name):
        return bool((self.get("Pod", name) or {}).get("spec", {}).get("nodeName"))

    def all_bound(self, prefix, count, seconds=30):
        """Whether `count` pods of that prefix are bound within `seconds`."""
        return bool(wait_for(lambda: len(self.bound(prefix)) >= count, seconds, 0.1))

    def group_condition(self, name, field="status"):
        """That field of PodGroupInitiallyScheduled; empty when it is not there."""
        conditions = (self.get("PodGroup", name) or {}).get("status", {}).get("conditions", [])
        return next((c.get(field, "") for c in conditions if c["type"] == "PodGroupInitiallyScheduled"), "")

    def make_ready(self, claim_name, condition=None):
        """Says, as a driver does, that the devices of a claim are attached; false when it has none."""
        status = (self.get("ResourceClaim", claim_name) or {}).get("status", {})
        results = status.get("allocation", {}).get("devices", {}).get("results", [])
        devices = [
            {
                "driver": result["driver"],
                "pool": result["pool"],
                "device": result["device"],
                "conditions": [
                    {
                        "type": condition or f"{result['driver']}/Attached",
                        "status": "True",
                        "reason": "Test",
                        "message": "",
                        "lastTransitionTime": SOME_TIME,
                    }
                ],
            }
            for result in results
        ]
        return (
            bool(devices)
            and self.patch("ResourceClaim", claim_name, {"status": {"devices": devices}}, "status") == 200
        )


def _decoded(text):
    try:
        return json.loads(text or b"{}")
    except ValueError:
        return {"raw": text.decode(errors="replace")}


def devices_held_twice(api):
    """(device, claim, other claim) of each dedicated device that two allocated claims hold."""
    holder, twice = {}, []
    for item in api.list("ResourceClaim"):
        for result in item.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
            device = (result["driver"], result["pool"], result["device"])
            if device in holder:
                twice.append((device, holder[device], item["metadata"]["name"]))
            holder[device] = item["metadata"]["name"]
    return twice


# Objects


def node(name, rack=None, cpu="64"):
    labels = {"kubernetes.io/hostname": name, "berth.dev/simulated": "true"}
    if rack:
        labels["rack"] = rack
    room = {"cpu": cpu, "memory": "256Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": status,
    }


def device_class(name, driver):
    selector = {"cel": {"expression": f"device.driver == '{driver}'"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [selector]},
    }


def resource_slice(name, driver, pool, devices, node_name=None, binding_conditions=False):
    """Dedicated devices; with binding conditions `<driver>/Attached` and `<driver>/AttachFailed`."""
    fabric = {
        "bindsToNode": True,
        "bindingConditions": [driver + "/Attached"],
        "bindingFailureConditions": [driver + "/AttachFailed"],
    }
    spec = {
        "driver": driver,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": device, **(fabric if binding_conditions else {})} for device in devices],
        **({"nodeName": node_name} if node_name else {"allNodes": True}),
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": spec,
    }


def fabric(count, name="fab"):
    """A class and a pool of `count` devices that any node may attach."""
    driver = name + ".x"
    devices = [f"c{i}" for i in range(count)]
    return [device_class(name, driver), resource_slice(name, driver, name, devices, binding_conditions=True)]


def claim(name, class_name, count=1):
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": _claim_spec(class_name, count),
    }


def claim_template(name, class_name, count=1):
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": _claim_spec(class_name, count)},
    }


def _claim_spec(class_name, count):
    request = {"name": "gpu", "exactly": {"deviceClassName": class_name, "count": count}}
    return {"devices": {"requests": [request]}}


def pod_group(name, min_count=None, topology_key=None):
    """A gang, or a basic group when there is no minimum."""
    policy = {"gang": {"minCount": min_count}} if min_count else {"basic": {}}
    spec = {"schedulingPolicy": policy}
    if topology_key:
        spec["schedulingConstraints"] = {"topology": [{"key": topology_key}]}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def pod(name, group=None, template=None, claim_name=None, cpu="1", annotations=None, spec=None):
    container = {"name": "main", "image": "image", "resources": {"requests": {"cpu": cpu}}}
    filled = {"schedulerName": "berth", "containers": [container], "terminationGracePeriodSeconds": 0}
    if template or claim_name:
        source = {"resourceClaimTemplateName": template} if template else {"resourceClaimName": claim_name}
        filled["resourceClaims"] = [{"name": "gpu", **source}]
        container["resources"]["claims"] = [{"name": "gpu"}]
    if group:
        filled["schedulingGroup"] = {"podGroupName": group}
    filled.update(spec or {})
    metadata = {"name": name, "namespace": "default", "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": filled}


def ready_after(seconds):
    """Of `berth up`: the simulated fabric attaches the pod's devices after so long."""
    return {"berth.dev/fabric-ready-after": f"{seconds}s"}


def fail_after(seconds):
    return {"berth.dev/fabric-fail-after": f"{seconds}s"}


def run_time(seconds):
    """Of `berth up`: the pod succeeds after so long."""
    return {"berth.dev/run-time": f"{int(seconds * 1000)}ms"}
