#!/usr/bin/env python3
"""Storms of the first seeds on every core; on a loaded machine those that are done in time, and it says so.

BERTH_STORM_ROUNDS says how many, BERTH_BUILD_DIR of which build.
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEEDS = 300
MINUTES_MAX = 5  # so that .ci/run takes two thirds of an hour on two cores


def main():
    seeds = os.environ.get("BERTH_STORM_ROUNDS", str(SEEDS))
    build = os.environ.get("BERTH_BUILD_DIR", "build/release")
    command = [sys.executable, str(ROOT / "tools" / "storm.py"), "--seeds", seeds, "--build", build,
               "--minutes", str(MINUTES_MAX), "--no-shrink"]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
