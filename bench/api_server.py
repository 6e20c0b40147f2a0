#!/usr/bin/env python3
"""The API server under load, over TLS and on disk, as other programs meet it; prints a line a figure.

Client and server share the machine. `tests/cluster/run.py --build --suites clients` builds the Go client and
the real control plane for `beside`.

    bench/api_server.py [--berth build/release/berth] [--scale 1.0] [PART ...]

Parts: writes webhooks list sync restart watches replicas nodes beside; all of them without a name.
"""
import argparse
import base64
import http.client
import json
import os
import pathlib
import re
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cluster" / "clients"))
from programs import Server, eventually, program
from self_signed import make_certificate

WORKERS = 64
WATCHES = 10000  # one connection each (HTTP/1.1); the server takes 12,288
MIB = 1 << 20
RIG = ROOT / "tests" / "cluster" / "rig" / "rig.sh"
MEDIA_TYPES = {"protobuf": "application/vnd.kubernetes.protobuf", "json": "application/json"}
PODS = "/api/v1/namespaces/default/pods"


def cpu_seconds(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid):
    status = pathlib.Path("/proc/%d/status" % pid).read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


def load(kubeconfig, first, count, *rate):
    command = [program("clients"), "load", "default", first, count, WORKERS, *rate]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True,
                          env={**os.environ, "KUBECONFIG": str(kubeconfig)})
    return json.loads(done.stdout)


def native_load(kubeconfig, berth, first, count, workers=WORKERS):
    """The same creates by a client that leaves the cores to the server."""
    command = [berth.parent / "create-load", kubeconfig, "default", first, count, workers]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def connection(server, folder):
    """An HTTPS connection with the administrator's certificate."""
    config = server.kubeconfig.read_text()
    for name in ("certificate-authority", "client-certificate", "client-key"):
        (folder / name).write_bytes(base64.b64decode(re.search(name + r"-data: (\S+)", config)[1]))
    context = ssl.create_default_context(cafile=folder / "certificate-authority")
    context.load_cert_chain(folder / "client-certificate", folder / "client-key")
    address = re.search(r"server: \"?https://([^\s\"]+)", config)[1]
    return http.client.HTTPSConnection(address, context=context, timeout=60)


def seconds_of_list(open_connection, path, media_type):
    """(seconds, bytes)"""
    began = time.monotonic()
    open_connection.request("GET", path, headers={"Accept": media_type})
    size = len(open_connection.getresponse().read())
    return time.monotonic() - began, size


def measure_writes(server, scale):
    count, berth = int(40000 * scale), pathlib.Path(server.command[0])
    for client, create in (("client-go", lambda: load(server.kubeconfig, 0, count)),
                           ("create-load", lambda: native_load(server.kubeconfig, berth, count, count))):
        began = server.cpu_seconds()
        made = create()
        print("writes by %s: %d creates, %.0f/s, p50 %.1f ms, p99 %.1f ms; server %.0f us of CPU each" % (
            client, count, made["per_second"], made["p50_ms"], made["p99_ms"],
            (server.cpu_seconds() - began) / count * 1e6), flush=True)


def register_webhooks(server, folder, url):
    """A mutating and a validating one that see the create of every pod."""
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    for kind, path in (("mutating", "/mutate"), ("validating", "/validate")):
        client = {"url": url + path, "caBundle": base64.b64encode((folder / "cert").read_bytes()).decode()}
        hook = {"name": kind + ".example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "rules": [rule], "clientConfig": client}
        asked = connection(server, folder)
        asked.request("POST", "/apis/admissionregistration.k8s.io/v1/%swebhookconfigurations" % kind,
                      json.dumps({"metadata": {"name": kind}, "webhooks": [hook]}),
                      {"Content-Type": "application/json"})
        answer = asked.getresponse()
        assert answer.status == 201, answer.read()


def measure_webhooks(server, scale):
    """Creates one after the other, then 64 at a time; `berth binder` answers the reviews."""
    berth, count = pathlib.Path(server.command[0]), int(2000 * scale)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        make_certificate(folder)
        log = folder / "binder.log"
        with open(log, "w", encoding="utf-8") as out:
            binder = subprocess.Popen(
                [berth, "binder", "--kubeconfig", server.kubeconfig, "--leader-elect=false", "--listen",
                 "127.0.0.1:0", "--webhook", "--webhook-listen", "127.0.0.1:0", "--tls-cert-file",
                 folder / "cert", "--tls-private-key-file", folder / "key"], stdout=out, stderr=out)
        try:
            url = eventually("the binder answers",
                             lambda: re.search(r"answered on (\S+)/validate", log.read_text()))
            for first, seen_by in ((0, "none"), (10 * count, "two")):
                if seen_by == "two":
                    register_webhooks(server, folder, url[1])
                for workers, offset in ((1, 0), (WORKERS, count)):
                    began = server.cpu_seconds()
                    made = native_load(server.kubeconfig, berth, first + offset, count, workers)
                    used = (server.cpu_seconds() - began) / count * 1e6
                    print("webhooks: seen by %s, %d at a time: %.0f creates/s, p50 %.2f ms, p99 %.2f ms; "
                          "server %.0f us of CPU each" % (seen_by, workers, made["per_second"],
                                                          made["p50_ms"], made["p99_ms"], used), flush=True)
        finally:
            binder.terminate()
            binder.wait()


def measure_list(server, scale):
    load(server.kubeconfig, 0, int(20000 * scale))
    with tempfile.TemporaryDirectory() as folder:
        open_connection = connection(server, pathlib.Path(folder))
        for encoding, media_type in MEDIA_TYPES.items():
            began = server.cpu_seconds()
            runs = [seconds_of_list(open_connection, PODS, media_type) for _ in range(7)]
            print("list: %s, %.1f MB in %.0f ms (median of %d), %.0f ms of CPU each" % (
                encoding, runs[0][1] / 1e6, statistics.median(seconds for seconds, _ in runs) * 1000,
                len(runs), (server.cpu_seconds() - began) / len(runs) * 1000))


def measure_sync(server, scale):
    count = int(200000 * scale)
    made = load(server.kubeconfig, 0, count)
    for encoding in MEDIA_TYPES:
        stored, began = server.memory_mib(), server.cpu_seconds()
        informer = server.spawn(program("clients"), "informer", "default", encoding)
        synced = informer.line(300)
        client, server_cpu = cpu_seconds(informer.process.pid), server.cpu_seconds() - began
        print("sync: %s, %d pods (made at %.0f/s) in %.1f s; CPU of the server %.1f s, of the client %.1f s; "
              "server %d MiB, before %d" % (encoding, count, made["per_second"], synced["synced_seconds"],
                                            server_cpu, client, server.memory_mib(), stored), flush=True)
        informer.close()


def measure_restart(server, scale):
    count = int(200000 * scale)
    load(server.kubeconfig, 0, count)
    server.kill()
    killed = server.start()
    server.kill(15)
    print("restart: with %d pods ready after %.1f s (killed), %.1f s (ended)" % (
        count, killed, server.start()))


def measure_watches(server, scale):
    count = int(WATCHES * scale)
    began = server.cpu_seconds()
    watcher = server.spawn(program("clients"), "watches", "default", count, 1000, 100)
    opened = watcher.line(300)
    memory, opening = server.memory_mib(), server.cpu_seconds()
    heard = watcher.line(300)
    print("watches: %d opened in %.1f s (%.1f s of CPU, server %d MiB); 100 creates/s: %d of %d heard, "
          "p50 %.1f ms, p99 %.1f ms, %.1f s of CPU" % (
              count, opened["seconds"], opening - began, memory, heard["heard"], heard["creates"],
              heard["p50_ms"], heard["p99_ms"], server.cpu_seconds() - opening))


def measure_replicas(server, scale):
    count, labels = int(5000 * scale), {"app": "many"}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "many"},
            "spec": {"replicas": count, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}}
    used, began = server.cpu_seconds(), time.monotonic()
    server.create(body)
    ready = ("get", "deployment", "many", "-o", "jsonpath={.status.readyReplicas}")
    eventually("all replicas are ready", lambda: server.kubectl(*ready) == str(count), 300)
    print("replicas: %d of a Deployment Running and ready after %.1f s, %.1f s of CPU" % (
        count, time.monotonic() - began, server.cpu_seconds() - used))


