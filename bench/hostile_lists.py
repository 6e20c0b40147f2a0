#!/usr/bin/env python3
"""For each list and map of each kind an object where it is as long as a request may be: the slowest answers.

Items are made from the server's schema: once all different, once all equal. An answer takes longer than some
hundred milliseconds if checking an item looks at all others, or if each item's error quotes them.

    bench/hostile_lists.py [--berth build/release/berth] [--kind Pod] [--shown 20]
"""
import argparse
import http.client
import json
import pathlib
import sys
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from hostile_requests import compact
from served import Served

BODY_BYTES = 2_600_000
ITEMS_MAX = 250_000
DEPTH_MAX = 9
GATES = ["GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims"]
# Metadata is the same for all kinds, templates of pods hold what pods hold.
TOLD_ELSEWHERE = {"managedFields", "template", "jobTemplate", "ephemeralContainers", "initContainers"}
KIND_WITH_METADATA = "ConfigMap"


class Client:
    def __init__(self, url):
        self.host = urllib.parse.urlparse(url).netloc
        self.connection = http.client.HTTPConnection(self.host, timeout=120)

    def send(self, method, path, body=None):
        self.connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def get(self, path):
        return json.loads(self.send("GET", path)[1])


class Schemas:
    """Those of one group and version."""

    def __init__(self, document):
        self.named = document["components"]["schemas"]

    def of_kind(self, kind):
        for schema in self.named.values():
            if any(row["kind"] == kind for row in schema.get("x-kubernetes-group-version-kind", [])):
                return schema
        return None

    def resolved(self, schema):
        while True:
            if "$ref" in schema:
                schema = self.named[schema["$ref"].split("/")[-1]]
            elif len(schema.get("allOf", [])) == 1:
                schema = schema["allOf"][0]
            else:
                return schema

    def lists(self, schema, path=(), passed=()):
        """Paths of (name, schema of what is there or of an item, "list", "map", "item" or "member")."""
        schema = self.resolved(schema)
        if len(path) > DEPTH_MAX or id(schema) in passed:
            return
        passed = (*passed, id(schema))
        for name, member in schema.get("properties", {}).items():
            if path and name in TOLD_ELSEWHERE:
                continue
            member = self.resolved(member)
            if member.get("type") == "array":
                yield (*path, (name, member["items"], "list"))
                yield from self.lists(member["items"], (*path, (name, member["items"], "item")), passed)
            elif "additionalProperties" in member:
                yield (*path, (name, member["additionalProperties"], "map"))
            elif member.get("properties"):
                yield from self.lists(member, (*path, (name, member, "member")), passed)

    def value(self, schema, number):
        """One with its scalars alone; the same number gives the same value."""
        schema = self.resolved(schema)
        if "properties" in schema:
            members = {name: self.value(member, number) for name, member in schema["properties"].items()
                       if not {"properties", "items", "additionalProperties"} & self.resolved(member).keys()}
            return {name: value for name, value in members.items() if value is not None}
        if schema.get("format") == "date-time":
            return "2026-01-01T00:00:00Z"
        if schema.get("format") == "int-or-string" or "x-kubernetes-int-or-string" in schema:
            return number
        kinds = {"string": "x%d" % number, "integer": number + 1, "number": number, "boolean": True}
        return schema["enum"][0] if "enum" in schema else kinds.get(schema.get("type"))

    def object(self, path, count, distinct):
        whole = at = {}
        for name, schema, kind in path:
            if kind == "list":
                at[name] = [self.value(schema, i if distinct else 1) for i in range(count)]
            elif kind == "map":
                at[name] = {"k%d" % i: self.value(schema, i if distinct else 1) for i in range(count)}
            else:
                inner = {}
                at[name] = [inner] if kind == "item" else inner
                at = inner
        return whole


def body_of(schemas, path, head, distinct):
    """None: its items have no scalars."""
    few, none = (len(compact(schemas.object(path, count, distinct))) for count in (100, 0))
    if few - none < 100:
        return None
    whole = schemas.object(path, min(100 * BODY_BYTES // (few - none), ITEMS_MAX), distinct)
    whole.update(head)
    whole.setdefault("metadata", {}).setdefault("name", "a")
    return compact(whole)


def created(client):
    """(path of the collection, head of an object, schemas, schema) of each kind that can be created."""
    for group, document in client.get("/openapi/v3")["paths"].items():
        if not group.startswith(("api/", "apis/")):
            continue
        schemas = Schemas(client.get(document["serverRelativeURL"]))
        for resource in client.get("/" + group)["resources"]:
            schema = schemas.of_kind(resource["kind"])
            if "/" in resource["name"] or "create" not in resource["verbs"] or not schema:
                continue
            place = "/namespaces/default/" if resource["namespaced"] else "/"
            head = {"apiVersion": group.split("/", 1)[1], "kind": resource["kind"]}
            yield "/" + group + place + resource["name"] + "?dryRun=All", head, schemas, schema


def measure(client, only):
    """(seconds, kind, list, what) of each answer."""
    for path, head, schemas, schema in created(client):
        if only not in ("", head["kind"]):
            continue
        for steps in schemas.lists(schema):
            if steps[0][0] == "metadata" and head["kind"] != KIND_WITH_METADATA:
                continue
            for distinct in (True, False):
                body = body_of(schemas, steps, head, distinct)
                if body is None:
                    continue
                began = time.monotonic()
                status, answer = client.send("POST", path, body)
                yield (time.monotonic() - began, head["apiVersion"] + " " + head["kind"],
                       ".".join(name for name, _, _ in steps),
                       "%s, %.1f MiB: %d, %.1f MiB" % ("different" if distinct else "equal",
                                                       len(body) / 2**20, status, len(answer) / 2**20))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", default=ROOT / "build" / "release" / "berth")
    parser.add_argument("--kind", default="")
    parser.add_argument("--shown", type=int, default=20)
    options = parser.parse_args()
    served = Served(options.berth, "apiserver", GATES)
    try:
        client = Client(served.url)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        client.send("POST", "/api/v1/namespaces/default/serviceaccounts", compact(account))
        answers = sorted(measure(client, options.kind), reverse=True)
    finally:
        served.close()
    print("%d requests; the slowest:" % len(answers))
    for seconds, kind, where, what in answers[:options.shown]:
        print("%5.0f ms  %s  %s  (%s)" % (seconds * 1e3, kind, where, what))


if __name__ == "__main__":
    main()
