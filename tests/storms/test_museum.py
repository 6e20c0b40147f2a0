#!/usr/bin/env python3
"""The programs that ship or test what ships have no switch of the museum (docs/reliability.md#museum)."""
import os
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BERTH_BUILD_DIR", ROOT / "build" / "release"))
PROGRAMS = ("berth", "sim-storm", "sim_test")
SWITCH, ANY_SYMBOL = b"switched_on", b"_ZN5berth"  # as the linker names them


class NoSwitch(unittest.TestCase):
    def test_no_program_has_one(self):
        for name in PROGRAMS:
            program = (BUILD / name).read_bytes()
            self.assertTrue(ANY_SYMBOL in program, f"{name} has no symbols to look at")
            self.assertFalse(SWITCH in program, f"{name} has the switches of the museum")


if __name__ == "__main__":
    unittest.main()
