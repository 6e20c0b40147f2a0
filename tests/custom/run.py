#!/usr/bin/env python3
"""Custom resources of real projects: definitions are accepted, one object of each goes in and comes back.

The definitions are those in the Go modules of the projects, as `go mod download MODULE@VERSION` fetches them;
a project whose module is not in the cache is skipped by name. Objects are made from the schemas: what is
required, and what OBJECTS says besides, where rules ask for more than a schema shows.
"""
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from served import Served

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SECONDS_MAX = 30


@dataclass(frozen=True)
class Project:
    name: str
    module: str  # with its version
    folder: str
    count: int  # definitions in it


PROJECTS = (
    Project("kueue", "sigs.k8s.io/kueue@v0.17.0", "config/components/crd/bases", 11),
    Project("jobset", "sigs.k8s.io/jobset@v0.8.2", "config/components/crd/bases", 1),
    Project("training-operator", "github.com/kubeflow/training-operator@v1.8.1", "manifests/base/crds", 6),
    Project("kuberay", "github.com/ray-project/kuberay/ray-operator@v1.5.0", "config/crd/bases", 3),
    Project("cert-manager", "github.com/cert-manager/cert-manager@v1.21.2", "deploy/crds", 6),
    Project("cluster-api", "sigs.k8s.io/cluster-api@v1.14.2", "core/config/crd/bases", 13),
    Project("gateway-api", "sigs.k8s.io/gateway-api@v1.4.0", "config/crd/experimental", 12),
    Project("prometheus-operator", "github.com/prometheus-operator/prometheus-operator@v0.85.0",
            "example/prometheus-operator-crd", 10),
)

# Objects of kinds whose rules ask for more than their schemas show: merged into what the schema requires.
OBJECTS = {
    "MultiKueueCluster.kueue.x-k8s.io": {"spec": {"clusterSource": {"kubeConfig": {"location": "a"}}}},
    "BackendTLSPolicy.gateway.networking.k8s.io": {
        "spec": {"validation": {"wellKnownCACertificates": "System"}}
    },
    "TCPRoute.gateway.networking.k8s.io": {"spec": {"rules": [{"backendRefs": [{"name": "a", "port": 1}]}]}},
    "TLSRoute.gateway.networking.k8s.io": {
        "spec": {"hostnames": ["a.b"], "rules": [{"backendRefs": [{"name": "a", "port": 1}]}]}},
    "UDPRoute.gateway.networking.k8s.io": {"spec": {"rules": [{"backendRefs": [{"name": "a", "port": 1}]}]}},
}


def module_folder(project):
    """Where `go mod download` puts the module: capitals are written `!c`."""
    cache = os.environ.get("GOMODCACHE")
    if not cache:
        try:
            asked = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True)
            cache = asked.stdout.strip()
        except FileNotFoundError:
            cache = str(pathlib.Path.home() / "go" / "pkg" / "mod")
    escaped = re.sub(r"[A-Z]", lambda match: "!" + match[0].lower(), project.module)
    return pathlib.Path(cache, escaped, project.folder)


def documents(folder):
    """The definitions of a folder, as text."""
    for path in sorted(folder.glob("*.y*ml")):
        for text in re.split(r"(?m)^---\s*$", path.read_text()):
            if re.search(r"(?m)^kind: CustomResourceDefinition\s*$", text):
                yield path.name, text


class Server:
    def __init__(self, served):
        self.host = urllib.parse.urlsplit(served.url).netloc

    def call(self, method, path, body=None, content="application/json"):
        connection = http.client.HTTPConnection(self.host, timeout=SECONDS_MAX)
        data = body if isinstance(body, (str, type(None))) else json.dumps(body)
        connection.request(method, path, data and data.encode(), {"Content-Type": content})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if text.startswith("{") else {"message": text}


def from_pattern(pattern):
    """A text that a usual pattern accepts."""
    for candidate in ("a", "a.b", "1", "a/b", "1s", "1Gi", "a:b", "https://a.b", "/a", "0123456789abcdef",
                      "A", "a=b", "10.0.0.0/8", "v1", "example.com/a", "projects/a", "10m", "true", "1.0"):
        try:
            if re.search(pattern.replace(r"\p", "p"), candidate):
                return candidate
        except re.error:
            return "a"
    return "a"


