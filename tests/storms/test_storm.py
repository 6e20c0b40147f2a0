#!/usr/bin/env python3
"""What tools/storm.py says when its time is over: a program that plays sim-storm has seeds without end."""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SPEC = importlib.util.spec_from_file_location("storm", ROOT / "tools" / "storm.py")
storm = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(storm)

LOADS = json.loads

# ENDLESS and BROKEN are seeds; the others end well.
PLAYED = """\
    #!{python}
    import json, os, signal, sys
    verb, first, step, count = sys.argv[1], *map(int, sys.argv[2:5])
    for seed in range(first, first + step * count, step):
        print(json.dumps({{"begins": seed}}), flush=True)
        if str(seed) == os.environ.get("ENDLESS"):
            signal.pause()
        broken = ["I1: broken"] if str(seed) == os.environ.get("BROKEN") else []
        counts = dict.fromkeys(("virtualMs", "pods", "bindings", "writes"), 1)
        result = {{"seed": seed, **counts, "faults": {{}}, "coverage": {{}}, "broken": broken}}
        print(json.dumps(result), flush=True)
"""


class TimeEndsThere:
    """Ten minutes pass at once when the endless seed was seen to begin, and its time was read."""

    def __init__(self, endless):
        self.endless = endless
        self.begins = False
        self.over = threading.Event()

    def loads(self, line):
        """Like json.loads."""
        result = LOADS(line)
        self.begins = self.begins or result.get("begins") == self.endless
        return result

    def monotonic(self):
        now = time.monotonic() + (600 if self.over.is_set() else 0)
        if self.begins:
            self.over.set()
        return now

    def timer(self, _, function):
        """Like threading.Timer."""
        cancelled = threading.Event()

        def call_then():
            while not self.over.wait(0.01):
                if cancelled.is_set():
                    return
            function()

        thread = threading.Thread(target=call_then)
        thread.cancel = cancelled.set
        return thread


class StormTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        program = pathlib.Path(self.folder.name, "sim-storm")
        program.write_text(textwrap.dedent(PLAYED.format(python=sys.executable)))
        program.chmod(0o755)

    def run_storm(self, *words, **environment):
        """The exit status and the lines."""
        said = io.StringIO()
        arguments = ["storm.py", "--build", self.folder.name, "--no-shrink", *words]
        with mock.patch.object(sys, "argv", arguments), mock.patch.dict(os.environ, environment), \
                contextlib.redirect_stdout(said):
            status = storm.main()
        return status, said.getvalue().splitlines()

    def run_until_endless(self, stuck_after):
        played = TimeEndsThere(3)
        with mock.patch.object(storm, "time", played), \
                mock.patch.object(storm.json, "loads", played.loads), \
                mock.patch.object(storm.threading, "Timer", played.timer), \
                mock.patch.object(storm, "STUCK_SECONDS_MIN", stuck_after):
            return self.run_storm("--seeds", "10", "--minutes", "10", "--jobs", "1", ENDLESS="3")

    def test_every_seed_is_run_once(self):
        status, lines = self.run_storm("--seeds", "23", BROKEN="17")
        self.assertEqual((status, lines[-1]), (1, "22 passed, 1 failed"))
        self.assertIn("seed 17: I1: broken", lines)
        self.assertFalse([line for line in lines if "the time is over" in line])

    def test_seeds_that_were_not_run_in_time_are_counted_and_fail_nothing(self):
        status, lines = self.run_until_endless(stuck_after=3600)
        self.assertEqual((status, lines[-1]), (0, "2 passed, 0 failed"))
        said = [line for line in lines if line.startswith("the time is over: 8 of 10 seeds ")]
        self.assertEqual(len(said), 1, lines)

    def test_a_seed_that_runs_unlike_the_others_has_no_end(self):
        status, lines = self.run_until_endless(stuck_after=60)
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed"))
        self.assertTrue([line for line in lines if line.startswith("seed 3: no end after 6")], lines)


if __name__ == "__main__":
    unittest.main()
