#!/usr/bin/env python3
"""Runs the recorded requests of tests/data/observed against Berth and compares the answers.

Each case file gets an empty `berth apiserver` of its own; each case of scheduler/ an empty `berth up`, whose
events may go on behind Kubernetes' own sentence; conditions may not. A step that differs fails the run,
unless open.txt lists it: then it counts as skipped. Entries of open.txt that agree by now are named at the
end; `--write-open` rewrites the file with what differs today.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import sys
import time

import compare
import record

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from served import Served

DATA = suite.ROOT / "tests" / "data" / "observed"
OPEN = pathlib.Path(__file__).resolve().with_name("open.txt")
EVERY_GATE = ("DRADeviceCompatibilityGroups DRAListTypeAttributes DRADerivedAttributes GenericWorkload "
              "TopologyAwareWorkloadScheduling CompositePodGroup DRAWorkloadResourceClaims "
              "PodGroupPreemptionPolicy DRAResourcePoolStatus WorkloadWithJob").split()
PLANE = "scheduler"
SECURE = ("02-server.jsonl",)  # of several users; on plain HTTP everybody is the administrator
# Folder below DATA, and the gates of its server.
FOLDERS = ((".", EVERY_GATE), ("default-gates", []), ("generic-workload-only", ["GenericWorkload"]),
           ("short-history", EVERY_GATE), (PLANE, []))
# The recorded server forgot by age, ours forgets by number of events. The snapshot of groups is ours alone. A
# device that never gets ready is waited for less long than the recorder polls.
MORE_FLAGS = {"short-history": ["--watch-window", "3"],
              PLANE: ["--feature-gates", "BerthCompatibilityGroupSnapshot=false", "--binding-timeout", "3s"]}
SERVERS_AT_ONCE = 6
TRIES_MAX = 3
# What Berth says in an event behind Kubernetes' own sentence.
EXPLANATION = re.compile(r" pod (group )?[a-z0-9.-]+/[a-z0-9.-]+ waits: .*", re.DOTALL)
TEXTS = ("message", "note")
OWN_TYPES = "scheduling.berth.dev/"
OWN_EVENTS = ("BindingFailed",)  # why, and of which device; Kubernetes' event about the pod follows
CLEAN_UP = ("clean up", "nodes are gone")


def without_explanation(value):
    if isinstance(value, dict):
        return {key: EXPLANATION.sub("", member) if key in TEXTS and isinstance(member, str)
                else member if key == "conditions" else without_explanation(member)
                for key, member in value.items()}
    return [without_explanation(item) for item in value] if isinstance(value, list) else value


def without_own(body):
    """Without conditions of Berth's own types, which stand behind Kubernetes', and its own events."""
    if not isinstance(body, dict):
        return
    if isinstance(body.get("items"), list):
        body["items"] = [item for item in body["items"]
                         if not isinstance(item, dict) or item.get("reason") not in OWN_EVENTS]
        for item in body["items"]:
            without_own(item)
    status = body.get("status")
    if isinstance(status, dict) and isinstance(status.get("conditions"), list):
        status["conditions"] = [condition for condition in status["conditions"]
                                if not condition.get("type", "").startswith(OWN_TYPES)]


def as_kubernetes_says_it(step, got):
    """Without what Berth adds; repeats dropped and events sorted, as the recorder does it."""
    got = without_explanation(got)
    without_own(got["body"])
    for member in step.get("unique") or []:
        if isinstance(got["body"].get(member), list):
            seen = {json.dumps(item, sort_keys=True): item for item in got["body"][member]}
            got["body"][member] = [seen[key] for key in sorted(seen)]
    return got


def begins_alike(path, want, got):
    """A text of Kubernetes in an event, and the same one with more words behind it."""
    of_event = ".conditions" not in path and path.rsplit(".", 1)[-1] in TEXTS
    return of_event and isinstance(want, str) and isinstance(got, str) and want and got.startswith(want)


def one_case(path, case, scratch):
    """A file with the steps of this case, without those that clean up for the next one.

    Priority classes are not cleaned up: those of earlier cases come first.
    """
    every = record.load(str(path))
    steps = [step for step in every if step["case"] == case]
    before = [step for step in every[:every.index(steps[0])]
              if step["method"] == "POST" and step["path"].endswith("/priorityclasses")]
    last = max(n for n, step in enumerate(steps) if step.get("record", True) and step["method"] != "SLEEP")
    kept = [step for step in steps[:last + 1] if step.get("note") not in CLEAN_UP]
    file = pathlib.Path(scratch, path.name)
    file.write_text("".join(json.dumps(step) + "\n" for step in before + kept))
    return file


def run_file(berth, folder, gates, path, case=None):
    """(steps that agree, {step that differs: first differences}, sentence about a broken run or None)."""
    recorded = DATA / folder / "observed" / path.name
    want = {(w["case"], w["step"]): w for w in record.load(str(recorded))}
    agree, differ = [], {}
    secure = path.name in SECURE
    part = "up" if folder == PLANE else "apiserver"
    served = Served(berth, part, gates, MORE_FLAGS.get(folder, ()), secure)
    try:
        server = OfSeveralUsers(served) if secure else record.Server(served.url, "none", False, None)
        steps = one_case(path, case, served.scratch.name) if case else path
        for step, got in record.run_file(server, str(steps)):
            label = step["case"] + "/" + step["step"]
            got = as_kubernetes_says_it(step, got) if folder == PLANE else got
            found = [difference for difference in compare.differences(want[(step["case"], step["step"])], got)
                     if folder != PLANE or not begins_alike(*difference)]
            if found:
                differ[label] = found
            else:
                agree.append(label)
        return agree, differ, None if served.alive() else "the server died"
    except (OSError, record.http.client.HTTPException) as error:
        return agree, differ, "the server broke off: %s" % error
    finally:
        served.close()


class OfSeveralUsers(record.Server):
    """The administrator by certificate; a step that says who asks comes without it."""

    def __init__(self, served):
        super().__init__(served.url, "", False, None)
        self.ctx, self.other = served.tls(True), record.Server(served.url, "", False, None)
        self.other.ctx = served.tls(False)

    def request(self, method, path, headers, *arguments, **options):
        request = self.other.request if "Authorization" in headers else super().request
        return request(method, path, headers, *arguments, **options)


def cases_of(path):
    return list(dict.fromkeys(step["case"] for step in record.load(str(path))))


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


def jobs_of(only):
    jobs = []
    for folder, gates in FOLDERS:
        for path in sorted((DATA / folder / "cases").glob("*.jsonl")):
            if only and only not in path.name:
                continue
            for case in cases_of(path) if folder == PLANE else [None]:
                jobs.append((folder, gates, path, case))
    # The longest first: they wait.
    return sorted(jobs, key=lambda job: not any(name in job[2].name for name in ("50-expired", "11-watch")))


def run_job(berth, rules, job):
    """A case that reads between two writes of the plane may meet either: it gets TRIES_MAX tries."""
    for _ in range(TRIES_MAX if job[0] == PLANE else 1):
        result = run_file(berth, *job)
        if not result[2] and all(compare.excused(rules, job[2].name, label, "*") for label in result[1]):
            break
    return result


def run_all(berth, rules, only):
    jobs = jobs_of(only)
    with concurrent.futures.ThreadPoolExecutor(SERVERS_AT_ONCE) as pool:
        done = list(pool.map(lambda job: run_job(berth, rules, job), jobs))
    results = {}
    for job, (agree, differ, broken) in zip(jobs, done):
        before = results.setdefault(job[2].name, ([], {}, None))
        results[job[2].name] = (before[0] + agree, {**before[1], **differ}, before[2] or broken)
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
    return suite.close(passed, failed, len(skipped))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="files whose name holds this")
    parser.add_argument("--write-open", action="store_true", help="list what differs now in open.txt")
    parser.add_argument("--all", action="store_true", help="show open differences too")
    arguments = parser.parse_args()
    started = time.monotonic()
    rules = [] if arguments.all or not OPEN.exists() else compare.read_ignored(str(OPEN))
    results = run_all(suite.BERTH, rules, arguments.only)
    if arguments.write_open:
        return write_open(results)
    print("took %.0f s" % (time.monotonic() - started))
    return report(results, rules)


if __name__ == "__main__":
    sys.exit(main())
