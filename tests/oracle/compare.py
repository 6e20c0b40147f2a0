#!/usr/bin/env python3
"""Asks Kubernetes' own allocator and `berth plan` the same about fresh random worlds, and tells where they
differ. See README.md."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import worlds

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def reference_program():
    """The real code in one program, built anew when its sources are."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"), "berth")
    cache.mkdir(parents=True, exist_ok=True)
    program = cache / "dra-oracle"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=HERE, check=True)
    return str(program)


class Reference:
    """The real allocator in a process of its own."""

    def __init__(self):
        self.process = subprocess.Popen([reference_program(), "allocate"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def verdicts(self, world):
        self.process.stdin.write(json.dumps(world.question()) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def planned(berth, world, file):
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": world.objects()}))
    command = [str(berth), "plan", "-f", str(file), "-o", "json", "--verdicts", "all"]
    if world.gates_off:
        command += ["--feature-gates", ",".join(f"{gate}=false" for gate in world.gates_off)]
    outcome = subprocess.run(command, capture_output=True, text=True)
    if not outcome.stdout:
        sys.exit(f"berth plan: {outcome.stderr}")
    return json.loads(outcome.stdout)["decisions"][0], outcome.stderr


def devices(results):
    return [(r["request"], r["driver"], r["pool"], r["device"], r.get("consumedCapacity")) for r in results]


def same_devices(decision, verdicts):
    pod = decision["pods"][0]
    theirs = next(v for v in verdicts if v["Node"] == pod["node"])
    if theirs["Verdict"] != "feasible":
        return False
    return devices([d for claim in pod["claims"] for d in claim["devices"]]) == devices(
        [r for allocation in theirs["Allocations"] for r in allocation["devices"].get("results", [])])


def differences(decision, verdicts):
    """(node, what the reference says, what Berth says) where the two do not agree."""
    mine = {verdict["node"]: verdict for verdict in decision.get("verdicts", [])}
    for theirs in verdicts:
        got = mine[theirs["Node"]]
        same = got["feasible"] == (theirs["Verdict"] == "feasible")
        if theirs["Verdict"] == "error":
            same = same and decision["result"] == "Error"
        if not same and theirs["Verdict"] != "timeout":
            yield (theirs["Node"], f'{theirs["Verdict"]} {theirs["Error"]}',
                   f'{got["feasible"]} {got.get("reason", "")}')


def recorded(seed, world, verdicts):
    """The world as tests/data/dra/ keeps it."""
    nodes = [{"name": v["Node"], "verdict": v["Verdict"], **({"error": v["Error"]} if v["Error"] else {})}
             for v in verdicts]
    return {"case": f"fresh-{seed}", "gatesOff": world.gates_off, "objects": world.objects(),
            "expect": [{"name": "p", "claims": world.wanted, "nodes": nodes}]}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--berth", type=pathlib.Path, default=ROOT / "build/release/berth")
    options.add_argument("--first", type=int, default=1, help="the first seed")
    options.add_argument("--count", type=int, default=500, help="how many worlds")
    options.add_argument("--record", type=pathlib.Path,
                         help="append the worlds and the reference's answers here")
    options.add_argument("--keep", type=pathlib.Path, help="a folder for the worlds that differ")
    chosen = options.parse_args()
    reference, counts = Reference(), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(chosen.first, chosen.first + chosen.count):
            world = worlds.World(seed)
            verdicts = reference.verdicts(world)
            decision, warnings = planned(chosen.berth, world, pathlib.Path(scratch, "world.json"))
            counts["worlds with warnings"] += 1 if warnings else 0
            counts["timeouts of the reference"] += sum(v["Verdict"] == "timeout" for v in verdicts)
            for v in verdicts:
                counts[f'verdicts: {v["Verdict"]}'] += 1
            for node, theirs, mine in differences(decision, verdicts):
                counts["DIFFERENT"] += 1
                print(f"seed {seed}, {node}: Kubernetes {theirs}; Berth {decision['result']} {mine}")
                if chosen.keep:
                    (chosen.keep / f"{seed}.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1",
                                                                          "items": world.objects()}))
            if decision["result"] == "Placed":
                counts["placed with the same devices" if same_devices(decision, verdicts)
                       else "placed with other devices"] += 1
            if chosen.record:
                with chosen.record.open("a") as out:
                    out.write(json.dumps(recorded(seed, world, verdicts), separators=(",", ":")) + "\n")
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    return 1 if counts["DIFFERENT"] else 0


if __name__ == "__main__":
    sys.exit(main())
