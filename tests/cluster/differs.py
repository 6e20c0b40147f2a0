"""differs.txt: what is known to come differently, with reasons."""
import pathlib
import re
import sys

FILE = pathlib.Path(__file__).resolve().with_name("differs.txt")
LINE = re.compile(r"(\S+)\s+#\s*(\S.*)")


def known_differences():
    """{suite/test: reason}"""
    reasons = {}
    for number, line in enumerate(FILE.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = LINE.fullmatch(line.strip())
        if not found:
            sys.exit(f"differs.txt:{number}: expected `suite/TestName/sub  # issue or reason`")
        reasons[found[1]] = found[2]
    return reasons
