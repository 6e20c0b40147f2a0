#!/usr/bin/env python3
"""Storms: hostile worlds from seeds, on every core. The last line is `N passed, M failed`.

    tools/storm.py --seeds 300             # seeds 1 to 300
    tools/storm.py --seeds 300 --first 1001
    tools/storm.py --minutes 60            # from --first on, until the time is over
    tools/storm.py --seeds 300 --minutes 8 # those that are done within the time; says how many were not
    tools/storm.py --only 42               # one seed, or a file that an earlier storm left
    tools/storm.py --defect gang-minimum-not-read   # one of the museum switched on, until a seed finds it
"""
import argparse
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOWN_MAX = 20  # failed seeds that are listed
SHRINK_SECONDS_MAX = 900
SEEDS = 300
SEEDS_A_PORTION = 5  # of one worker
STUCK_SECONDS_MIN = 60  # when the time is over, a seed that ran so long
STUCK_TIMES_MIN = 20  # and so many times the longest of the others has no end


class Totals:
    """What all workers printed."""

    def __init__(self):
        self.lock = threading.Lock()
        self.until_found = False
        self.done = 0
        self.failed = {}
        self.virtual_ms = self.pods = self.bindings = self.writes = 0
        self.longest_seconds = 0
        self.faults = collections.Counter()
        self.coverage = collections.defaultdict(collections.Counter)

    def add(self, result, seconds):
        with self.lock:
            self.done += 1
            self.longest_seconds = max(self.longest_seconds, seconds)
            self.virtual_ms += result["virtualMs"]
            self.pods += result["pods"]
            self.bindings += result["bindings"]
            self.writes += result["writes"]
            self.faults.update(result["faults"])
            for state, counts in result["coverage"].items():
                self.coverage[state].update(counts)
            if result["broken"]:
                self.failed[result["seed"]] = result["broken"]
                print(f"seed {result['seed']}: {result['broken'][0]}", file=sys.stderr, flush=True)

    def is_found_before(self, seed):
        with self.lock:
            return self.until_found and bool(self.failed) and min(self.failed) < seed

    def died(self, seed, how):
        with self.lock:
            self.done += 1
            self.failed[seed] = [f"died: {how}"]

    def stopped(self, seed, seconds):
        """The time is over: a seed that ran unlike the others fails, another one was not run."""
        with self.lock:
            if seconds > max(STUCK_SECONDS_MIN, STUCK_TIMES_MIN * self.longest_seconds):
                self.done += 1
                self.failed[seed] = [f"no end after {seconds:.0f} s; no other seed took more than "
                                     f"{self.longest_seconds:.1f} s"]


def work(program, seeds, totals, ignored, end=float("inf")):
    """Runs a list of seeds with equal steps until `end`; goes on behind one that ends the worker."""
    while seeds:
        step = seeds[1] - seeds[0] if len(seeds) > 1 else 1
        command = [program, "run", str(seeds[0]), str(step), str(len(seeds)), *ignored]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
            limit = threading.Timer(min(end - time.monotonic(), threading.TIMEOUT_MAX), worker.kill)
            limit.daemon = True
            limit.start()
            current, began = seeds[0], time.monotonic()
            finished = set()
            for line in worker.stdout:
                if not line.endswith("\n"):
                    break  # it was killed
                result = json.loads(line)
                if "begins" in result:
                    current, began = result["begins"], time.monotonic()
                if "seed" in result:
                    totals.add(result, time.monotonic() - began)
                    finished.add(result["seed"])
                if totals.is_found_before(current):
                    limit.cancel()
                    worker.kill()
                    return
            limit.cancel()
            errors = worker.stderr.read().strip()
        if len(finished) == len(seeds):
            return
        if worker.returncode == -signal.SIGKILL and time.monotonic() >= end:
            if current not in finished:
                totals.stopped(current, time.monotonic() - began)
            return
        totals.died(current, errors.splitlines()[-1] if errors else f"exit {worker.returncode}")
        seeds = [seed for seed in seeds if seed > current]


class Portions:
    """Seeds for workers, a few at a time: `count` of them (0: without end), until the time is over."""

    def __init__(self, first, count, minutes):
        self.lock = threading.Lock()
        self.next = first
        self.stop = first + count if count else float("inf")
        self.end = time.monotonic() + (60 * minutes or float("inf"))

    def take(self):
        with self.lock:
            if time.monotonic() >= self.end:
                return []
            first, self.next = self.next, min(self.next + SEEDS_A_PORTION, self.stop)
            return list(range(first, self.next))

    def work(self, program, totals, ignored):
        while seeds := self.take():
            work(program, seeds, totals, ignored, self.end)


