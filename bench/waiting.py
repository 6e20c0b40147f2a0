#!/usr/bin/env python3
"""What pods cost that wait for their devices (KEP-5007), measured on `berth up`; prints a table.

Two control planes, with and without waiting pods, get the same plain pods in turn; compared is the CPU time
of a batch, which other work on the machine changes little. Then the devices become ready one after the
other, and the time from each report to the pod's binding is taken, as a watch shows it.

    bench/waiting.py [--waiting 1000] [--rounds 150] [--batch 100] [--ready 600] [--per-second 20]
"""

import argparse
import http.client
import json
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "hostile"))
import lab as hostile

DEVICES_A_POOL, NODES = 125, 60
WARM_UP = 2  # rounds that do not count


class Connection:
    """One kept connection: opening one for each request would be most of what is measured."""

    def __init__(self, url):
        self.http = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=60)

    def send(self, method, path, body=None, content_type="application/json"):
        self.http.request(method, path, json.dumps(body) if body is not None else None,
                          {"Content-Type": content_type})
        answer = self.http.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        return json.loads(text)


class Bindings(threading.Thread):
    """When the pods of the namespace got their nodes."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.at, self.changed = {}, threading.Condition()
        http_connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
        http_connection.request("GET", "/api/v1/namespaces/default/pods?watch=1")
        self.lines = http_connection.getresponse()
        self.start()

    def run(self):
        for line in self.lines:
            pod = json.loads(line)["object"]
            if pod["spec"].get("nodeName"):
                with self.changed:
                    self.at.setdefault(pod["metadata"]["name"], time.monotonic())
                    self.changed.notify_all()

    def wait(self, names, seconds=120):
        with self.changed:
            if not self.changed.wait_for(lambda: all(name in self.at for name in names), seconds):
                raise RuntimeError(f"{sum(n not in self.at for n in names)} pods are not bound")


class Plane:
    def __init__(self, lab, waiting):
        self.process, self.api = lab.up()
        self.connection, self.bindings, self.batches = Connection(self.api.url), Bindings(self.api.url), 0
        nodes = [hostile.node(f"n{i:02}") for i in range(NODES)]
        for node in nodes:
            node["status"]["capacity"]["pods"] = node["status"]["allocatable"]["pods"] = "1000"
        self.api.create(hostile.device_class("fab", "fab.x"), hostile.claim_template("card", "fab"), *nodes)
        for begin in range(0, waiting, DEVICES_A_POOL):
            devices = [f"c{i}" for i in range(begin, min(waiting, begin + DEVICES_A_POOL))]
            self.api.create(hostile.resource_slice(f"p{begin}", "fab.x", f"p{begin}", devices,
                                                   binding_conditions=True))
        self.waiting = [f"w-{i:05}" for i in range(waiting)]
        for name in self.waiting:
            self.make(hostile.pod(name, cpu="1m", template="card"))
        if not hostile.wait_for(lambda: len(self.allocated()) == waiting, 300, 1):
            raise RuntimeError("the waiting pods got no devices")
        time.sleep(5)  # until records of waiting and conditions are written

    def make(self, pod):
        self.connection.send("POST", "/api/v1/namespaces/default/pods", pod)

    def allocated(self):
        """Claims with devices, by the pod that owns them."""
        return {c["metadata"]["ownerReferences"][0]["name"]: c for c in self.api.list("ResourceClaim")
                if "allocation" in c.get("status", {})}

    def batch(self, count):
        """CPU milliseconds a plain pod, from its create to its binding; the pods are deleted."""
        self.batches += 1
        names = [f"f-{self.batches}-{i}" for i in range(count)]
        begin = self.cpu_ms()
        for name in names:
            self.make(hostile.pod(name, cpu="1m"))
        self.bindings.wait(names)
        used = self.cpu_ms() - begin
        for name in names:
            self.api.delete("Pod", name, grace_s=0)
        time.sleep(0.2)  # what follows a deletion is not part of the next batch
        return used / count

    def cpu_ms(self):
        """Of all threads; finer than the clock ticks of /proc/PID/stat."""
        tasks = pathlib.Path(f"/proc/{self.process.child.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6

    def make_ready(self, count, per_second):
        """Milliseconds from the report that a device is ready, as it is sent, to the binding of its pod."""
        claims, sent = self.allocated(), {}
        for name in self.waiting[:count]:
            claim = claims[name]
            result = claim["status"]["allocation"]["devices"]["results"][0]
            condition = {"type": "fab.x/Attached", "status": "True", "reason": "Bench", "message": "",
                         "lastTransitionTime": hostile.SOME_TIME}
            device = {key: result[key] for key in ("driver", "pool", "device")} | {"conditions": [condition]}
            path = self.api.path("ResourceClaim", claim["metadata"]["name"], "status")
            sent[name] = time.monotonic()
            self.connection.send("PATCH", path, {"status": {"devices": [device]}}, hostile.MERGE_PATCH)
            time.sleep(max(0, 1 / per_second - (time.monotonic() - sent[name])))
        self.bindings.wait(list(sent))
        return sorted((self.bindings.at[name] - sent[name]) * 1000 for name in sent)


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("waiting", 1000), ("rounds", 150), ("batch", 100), ("ready", 600),
                          ("per-second", 20)):
        words.add_argument("--" + name, type=int, default=default)
    asked = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="berth-waiting-") as folder:
        lab = hostile.Lab(folder)
        try:
            without, beside = Plane(lab, 0), Plane(lab, asked.waiting)
            spent = {without: [], beside: []}
            for turn in range(asked.rounds + WARM_UP):
                for plane in (without, beside) if turn % 2 else (beside, without):
                    cost = plane.batch(asked.batch)
                    if turn >= WARM_UP:
                        spent[plane].append(cost)
            alone, waited = (statistics.mean(spent[plane]) for plane in (without, beside))
            ratios = [b / a - 1 for a, b in zip(spent[without], spent[beside])]
            more, error = statistics.mean(ratios), statistics.stdev(ratios) / len(ratios) ** 0.5
            resident = (beside.process.resident_mib() - without.process.resident_mib()) * 1024 / asked.waiting
            times = beside.make_ready(min(asked.ready, asked.waiting), asked.per_second)
        finally:
            lab.stop()
    percentile = lambda share: times[min(len(times) - 1, int(len(times) * share))]
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, "
          f"{asked.rounds} rounds of {asked.batch} pods")
    print(f"CPU ms a plain pod: {alone:.3f} alone, {waited:.3f} beside {asked.waiting} that wait")
    middle = statistics.median(ratios) * 100
    print(f"  in pairs: {more * 100:+.1f} %, standard error {error * 100:.1f} %, median {middle:+.1f} %")
    print(f"  spread: {min(spent[without]):.3f} to {max(spent[without]):.3f}, "
          f"{min(spent[beside]):.3f} to {max(spent[beside]):.3f}")
    print(f"ready to bound: p50 {percentile(0.5):.1f} ms, p99 {percentile(0.99):.1f} ms, "
          f"of {len(times)}, {asked.per_second} a second")
    print(f"resident KiB a waiting pod, with all its objects: {resident:.1f}")


if __name__ == "__main__":
    main()