def measure_nodes(berth, folder, scale):
    count, began = int(10000 * scale), time.monotonic()
    server = Server(berth, folder, "--nodes", str(count))
    try:
        started = time.monotonic() - began
        ready = sum(any(told["type"] == "Ready" and told["status"] == "True" for told in
                        node["status"].get("conditions", [])) for node in server.get("nodes")["items"])
        print("nodes: `up --nodes %d` is ready after %.1f s, %d of them Ready; server %d MiB" % (
            count, started, ready, server.memory_mib()))
    finally:
        server.close()


def measure_beside(berth, folder, scale):
    """The same creates on Berth, then on kube-apiserver with etcd; both sync to disk."""
    count = int(20000 * scale)
    (folder / "berth").mkdir()
    server = Server(berth, folder / "berth", part="apiserver")
    try:
        tell_beside("berth", server.kubeconfig, [server.process.pid], server.started_seconds, count)
    finally:
        server.close()
    began = time.monotonic()
    subprocess.run([RIG, "up", folder / "rig", "--fsync"], check=True)
    try:
        started = time.monotonic() - began
        pids = [int(line.split()[1]) for line in (folder / "rig" / "pids").read_text().splitlines()]
        tell_beside("kube-apiserver and etcd", folder / "rig" / "kubeconfig", pids, started, count)
    finally:
        subprocess.run([RIG, "down", folder / "rig", "--purge"], check=True)


def tell_beside(name, kubeconfig, pids, started, count):
    used = sum(map(cpu_seconds, pids))
    made = load(kubeconfig, 0, count)
    each = (sum(map(cpu_seconds, pids)) - used) / count * 1e6
    print("beside: %s: %.0f creates/s, p99 %.1f ms, %.0f us of CPU each, %d MiB with %d pods, "
          "started in %.1f s" % (name, made["per_second"], made["p99_ms"], each, sum(map(memory_mib, pids)),
                                 count, started), flush=True)


# Each with a server of its own: (its flags, its part of `berth`).
SERVED = {"writes": (measure_writes, "apiserver", ()),
          "webhooks": (measure_webhooks, "apiserver", ()), "list": (measure_list, "apiserver", ()),
          "sync": (measure_sync, "apiserver", ()), "restart": (measure_restart, "apiserver", ()),
          "watches": (measure_watches, "apiserver", ()),
          "replicas": (measure_replicas, "up", ("--nodes", "500"))}
ALONE = {"nodes": measure_nodes, "beside": measure_beside}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", type=pathlib.Path, default=ROOT / "build" / "release" / "berth")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("parts", nargs="*", default=[*SERVED, *ALONE])
    options = parser.parse_args()
    berth = options.berth.resolve()
    for part in options.parts:
        with tempfile.TemporaryDirectory(prefix="berth-bench-") as folder:
            if part in ALONE:
                ALONE[part](berth, pathlib.Path(folder), options.scale)
                continue
            measure, program_part, flags = SERVED[part]
            server = Server(berth, pathlib.Path(folder), *flags, part=program_part)
            try:
                measure(server, options.scale)
            finally:
                server.close()
        sys.stdout.flush()


if __name__ == "__main__":
    main()
