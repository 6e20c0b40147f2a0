#!/usr/bin/env python3
"""Runs the recorded requests of tests/data/observed against `berth apiserver` and compares the answers.

Each case file gets an empty server of its own. A step that differs fails the run, unless open.txt lists it:
then it counts as skipped. Entries of open.txt that agree by now are named at the end; `--write-open` rewrites
the file with what differs today.
"""
import argparse
import concurrent.futures
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import compare
import record

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite

DATA = suite.ROOT / "tests" / "data" / "observed"
OPEN = pathlib.Path(__file__).resolve().with_name("open.txt")
EVERY_GATE = ("DRADeviceCompatibilityGroups DRAListTypeAttributes DRADerivedAttributes GenericWorkload "
              "TopologyAwareWorkloadScheduling CompositePodGroup DRAWorkloadResourceClaims "
              "PodGroupPreemptionPolicy DRAResourcePoolStatus WorkloadWithJob").split()
# Folder below DATA, and the gates of its server. Folders that need more than the API server are in NOT_RUN.
FOLDERS = ((".", EVERY_GATE), ("default-gates", []), ("generic-workload-only", ["GenericWorkload"]),
           ("short-history", EVERY_GATE))
# The recorded server forgot by age, ours forgets by number of events.
MORE_FLAGS = {"short-history": ["--watch-window", "3"]}
NOT_RUN = {"scheduler": "needs scheduler and controllers beside the API server"}
START_SECONDS_MAX = 20
SERVERS_AT_ONCE = 6


class Served:
    """An empty `berth apiserver`, ended on exit."""

    def __init__(self, berth, gates, more_flags=()):
        self.scratch = tempfile.TemporaryDirectory(prefix="berth-observed-")
        kubeconfig = pathlib.Path(self.scratch.name, "kubeconfig")
        self.log = open(pathlib.Path(self.scratch.name, "log"), "w+")
        command = [str(berth), "apiserver", "--in-memory", "--insecure", "--listen", "127.0.0.1:0",
                   "--kubeconfig", str(kubeconfig), *more_flags]
        if gates:
            command += ["--feature-gates", ",".join(gate + "=true" for gate in gates)]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        limit = time.monotonic() + START_SECONDS_MAX
        while not kubeconfig.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                self.log.seek(0)
                text = self.log.read()
                self.close()
                raise RuntimeError("berth apiserver did not start: " + text[-500:])
            time.sleep(0.02)
        self.url = re.search(r"server: \"?(http[^\s\"]+)", kubeconfig.read_text())[1]

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.scratch.cleanup()

    def alive(self):
        return self.process.poll() is None


def run_file(berth, folder, gates, path):
    """(steps that agree, {step that differs: first differences}, sentence about a broken run or None)."""
    recorded = DATA / folder / "observed" / path.name
    want = {(w["case"], w["step"]): w for w in record.load(str(recorded))}
    agree, differ = [], {}
    served = Served(berth, gates, MORE_FLAGS.get(folder, ()))
    try:
        server = record.Server(served.url, "none", False, None)
        for step, got in record.run_file(server, str(path)):
            label = step["case"] + "/" + step["step"]
            found = list(compare.differences(want[(step["case"], step["step"])], got))
            if found:
                differ[label] = found
            else:
                agree.append(label)
        return agree, differ, None if served.alive() else "the server died"
    except (OSError, record.http.client.HTTPException) as error:
        return agree, differ, "the server broke off: %s" % error
    finally:
        served.close()


def literal(pattern):
    return "[" not in pattern and "*" not in pattern and "?" not in pattern


def write_open(results):
    lines = ["# Steps whose answers differ from the recording, by file: FILE CASE/STEP. Only shrinks.", ""]
    for name in sorted(results):
        lines += ["%s %s" % (name, label) for label in results[name][1]]
    OPEN.write_text("\n".join(lines) + "\n")


def show(name, label, found):
    print("DIFFERENT %s %s" % (name, label))
    for path, want, got in found[:8]:
        print("    %s\n      want %s\n      got  %s" % (path, compare.short(want), compare.short(got)))


def run_all(berth, only):
    jobs = []
    for folder, gates in FOLDERS:
        for path in sorted((DATA / folder / "cases").glob("*.jsonl")):
            if not only or only in path.name:
                jobs.append((folder, gates, path))
    # The longest first: they wait.
    jobs.sort(key=lambda job: not any(name in job[2].name for name in ("50-expired", "11-watch")))
    results, lock = {}, threading.Lock()

    def one(job):
        result = run_file(berth, *job)
        with lock:
            results[job[2].name] = result

    with concurrent.futures.ThreadPoolExecutor(SERVERS_AT_ONCE) as pool:
        list(pool.map(one, jobs))
    return results


def report(results, rules):
    passed = failed = 0
    skipped, agreeing = [], []
    for name in sorted(results):
        agree, differ, broken = results[name]
        bad = 0
        for label, found in differ.items():
            if compare.excused(rules, name, label, "*"):
                skipped.append(name + " " + label)
                continue
            bad += 1
            show(name, label, found)
        agreeing += [name + " " + label for label in agree if any(
            rule[0] == name and rule[1] == label and literal(rule[1]) for rule in rules)]
        if broken:
            print("BROKEN %s: %s" % (name, broken))
            bad += 1
        still_open = len(differ) - bad + bool(broken)
        print("%-34s %4d equal, %4d open, %4d different" % (name, len(agree), still_open, bad))
        passed, failed = passed + len(agree), failed + bad
    for line in agreeing:
        print("note: no longer open: " + line)
    for line in skipped:
        print("SKIP " + line)
    for folder, why in NOT_RUN.items():
        print("SKIP %s: %s" % (folder, why))
    return suite.close(passed, failed, len(skipped) + len(NOT_RUN))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="files whose name holds this")
    parser.add_argument("--write-open", action="store_true", help="list what differs now in open.txt")
    parser.add_argument("--all", action="store_true", help="show open differences too")
    arguments = parser.parse_args()
    started = time.monotonic()
    results = run_all(suite.BERTH, arguments.only)
    if arguments.write_open:
        return write_open(results)
    rules = [] if arguments.all or not OPEN.exists() else compare.read_ignored(str(OPEN))
    print("took %.0f s" % (time.monotonic() - started))
    return report(results, rules)


if __name__ == "__main__":
    sys.exit(main())
