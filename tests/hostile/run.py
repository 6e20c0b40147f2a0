#!/usr/bin/env python3
"""Runs the stories of this folder: real processes in a world that loses, delays and refuses requests.

Two at a time, the longest first. Each ends with `ok: …`, `DEFECT: …` or `skipped: …`. Long stories run with
--all, or when they are named. The closing line is "N passed, M failed, K skipped".
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import suite

LIMIT_SECONDS = 240  # of one story; suites of tools/run-tests have 600
AT_ONCE = 2
EXIT_OK, EXIT_DEFECT, EXIT_SKIPPED = 0, 1, 77
HELPERS = {"run", "lab", "parts", "proxy", "watchlog"}
# Seconds that a good run takes, of those that take more than twenty.
SECONDS = {
    "gang_kill": 38,
    "killed_before_condition": 25,
    "kill9": 24,
    "latency_beside_waiting": 56,
    "leader_change": 25,
    "late_member": 22,
    "one_member_refused": 25,
    "slow_then_fast": 29,
    "slow_writes": 30,
    "standby_grows": 38,
    "starved_gang": 30,
}
SHORT_SECONDS_MAX = 35  # longer ones only with --all: the whole suite has 150 s in `make test`


def stories():
    names = {path.stem for path in HERE.glob("*.py")} - HELPERS
    return sorted(names, key=lambda name: (-SECONDS.get(name, 0), name))


def tell(name, berth):
    """The story's exit code, its last line and its seconds; code None when it took too long."""
    began = time.monotonic()
    environment = dict(os.environ, BERTH=str(berth), PYTHONDONTWRITEBYTECODE="1")
    process = subprocess.Popen([sys.executable, str(HERE / (name + ".py"))], env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    try:
        output, _ = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()  # it stops its processes and ends
        output, _ = process.communicate()
        return None, "took longer than %d s" % LIMIT_SECONDS, time.monotonic() - began
    lines = output.strip().splitlines() or ["no output"]
    kept = lines[-1:] if process.returncode in (EXIT_OK, EXIT_DEFECT, EXIT_SKIPPED) else lines[-20:]
    return process.returncode, "\n".join(kept), time.monotonic() - began


def judge(name, code, line, seconds):
    """Prints how a story ended: "passed", "failed" or "skipped"."""
    if code == EXIT_SKIPPED and line.startswith("skipped: "):
        print("SKIP %s: %s" % (name, line.removeprefix("skipped: ")), flush=True)
        return "skipped"
    good = code == EXIT_OK and line.startswith("ok: ")
    print("%s %s %.1f s  %s" % ("ok   " if good else "FAIL:", name, seconds, line), flush=True)
    return "passed" if good else "failed"


def main():
    everything = "--all" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--all"]
    chosen = suite.options(__doc__)
    everything |= bool(chosen.words)
    wanted = [name for name in stories() if not chosen.words or any(word in name for word in chosen.words)]
    long = [name for name in wanted if not everything and SECONDS.get(name, 0) > SHORT_SECONDS_MAX]
    for name in long:
        print("SKIP %s: takes about %d s; --all runs it" % (name, SECONDS[name]), flush=True)
    ends = ["skipped"] * len(long)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {pool.submit(tell, name, chosen.berth): name for name in wanted if name not in long}
        for done in concurrent.futures.as_completed(running):
            ends.append(judge(running[done], *done.result()))
    return suite.close(ends.count("passed"), ends.count("failed"), ends.count("skipped"))


if __name__ == "__main__":
    sys.exit(main())
