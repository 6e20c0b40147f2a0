"""The museum's switches (base/known_defects.h): the sources that ask for one are those that room.cmake lists
for the museum, no header does, and only the museum's own programs set one."""
import posixpath
import re

from . import rooms
from .tree import Finding, room_of

NAME = "defects"
HEADER = "base/known_defects.h"
SWITCH = re.compile(r"\b(?:WithDefect|switched_on|BERTH_MUSEUM)\b")
OWN = ("src/base/known_defects.h", "src/base/testing/museum.h", "src/sim/museum_storm_main.cc")


def listed(tree):
    """The sources of the MUSEUM lists."""
    for path in tree.matching("src/*/room.cmake"):
        for name in (rooms.declared(tree.text(path)) or {"MUSEUM": []})["MUSEUM"]:
            yield posixpath.join(posixpath.dirname(path), name), path


def run(tree):
    museum = dict(listed(tree))
    asking = set()
    for path in tree.written_sources:
        if path in OWN:
            continue
        for line, name, _ in tree.includes(path):
            if name != HEADER:
                continue
            asking.add(path)
            if path.endswith(".h"):
                yield Finding(path, line, NAME, "a header includes the museum's switches",
                              "include them in a .cc file only")
            elif path not in museum and room_of(path) != "sim":
                yield Finding(path, line, NAME, "asks for a switch, and the museum would not have it",
                              f"add it to MUSEUM in src/{room_of(path)}/room.cmake")
        code = tree.code(path)
        for match in SWITCH.finditer(code):
            yield Finding(path, code.count("\n", 0, match.start()) + 1, NAME,
                          f"'{match[0]}' switches a known defect on", "leave it to the museum's programs")
    for path, where in museum.items():
        if path not in asking:
            yield Finding(where, 1, NAME, f"lists {path}, which asks for no switch", "remove it from MUSEUM")
