#!/usr/bin/env python3
"""Runs compiled Go tests one by one and tells of every leaf: pass, fail, skip (why). Called by run.sh."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ATTEMPTS_MAX = 3
PARALLEL = "32"
LEAK_CHECK_SECONDS = 5
WHY_LENGTH_MAX = 400
UNDERSCORED = ("nominated_node_name", "topology_aware_scheduling")  # folders with an underscore in their name

RESULT = re.compile(r"^\x16?\s*--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)")
MARK = re.compile(r"^\x16?\s*=== (RUN|PAUSE|CONT|NAME)\s+(\S*)")
SAYS = re.compile(r"^\s+([\w./-]+)\.go:\d+: (.*)")
NOISE = re.compile(r"BERTH-SKIP|UnhandledError|^(I|W)\d{4} |^Config: |^Starting the |^Started the |^Stopping"
                   r"|^Executing step|^Creating|^Waiting")
COMPLAINT = re.compile(r"(?i)error|fail|expected|want|timed? ?out|not |didn't|unexpected")
LOG_HEAD = re.compile(r"\b[IWE]\d{4} [\d:.]+\] ?")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bin", "src", "out", "timeout", "sub", "skip", "pattern"):
        parser.add_argument("--" + name, default="")
    return parser.parse_args()


def wait_for(process, log):
    """A skipped test leaves goroutines on which Kubernetes' leak check waits for ten minutes: not with us."""
    ended = None
    while process.poll() is None:
        time.sleep(0.2)
        with open(log, "rb") as file:
            file.seek(max(0, os.path.getsize(log) - 20000))
            if re.search(rb"\x16(PASS|FAIL)\n", file.read()):
                ended = ended or time.time()
        if ended and time.time() - ended > LEAK_CHECK_SECONDS:
            process.kill()
            process.wait()


def suite_of(binary):
    """The folder of a test binary: dra_all.test is dra/all."""
    text = binary.stem.replace("_", "/")
    for folder in UNDERSCORED:
        text = text.replace(folder.replace("_", "/"), folder)
    return text


def tests_of(binary):
    listed = subprocess.run([binary, "-test.list", ".*"], capture_output=True, text=True, check=False).stdout
    return [name for name in listed.split("\n") if name.startswith("Test") and name != "TestMain"]


def new_test():
    return {"state": "", "seconds": 0.0, "said": [], "own": [], "unlucky": False}


def note(test, source, text):
    """Keeps one message of a test; `own` are those of the test's own file."""
    test["said"].append(text)
    if source == "test_server" and "deadline exceeded" in text:
        test["unlucky"] = True  # its API server did not start within ten seconds
    if source.endswith("_test"):
        test["own"].append(text)


def read(lines):
    """Go's -test.v=test2json output: for each test its state, seconds and what it said."""
    tests, current, trouble = {}, None, ""
    for line in lines:
        line = line.rstrip("\n")
        if found := MARK.match(line):
            current = found[2] or None
            if found[1] == "RUN":
                tests[found[2]] = new_test()
            continue
        if found := RESULT.match(line):
            state, current, seconds = found.groups()
            tests.setdefault(current, new_test()).update(state=state.lower(), seconds=float(seconds))
            continue
        if line.startswith("panic: "):
            trouble = line[7:]
        if current in tests and (found := SAYS.match(line)):
            note(tests[current], found[1], found[2])
        elif current in tests and line.startswith("        ") and tests[current]["said"]:
            tests[current]["said"].append(line.strip())
    for test in tests.values():
        if test["state"] == "fail" and test["unlucky"]:
            test["state"] = ""
    return tests, trouble


def reason(test, trouble):
    if test["state"] == "skip":
        for text in test["said"]:
            if "BERTH-SKIP " in text:
                return text.split("BERTH-SKIP ", 1)[1]
        return "the test's own: " + " ".join(test["said"][-1:])
    if test["state"] == "":
        return "did not end: " + trouble
    said = [LOG_HEAD.sub("", text).strip() for text in test["said"]]
    for index, text in enumerate(said):
        if text.startswith(("FATAL ERROR:", "ERROR:")):
            return " ".join(said[index:index + 7])[:WHY_LENGTH_MAX]
    useful = [text for text in test["own"] or said if text and not NOISE.search(text)]
    complaints = [text for text in useful if COMPLAINT.search(text)]
    return " | ".join((complaints or useful)[:2])[:WHY_LENGTH_MAX]


