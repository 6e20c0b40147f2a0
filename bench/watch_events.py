#!/usr/bin/env python3
"""What an event of a watch costs a component that follows a cluster; prints a line.

A `berth scheduler` for another scheduler's name watches pods that a client creates as fast as Berth's server
takes them: it reads, decodes and keeps each, and decides nothing.

    bench/watch_events.py [--berth build/release/berth] [--events 200000]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from api_server import cpu_seconds, memory_mib, native_load
from programs import Server

QUIET_SECONDS = 1.0
EVENTS_A_SECOND = 10000  # at which the share of a core is told


def settled_cpu(pid):
    """CPU seconds of the process once it has nothing to do."""
    before = cpu_seconds(pid)
    while True:
        time.sleep(QUIET_SECONDS)
        now = cpu_seconds(pid)
        if now - before < 0.02 * QUIET_SECONDS:
            return now
        before = now


def measure(berth, folder, events):
    server = Server(berth, folder, part="apiserver")
    command = [berth, "scheduler", "--with-binder", "--kubeconfig", server.kubeconfig, "--leader-elect=false",
               "--scheduler-name", "another"]
    with open(folder / "scheduler.log", "w", encoding="utf-8") as log:
        scheduler = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
    try:
        native_load(server.kubeconfig, berth, 0, 1000)
        began = settled_cpu(scheduler.pid)
        made = native_load(server.kubeconfig, berth, 1000, events)
        took = settled_cpu(scheduler.pid) - began
        print("%d events at %.0f/s: %.1f us of CPU each, at %d a second %.2f of a core; %d MiB" % (
            events, made["per_second"], took / events * 1e6, EVENTS_A_SECOND,
            took / events * EVENTS_A_SECOND, memory_mib(scheduler.pid)))
    finally:
        scheduler.kill()
        scheduler.wait()
        server.close()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--berth", type=pathlib.Path, default=ROOT / "build" / "release" / "berth")
    options.add_argument("--events", type=int, default=200000)
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options.berth.resolve(), pathlib.Path(folder), options.events)


if __name__ == "__main__":
    main()