def value_of(schema):
    """The smallest value that the schema alone accepts."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    if kind == "object":
        value = {}
        options = schema.get("oneOf", [])[:1] + schema.get("anyOf", [])[:1] + schema.get("allOf", [])
        for part in [schema] + options:
            for name in part.get("required", []):
                below = schema.get("properties", {}).get(name) or part.get("properties", {}).get(name) or {}
                value.setdefault(name, value_of(below))
        for number in range(schema.get("minProperties", 0) - len(value)):
            if schema.get("additionalProperties"):
                value["k%d" % number] = value_of(schema["additionalProperties"])
            elif len(schema.get("properties", {})) > number:
                name = sorted(schema["properties"])[number]
                value.setdefault(name, value_of(schema["properties"][name]))
        if schema.get("x-kubernetes-embedded-resource"):
            value.update({"apiVersion": "v1", "kind": "ConfigMap"})
        return value
    if kind == "array":
        return [value_of(schema["items"]) for _ in range(schema.get("minItems", 0))]
    if kind == "integer" or kind == "number":
        least = schema.get("minimum", 0) + (1 if schema.get("exclusiveMinimum") else 0)
        return int(least) if kind == "integer" else least
    if kind == "boolean":
        return False
    texts = {"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "byte": "aGk=", "duration": "1s",
             "uri": "https://a.b", "ipv4": "10.0.0.1", "ipv6": "fe80::1", "cidr": "10.0.0.0/8"}
    if schema.get("format") in texts:
        return texts[schema["format"]]
    text = from_pattern(schema["pattern"]) if schema.get("pattern") else "a"
    return text.ljust(schema.get("minLength", 0), "a")


def merged(value, more):
    if not isinstance(value, dict) or not isinstance(more, dict):
        return more
    return {name: merged(value[name], more[name]) if name in value and name in more
            else more.get(name, value.get(name)) for name in {**value, **more}}


def lost(given, got, path=""):
    """What of `given` did not come back, as paths."""
    if isinstance(given, dict) and isinstance(got, dict):
        return [loss for name, value in given.items() if value is not None
                for loss in (lost(value, got[name], path + "." + name) if name in got
                             else [path + "." + name])]
    if isinstance(given, list) and isinstance(got, list) and len(given) == len(got):
        return [loss for number, (a, b) in enumerate(zip(given, got))
                for loss in lost(a, b, "%s[%d]" % (path, number))]
    return [] if given == got else [path]


def object_of(crd, version):
    schema = version["schema"]["openAPIV3Schema"]
    spec = crd["spec"]
    # The status is its controller's.
    wanted = {name: below for name, below in schema.get("properties", {}).items()
              if name in schema.get("required", []) + ["spec"] and name not in ("metadata", "status")}
    made = {name: value_of(below) for name, below in wanted.items() if name not in ("apiVersion", "kind")}
    made = merged(made, OBJECTS.get(spec["names"]["kind"] + "." + spec["group"], {}))
    return {"apiVersion": spec["group"] + "/" + version["name"], "kind": spec["names"]["kind"],
            "metadata": {"name": made.pop("name", "default")}, **made}


def round_trip(server, name):
    """One object of a definition in each of its served versions' default: created, read, applied, deleted."""
    def established():
        crd = server.call("GET", DEFINITIONS + "/" + name)[1]
        states = {row["type"]: row["status"] for row in crd["status"]["conditions"] or []}
        return crd if states.get("Established") == "True" else None

    crd = suite.eventually(name + " is established", established, SECONDS_MAX)
    version = next(row for row in crd["spec"]["versions"] if row["storage"])
    if not version["served"]:
        version = next(row for row in crd["spec"]["versions"] if row["served"])
    body = object_of(crd, version)
    scope = "/namespaces/default/" if crd["spec"]["scope"] == "Namespaced" else "/"
    path = "/apis/" + body["apiVersion"] + scope + crd["spec"]["names"]["plural"]
    code, answer = server.call("POST", path + "?fieldValidation=Strict", body)
    if code != 201:
        raise suite.Failure("%s: %s\n%s" % (name, answer.get("message"), json.dumps(body)))
    one = path + "/" + body["metadata"]["name"]
    got = server.call("GET", one)[1]
    if lost(body, got):
        raise suite.Failure("%s: lost %s" % (name, lost(body, got)))
    code, applied = server.call("PATCH", one + "?fieldManager=suite&force=true", body,
                                "application/apply-patch+yaml")
    if code != 200 or lost(body, applied):
        raise suite.Failure("%s: apply: %d %s" % (name, code, applied.get("message") or lost(body, applied)))
    code, deleted = server.call("DELETE", one)
    if code != 200:
        raise suite.Failure("%s: delete: %d %s" % (name, code, deleted.get("message")))


def project_case(project, berth):
    def case():
        folder = module_folder(project)
        if not folder.is_dir():
            raise suite.Skip("no module: go mod download " + project.module)
        served = Served(berth, "apiserver", [])
        try:
            server = Server(served)
            names, complaints = [], []
            for file, text in documents(folder):
                code, answer = server.call("POST", DEFINITIONS, text, "application/yaml")
                if code != 201:
                    complaints.append("%s: %d %s" % (file, code, answer.get("message")))
                else:
                    names.append(answer["metadata"]["name"])
            if len(names) + len(complaints) != project.count:
                complaints.append("%d definitions, not %d" % (len(names) + len(complaints), project.count))
            for name in names:
                try:
                    round_trip(server, name)
                except suite.Failure as failure:
                    complaints.append(str(failure))
            for name in names:
                server.call("DELETE", DEFINITIONS + "/" + name)
            suite.eventually("no definition is left",
                             lambda: not server.call("GET", DEFINITIONS)[1]["items"], SECONDS_MAX)
            if complaints:
                raise suite.Failure("\n".join(complaints))
        finally:
            served.close()
    case.__name__ = project.name
    return case


def own_definitions(berth):
    """What `berth crds` prints is valid; the embedded server goes on with its own resources."""
    served = Served(berth, "apiserver", [])
    try:
        server = Server(served)
        printed = subprocess.run([str(berth), "crds"], capture_output=True, text=True, check=True)
        for text in re.split(r"(?m)^---\s*$", printed.stdout):
            if not text.strip():
                continue
            code, answer = server.call("POST", DEFINITIONS, text, "application/yaml")
            if code != 201:
                raise suite.Failure("%d %s" % (code, answer.get("message")))
            path = "/apis/%s/%s/%s" % (answer["spec"]["group"], answer["spec"]["versions"][0]["name"],
                                       answer["spec"]["names"]["plural"])
            if server.call("GET", path)[0] != 200:
                raise suite.Failure("the built-in resource is gone: " + path)
    finally:
        served.close()


def main():
    options = suite.options(__doc__)
    tally = suite.Tally()
    if not options.words or any(word in "own_definitions" for word in options.words):
        tally.attempt(own_definitions, options.berth)
    for project in PROJECTS:
        if not options.words or any(word in project.name for word in options.words):
            tally.attempt(project_case(project, options.berth))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