def print_coverage(totals):
    faults = sorted(totals.faults)
    states = list(totals.coverage)
    print(f"\n{'state × fault':18}" + "".join(f"{state[:12]:>13}" for state in states))
    for fault in faults:
        print(f"{fault:18}" + "".join(f"{totals.coverage[state][fault]:13}" for state in states))
    empty = [f"{state} × {fault}" for state in states for fault in faults
             if not totals.coverage[state][fault]]
    print(f"\n{len(empty)} empty cells" + (": " + ", ".join(empty) if empty else ""))


def shrink(program, seed, folder, ignored):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"storm-{seed}.yaml"
    try:
        made = subprocess.run([program, "shrink", str(seed), *ignored], stdout=subprocess.PIPE, text=True,
                              timeout=SHRINK_SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        print(f"seed {seed} was not shrunk within {SHRINK_SECONDS_MAX} s")
        return
    if made.returncode == 0:
        path.write_text(made.stdout)
        print(f"shrunk to {path.relative_to(ROOT)}; again: make storm ONLY={path.relative_to(ROOT)}")


def first_that_finds(program, name, seeds, jobs, options):
    """The first seed that fails with the defect and not without it, and what it says."""
    while seeds:
        totals = Totals()
        totals.until_found = True
        run_all(program, list(seeds), jobs, totals, [f"--defect={name}", *options])
        if not totals.failed:
            break
        seed = min(totals.failed)
        alone = Totals()
        work(program, [seed], alone, options)
        if not alone.failed:
            return seed, totals.failed[seed][0]
        seeds = range(seed + 1, seeds.stop)
    return None, ""


def look_for(program, name, first, count, jobs, options):
    """Seeds with a defect of the museum switched on, until the first that finds it."""
    known = dict(line.split(" ", 1) for line in
                 subprocess.run([program, "defects"], stdout=subprocess.PIPE, text=True, check=True)
                 .stdout.splitlines())
    if name not in known:
        print(f"no defect {name}; there are: {', '.join(known)}")
        return 2
    began = time.monotonic()
    seed, sentence = first_that_finds(program, name, range(first, first + count), jobs, options)
    seconds = time.monotonic() - began
    if not sentence:
        print(f"{name}: not found in {count} seeds, {seconds:.1f} s")
        return 1
    print(f"{name}: seed {seed}, {seed - first + 1} seeds, {seconds:.1f} s: {sentence}")
    return 0


def run_only(program, which, ignored):
    made = subprocess.run([program, "only", which, *ignored], stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode != 0:
        print("0 passed, 1 failed")
        return 1
    result = json.loads(made.stdout.splitlines()[-1])
    for sentence in result["broken"]:
        print(sentence)
    print("0 passed, 1 failed" if result["broken"] else "1 passed, 0 failed")
    return 1 if result["broken"] else 0


def run_threads(count, job):
    threads = [threading.Thread(target=job, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_all(program, seeds, jobs, totals, options):
    jobs = min(jobs, len(seeds))
    run_threads(jobs, lambda number: work(program, seeds[number::jobs], totals, options))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, help=f"how many; without --minutes {SEEDS}")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--defect", default="", help="a name of docs/reliability.md, Museum")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--ignore", action="append", default=[], help='beginning of sentences, such as "I4:"')
    words = parser.parse_args()
    ignored = [f"--ignore={text}" for text in words.ignore]
    program = str(ROOT / words.build / ("museum-storm" if words.defect else "sim-storm"))
    if words.only:
        return run_only(program, words.only, ignored + ([f"--defect={words.defect}"] if words.defect else []))
    if words.defect:
        return look_for(program, words.defect, words.first, words.seeds or SEEDS, words.jobs, ignored)

    totals = Totals()
    began = time.monotonic()
    count = words.seeds or (0 if words.minutes else SEEDS)
    portions = Portions(words.first, count, words.minutes)
    run_threads(words.jobs, lambda _: portions.work(program, totals, ignored))
    seconds = time.monotonic() - began

    faults = sum(totals.faults.values())
    print(f"{totals.done} seeds in {seconds:.1f} s: {totals.done / seconds:.1f} seeds/s, "
          f"{totals.virtual_ms / 3.6e6:.1f} virtual hours, {totals.pods} pods, {totals.bindings} bindings, "
          f"{totals.writes} writes, {faults} faults")
    print_coverage(totals)
    print("\nfaults: " + ", ".join(f"{name} {count}" for name, count in sorted(totals.faults.items())))
    if totals.done < count:
        print(f"the time is over: {count - totals.done} of {count} seeds were not run; "
              f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")
    for seed in sorted(totals.failed)[:SHOWN_MAX]:
        print(f"seed {seed}: {totals.failed[seed][0]}")
    if totals.failed and not words.no_shrink:
        shrink(program, min(totals.failed), ROOT / "build" / "storms", ignored)
    print(f"{totals.done - len(totals.failed)} passed, {len(totals.failed)} failed")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
