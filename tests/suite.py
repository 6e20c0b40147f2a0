"""What the suites `tests/*/run.py` share: where the program is, the loop over the cases, the closing line.

Only the standard library. BERTH_BUILD_DIR says where the program was built. The closing line is
"N passed, M failed", with ", K skipped" when a suite skips; the exit code is 0 when nothing failed.
"""
import argparse
import os
import pathlib
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
BERTH = pathlib.Path(os.environ.get("BERTH_BUILD_DIR", ROOT / "build" / "release"), "berth")


def options(title):
    """`--berth PROGRAM` and parts of the names of cases."""
    parser = argparse.ArgumentParser(description=title.splitlines()[0])
    parser.add_argument("--berth", type=lambda path: pathlib.Path(path).resolve(), default=BERTH.resolve())
    parser.add_argument("words", nargs="*", help="parts of the names of cases")
    return parser.parse_args()


class Failure(AssertionError):
    """What a case expected, in words."""


class Skip(Exception):
    """Why a case cannot run here."""


def eventually(what, look, seconds=60):
    """The first true value of `look`."""
    limit = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > limit:
            raise Failure("not within %d s: %s" % (seconds, what))
        time.sleep(0.05)


def close(passed, failed, skipped=None):
    print("%d passed, %d failed" % (passed, failed) + ("" if skipped is None else ", %d skipped" % skipped))
    return 1 if failed else 0


class Tally:
    """Counts cases; one may fail in any way, the others still run."""

    def __init__(self):
        self.passed = self.skipped = 0
        self.failed = []

    def attempt(self, case, *arguments):
        began = time.monotonic()
        try:
            case(*arguments)
        except Skip as why:
            self.skipped += 1
            print("SKIP %s: %s" % (case.__name__, why), flush=True)
            return
        except Exception as error:
            told = isinstance(error, AssertionError) and type(error) is not AssertionError
            self.fail(case.__name__, str(error) if told else traceback.format_exc())
            return
        self.passed += 1
        print("ok    %s %.1f s" % (case.__name__, time.monotonic() - began), flush=True)

    def fail(self, name, detail):
        self.failed.append(name)
        print("FAIL: %s\n%s" % (name, "\n".join("      " + line for line in detail.splitlines())), flush=True)

    def close(self, skipped=None):
        return close(self.passed, len(self.failed), self.skipped or skipped)


def run(cases, words, *arguments):
    """Those cases whose name has one of the words; all without words."""
    tally = Tally()
    for case in cases:
        if not words or any(word in case.__name__ for word in words):
            tally.attempt(case, *arguments)
    return tally.close()
