#!/usr/bin/env python3
"""How near its deadline a silent device becomes Unknown, in a guest's NodeDeviceHealth; prints a line.

A driver tells its devices once (each message names all); `--timeout` seconds later the report must say
Unknown. Measured is the time from the last words to the report, as a watch shows it, less the time-out.

    bench/health_deadlines.py [--devices 16] [--rounds 10] [--timeout 2]
"""

import argparse
import http.client
import json
import pathlib
import statistics
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "health"))
from run import REPORTS, Cluster, Guest, eventually


class Watch(threading.Thread):
    """When each device was first reported Unknown since `forget`."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.unknown = {}
        connection = http.client.HTTPConnection(cluster.address)
        connection.request("GET", REPORTS + "?watch=1")
        self.lines = connection.getresponse()
        self.start()

    def run(self):
        for line in self.lines:
            now = time.monotonic()
            for one in json.loads(line)["object"]["spec"].get("devices", []):
                if one["health"] == "Unknown":
                    self.unknown.setdefault(one["device"], now)
                else:
                    self.unknown.pop(one["device"], None)


def lateness(devices, timeout):
    """In ms, of one silence of all devices: after it the guest leaves the stream to the kubelet."""
    with Cluster(ROOT / "build/release/berth") as cluster:
        guest = Guest(cluster)
        driver = guest.driver(*devices, timeout=timeout)
        watch = Watch(cluster)
        for device in devices:
            told = time.monotonic()
            driver.stdin.write(device + " Healthy\n")
            driver.stdin.flush()
        eventually("all are Unknown", lambda: len(watch.unknown) == len(devices), timeout * 3)
        return [(watch.unknown[device] - told - timeout) * 1e3 for device in devices]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--timeout", type=int, default=2)
    options = parser.parse_args()
    devices = ["gpu-%d" % n for n in range(options.devices)]
    late = sorted(sum((lateness(devices, options.timeout) for _ in range(options.rounds)), []))
    print("%d deadlines, late by (ms): min %.0f, median %.0f, p99 %.0f, max %.0f" % (
        len(late), late[0], statistics.median(late), late[int(len(late) * 0.99)], late[-1]))


if __name__ == "__main__":
    main()
