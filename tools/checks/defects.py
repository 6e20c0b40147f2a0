"""The museum's switches (base/known_defects.h): only tests and src/sim set them, no header asks for them."""
import re

from .tree import Finding, is_test, room_of

NAME = "defects"
HEADER = "base/known_defects.h"
SWITCH = re.compile(r"\b(?:WithDefect|switched_on)\b")


def run(tree):
    for path in tree.written_sources:
        if path.startswith("src/base/known_defects."):
            continue
        for line, name, _ in tree.includes(path):
            if name == HEADER and path.endswith(".h"):
                yield Finding(path, line, NAME, "a header includes the museum's switches",
                              "include them in a .cc file only")
        if is_test(path) or room_of(path) == "sim":
            continue
        code = tree.code(path)
        for match in SWITCH.finditer(code):
            yield Finding(path, code.count("\n", 0, match.start()) + 1, NAME,
                          f"'{match[0]}' switches a known defect on", "leave it to tests and src/sim")
