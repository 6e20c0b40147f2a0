#!/usr/bin/env python3
"""Asks Kubernetes' own CEL environment of devices and `berth cel` about fresh random selectors, and tells
where they differ. See README.md."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

import expressions
from compare import ROOT, reference_program

TEXT_BYTES_MAX = 10_000


def answers(program, questions):
    done = subprocess.run(program, input="".join(questions).encode(), capture_output=True)
    return [json.loads(line) for line in done.stdout.decode().splitlines() if line]


def agree(theirs, mine):
    if "value" in theirs:
        return mine.get("value") == theirs["value"]
    spent = theirs["error"] == "runtime" and mine.get("error") == "cost"
    return spent or mine.get("error") == theirs["error"]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--berth", type=pathlib.Path, default=ROOT / "build/release/berth")
    options.add_argument("--first", type=int, default=1, help="the first seed")
    options.add_argument("--count", type=int, default=2000, help="how many expressions")
    chosen = options.parse_args()
    questions, texts = [], {}
    for seed in range(chosen.first, chosen.first + chosen.count):
        selector = expressions.Selector(seed)
        if len(selector.text) > TEXT_BYTES_MAX:
            continue
        texts[seed] = selector.text
        questions.append(json.dumps({"id": seed, "expr": selector.text, "device": selector.device()}) + "\n")
    counts = collections.Counter()
    for theirs, mine in zip(answers([reference_program(), "cel"], questions),
                            answers([str(chosen.berth), "cel"], questions), strict=True):
        counts["values" if "value" in theirs else f'errors: {theirs["error"]}'] += 1
        if "cost" in theirs and "cost" in mine:
            counts["the same cost" if theirs["cost"] == mine["cost"] else "another cost"] += 1
        if not agree(theirs, mine):
            counts["DIFFERENT"] += 1
            print(texts[theirs["id"]], f"\n    Kubernetes {theirs}\n    Berth      {mine}")
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    return 1 if counts["DIFFERENT"] else 0


if __name__ == "__main__":
    sys.exit(main())