def run_once(options, binary, suite, run, skip, log):
    """One process of a test binary; its exit status."""
    left_out = ["-test.skip", skip] if skip else []
    command = ["nice", "-n", "5", binary, "-test.v=test2json", "-test.run", run, *left_out,
               "-test.timeout", options.timeout, "-test.parallel", PARALLEL]
    folder = pathlib.Path(options.src) / "test/integration" / suite
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, cwd=folder)
        wait_for(process, log)
    return process.returncode


def run_test(options, binary, suite, name):
    """All subtests of a top-level test: (tests, what stopped the process, its exit status).

    On a slow machine an API server that starts can end the whole process: those without a result run again.
    """
    run = f"^{name}$" + (f"/{options.sub}" if options.sub else "")
    tests, left_out = {}, options.skip
    for attempt in range(1, ATTEMPTS_MAX + 1):
        file = f"{suite.replace('/', '_')}.{name}.{os.getpid()}.{attempt}.log"
        log = pathlib.Path(options.out, "tests", file)
        skip = f"^{name}$/{left_out}" if left_out else ""
        status = run_once(options, binary, suite, run, skip, log)
        with open(log, encoding="utf-8", errors="replace") as output:
            found, trouble = read(output)
        tests.update({test: result for test, result in found.items()
                      if result["state"] or test not in tests or not tests[test]["state"]})
        cut_short = any(not result["state"] for result in found.values()) and "timed out" not in trouble
        if not cut_short or options.skip:
            break
        done = {test.split("/")[1] for test, result in tests.items()
                if result["state"] and test.count("/") == 1}
        left_out = "^(" + "|".join(re.escape(test) for test in sorted(done)) + ")$" if done else ""
        print(f"# {suite}/{name}: the process ended in the middle (attempt {attempt}), see {log}",
              file=sys.stderr, flush=True)
    return tests, trouble, status


def leaves(tests):
    """Tests without subtests, and those that failed though none of their subtests did."""
    parents = {test.rsplit("/", level)[0] for test in tests for level in range(1, test.count("/") + 1)}
    for test, result in tests.items():
        child_failed = any(child.startswith(test + "/") and tests[child]["state"] in ("fail", "")
                           for child in tests)
        if test not in parents or not (result["state"] in ("pass", "skip") or child_failed):
            yield test, result


class Report:
    """Prints a line a leaf, appends it to results.jsonl, and counts."""

    def __init__(self, record):
        self.record = record
        self.suites = {}

    def add(self, suite, test, state, seconds, why):
        self.suites.setdefault(suite, {"pass": 0, "fail": 0, "skip": 0})[state] += 1
        print(f"{state:4}  {suite}/{test}" + (f"  ({why})" if why else ""), flush=True)
        line = {"suite": suite, "test": test, "state": state, "seconds": seconds, "why": why}
        self.record.write(json.dumps(line) + "\n")
        self.record.flush()

    def total(self, state):
        return sum(counts[state] for counts in self.suites.values())

    def close(self):
        for suite, counts in self.suites.items():
            print(f"{suite}: {counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped")
        print(f"{self.total('pass')} passed, {self.total('fail')} failed, {self.total('skip')} skipped")
        return 1 if self.total("fail") else 0


def main():
    options = arguments()
    with open(pathlib.Path(options.out, "results.jsonl"), "a", encoding="utf-8") as record:
        report = Report(record)
        for binary in sorted(pathlib.Path(options.bin).glob("*.test")):
            suite = suite_of(binary)
            for name in tests_of(binary):
                if not re.search(options.pattern, f"{suite}/{name}"):
                    continue
                started = time.time()
                tests, trouble, status = run_test(options, binary, suite, name)
                for test, result in leaves(tests):
                    why = "" if result["state"] == "pass" else reason(result, trouble)
                    report.add(suite, test, result["state"] or "fail", result["seconds"], why)
                if not tests:
                    report.add(suite, name, "fail", 0.0, f"nothing ran: {trouble or f'exit {status}'}")
                print(f"# {suite}/{name}: {time.time() - started:.0f} s", file=sys.stderr, flush=True)
        return report.close()


if __name__ == "__main__":
    sys.exit(main())
