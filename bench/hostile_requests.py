#!/usr/bin/env python3
"""Definitions, custom objects and built-in objects of up to 3 MiB that take a server as long as they can.

For each the CPU time of `berth up`, and how long /healthz takes meanwhile, asked for every 10 ms.
custom_bench.cc has more shapes, without the server around them.

    bench/hostile_requests.py [--berth build/release/berth] [--rounds 3]
"""
import argparse
import http.client
import json
import os
import pathlib
import sys
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from served import Served

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TEXT = {"type": "string"}


def compact(body):
    return json.dumps(body, separators=(",", ":"))


def cpu_seconds(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ruled(properties, rules):
    return {"type": "object", "properties": properties,
            "x-kubernetes-validations": [{"rule": rule, "message": "m"} for rule in rules]}


def chain(term, between, size):
    return between.join([term] * ((size + len(between)) // (len(term) + len(between))))


def spec_with(schema):
    return {"type": "object", "properties": {"spec": schema}}


def definitions():
    lists = "[[[[[[[[[[1]]]]]]]]]]==[[[[[[[[[[]]]]]]]]]]"
    wide = {"p%d" % i: TEXT for i in range(99_000)}
    return {
        "99,000 properties": spec_with({"type": "object", "properties": wide}),
        "160 KiB of rules": spec_with(ruled({"i": {"type": "integer"}}, [
            chain(lists, "||", 9_800) + "||self.i==%d" % i for i in range(16)])),
        "700 copies of a rule": spec_with(ruled(
            {"i": {"type": "integer"}}, [chain("self.i==1", "||", 3_500)] * 700)),
        "30,000 objects below 1,000 rules": spec_with(ruled(
            {"p%d" % i: {"type": "object", "properties": {"a": TEXT}} for i in range(30_000)},
            ["self.p1.a == 'x'"] * 1_000)),
        "50,000 defaults": spec_with({"type": "object", "properties": {
            "p%d" % i: {"type": "string", "default": "x"} for i in range(50_000)}}),
        "a name of 1.4 MB": spec_with({"type": "object", "properties": {
            "n" * 1_400_000: {"type": "object", "properties": {"p%d" % i: TEXT for i in range(30_000)}}}}),
        "patterns": spec_with({"type": "object", "properties": {
            "p%d" % i: {"type": "string", "pattern": ".{1,990}x%d" % i} for i in range(40)}}),
    }


def objects():
    items = {"type": "array", "items": TEXT}
    few = ["e%d" % i for i in range(80_000)]
    texts = ["e%d" % (i % 1_000) for i in range(390_000)]
    long_text = "a" * 2_900_000
    return {
        "a million empty objects": ({"type": "array", "items": {"type": "object"}}, [{}] * 990_000),
        "an enum of 80,000": ({"type": "array", "items": {"type": "string", "enum": few}},
                              few + few + few),
        "unique items": ({"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
                         ["e%d" % i for i in range(290_000)]),
        "comparisons": (ruled({"l": items}, [chain("self.l==self.l", "&&", 200)]), {"l": texts}),
        "a pattern of many states": ({"type": "string", "pattern": "(a|b)*a(a|b){500}c"}, long_text),
    }


def built_in():
    """Requests, in this order: what, method, path, body, media type."""
    core, plain = "/api/v1/namespaces/default/", "application/json"

    def config_map(name, value, count):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                "data": {"k%d" % i: value for i in range(count)}}

    containers = [{"name": "c%d" % i, "image": "i"} for i in range(20_000)]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    removals = [{"op": "remove", "path": "/data/k%d" % i} for i in range(10_000)]
    members = ",".join(['"a":""'] * 350_000)
    repeats = compact(config_map("repeats", "", 0)).replace('"data":{}', '"data":{%s}' % members)
    maps, merge, apply = core + "configmaps", "application/merge-patch+json", "application/apply-patch+yaml"
    requests = [
        ("230,000 keys", "POST", maps, config_map("keys", "", 230_000), plain),
        ("20,000 containers", "POST", core + "pods", pod, plain),
        ("60,000 keys applied", "PATCH", maps + "/a?fieldManager=m", config_map("a", "", 60_000), apply),
        ("applied by another", "PATCH", maps + "/a?fieldManager=n&force=true",
         config_map("a", "x", 60_000), apply),
        ("a merge patch of 40,000 keys", "PATCH", maps + "/a", {"data": config_map("a", "y", 40_000)["data"]},
         merge),
        ("10,000 removals", "PATCH", maps + "/a", removals, "application/json-patch+json"),
    ]
    return [*((what, method, path, compact(body), media_type)
              for what, method, path, body, media_type in requests),
            ("350,000 repeats of a name", "POST", maps, repeats, plain)]


class Health(threading.Thread):
    """Asks for /healthz until it is stopped."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.host = urllib.parse.urlparse(url).netloc
        self.seconds, self.running = [], True

    def run(self):
        connection = http.client.HTTPConnection(self.host, timeout=10)
        while self.running:
            began = time.monotonic()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            self.seconds.append(time.monotonic() - began)
            time.sleep(0.01)

    def percentile_ms(self, share):
        return sorted(self.seconds)[min(int(share * len(self.seconds)), len(self.seconds) - 1)] * 1e3


def send(served, method, path, body=None, media_type="application/json"):
    connection = http.client.HTTPConnection(urllib.parse.urlparse(served.url).netloc, timeout=60)
    connection.request(method, path, body, {"Content-Type": media_type})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def definition(name, schema):
    kind = name.capitalize()
    names = {"plural": name, "singular": name, "kind": kind, "listKind": kind + "List"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "ex.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                       "metadata": {"name": name + ".ex.io"}, "spec": spec})


def measured(served, what, path, body, method="POST", media_type="application/json"):
    """One line: status, CPU time of the server until it is idle again, and of /healthz."""
    health = Health(served.url)
    health.start()
    time.sleep(0.2)
    before, began = cpu_seconds(served.process.pid), time.monotonic()
    status = send(served, method, path, body, media_type)
    wall = time.monotonic() - began
    time.sleep(1)  # what follows from it
    cpu = cpu_seconds(served.process.pid) - before
    health.running = False
    health.join()
    print("%-45s %4d  %5.2f MiB  wall %4.0f ms  CPU %4.0f ms  healthz p50 %5.1f p99 %5.1f max %5.1f ms" % (
        what, status, len(body) / 2**20, wall * 1e3, cpu * 1e3,
        *(health.percentile_ms(share) for share in (0.5, 0.99, 1))), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--berth", default=ROOT / "build" / "release" / "berth")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    served = Served(options.berth, "up", [])
    try:
        for _ in range(options.rounds):
            for what, schema in definitions().items():
                measured(served, "definition: " + what, DEFINITIONS, definition("gizmos", schema))
                send(served, "DELETE", DEFINITIONS + "/gizmos.ex.io")
                time.sleep(1)
            for what, (schema, value) in objects().items():
                send(served, "POST", DEFINITIONS, definition("gizmos", spec_with(schema)))
                time.sleep(1)
                body = compact({"apiVersion": "ex.io/v1", "kind": "Gizmos", "metadata": {"name": "a"},
                                "spec": value})
                measured(served, "object: " + what, "/apis/ex.io/v1/namespaces/default/gizmos", body)
                send(served, "DELETE", DEFINITIONS + "/gizmos.ex.io")
                time.sleep(2)
            for what, method, path, body, media_type in built_in():
                measured(served, "built-in: " + what, path, body, method, media_type)
            for path in ("configmaps/keys", "configmaps/a", "configmaps/repeats",
                         "pods/p?gracePeriodSeconds=0"):
                send(served, "DELETE", "/api/v1/namespaces/default/" + path)
    finally:
        served.close()


if __name__ == "__main__":
    main()
