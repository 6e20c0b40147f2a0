"""Names in unnamed namespaces that two sources of a room define: such sources cannot be compiled as one.

The release puts sources of a room into batches (cmake/berth.cmake), and a new source may move any two into
the same one. A type, a constant, or a function with equal parameters needs one place or two names; the same
alias may be written twice. Looks at what begins in the first column of `namespace {` … `}  // namespace`, and
at `using api::FieldPath;` anywhere in that column.
"""
import collections
import re

from .tree import Finding, is_test, room_of

NAME = "unnamed"
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
TYPE = re.compile(r"(?:template <[^>]*> )?(?:class|struct|enum class|enum|union) (\w+)(?: final)?\s*[:{]")
ALIAS = re.compile(r"using (\w+) = ([^;]*);")
DECLARATION = re.compile(r"^using ((?:\w+::)+(\w+));$", re.M)
CONSTANT = re.compile(r"(?:static |inline )?(?:constexpr|const) [^=({]*?(\w+)(?:\[[^\]]*\])?\s*[={]")
FUNCTION = re.compile(r"[\w:<>,&*\s\[\]]+?[\s&*](\w+)\(([^)]*)\)[^;{]*\{")
PARAMETER_NAME = re.compile(r"\s*\b\w+(?=,|$)")
SEPARATE = re.compile(r'SEPARATE "((?:[^"\\]|\\.)*)"')


def defined(text):
    """(offset, what it is, its name) of each definition; parameters and aliased names are part of `what`."""
    for found in DECLARATION.finditer(text):
        yield found.start(), f"alias of {found[1]}", found[2]
    for block in UNNAMED.finditer(text):
        start = block.start(1)
        for piece in re.split(r"(?<=\n)(?=\S)", block[1]):
            line = " ".join(piece.split())
            if found := TYPE.match(line):
                yield start, "type", found[1]
            elif found := ALIAS.match(line):
                yield start, f"alias of {found[2]}", found[1]
            elif found := CONSTANT.match(line):
                yield start, "constant", found[1]
            elif found := FUNCTION.match(line):
                yield start, f"function of ({PARAMETER_NAME.sub('', found[2])})", found[1]
            start += len(piece)


def programs(tree):
    """{what is linked as one: its sources that may be in one batch}"""
    groups = collections.defaultdict(list)
    for path in tree.matching("src/*.cc"):
        room = room_of(path)
        if not room or path.endswith("_main.cc"):
            continue
        kind = "testing" if "/testing/" in path else "tests" if is_test(path) else "library"
        cmake = f"src/{room}/room.cmake"
        separate = SEPARATE.search(tree.text(cmake)) if kind == "library" and cmake in tree.files else None
        if separate is None or not re.search(separate[1].replace("\\\\", "\\"), path):
            groups[room, kind].append(path)
    return groups


def run(tree):
    for paths in programs(tree).values():
        first = {}
        for path in sorted(paths):
            text = tree.text(path)
            for offset, what, name in defined(text):
                overload = what if what.startswith("function") else ""
                known, known_what = first.setdefault((name, overload), (path, what))
                if known != path and not (what == known_what and what.startswith("alias")):
                    yield Finding(path, text.count("\n", 0, offset) + 1, NAME,
                                  f"{name} is defined in {known}, too", "share it, or give it another name")
