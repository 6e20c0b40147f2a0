"""Room arrows: an include of another room stands in room.cmake and points down the list, and no room declares
a name of one that it does not list; READMEs exist; the architecture page has the same arrows."""
import re

from .tree import Finding, ROOM_ORDER, is_test, room_of

NAME = "rooms"
ROOM_CALL = re.compile(r"berth_room\s*\(([^)]*)\)", re.S)
PAGE = "docs/architecture.md"
PAGE_ROW = re.compile(r"\| (\[.*/README\.md\)) \| ([a-z ]+) \|$")
NAMESPACE = re.compile(r"\bnamespace\s+berth::(\w+)")
KEYWORDS = ("NAME", "ROOMS", "LINK", "PRIVATE_LINK", "TEST_LINK", "PROTO", "MUSEUM")


def declared(text):
    """The keyword lists of a room.cmake; None when it declares no room."""
    call = ROOM_CALL.search(re.sub(r"#[^\n]*", "", text))
    if not call:
        return None
    lists, current = {keyword: [] for keyword in KEYWORDS}, None
    for word in call[1].split():
        if word in KEYWORDS:
            current = word
        elif current:
            lists[current].append(word)
    return lists


def check_declaration(tree, room, path):
    lists = declared(tree.text(path))
    if lists is None or lists["NAME"] != [room]:
        yield Finding(path, 1, NAME, f"declares no room '{room}'", f"call berth_room(NAME {room} …)")
        return
    for used in lists["ROOMS"]:
        if used not in ROOM_ORDER:
            yield Finding(path, 1, NAME, f"'{used}' is no room", "use a name of the room list")
        elif room in ROOM_ORDER and ROOM_ORDER.index(used) >= ROOM_ORDER.index(room):
            yield Finding(path, 1, NAME, f"'{room}' uses '{used}', which does not come before it",
                          "move the shared part down, or hand it in through an interface")


def rooms_of_program(tree, path):
    first = tree.text(path).partition("\n")[0]
    match = re.match(r"// rooms: ([a-z_ ]+)$", first)
    return match[1].split() if match else None


def check_includes(tree, path, own, usable, where):
    for line, name, angled in tree.includes(path):
        used = name.partition("/")[0]
        if angled or "/" not in name or used == own or used in usable:
            continue
        message = f"includes '{name}', but {where} does not list '{used}'"
        yield Finding(path, line, NAME, message,
                      "list the room there if the arrow points down, else invert it")


def check_namespaces(tree, path, own, usable, where):
    """A forward declaration names another room without an include: `namespace berth::crd { struct X; }`."""
    code = tree.code(path)
    for match in NAMESPACE.finditer(code):
        used = match[1]
        if used in ROOM_ORDER and used != own and used not in usable:
            yield Finding(path, code.count("\n", 0, match.start()) + 1, NAME,
                          f"declares a name of room '{used}', but {where} does not list it",
                          "declare an interface here that the other room implements")


def check_page(tree):
    """The page's table of rooms: `| [a](…/README.md), [b](…/README.md) | base api |`."""
    shown = {}
    for number, line in enumerate(tree.text(PAGE).splitlines(), 1):
        if row := PAGE_ROW.match(line):
            usable = set(row[2].split()) - {"nothing"}
            shown.update((room, (number, usable)) for room in re.findall(r"\[(\w+)\]", row[1]))
    for path in tree.matching("src/*/room.cmake"):
        used = set((declared(tree.text(path)) or {"ROOMS": []})["ROOMS"])
        number, usable = shown.get(room_of(path), (1, None))
        if usable != used:
            yield Finding(PAGE, number, NAME, f"the row of '{room_of(path)}' is not what {path} lists",
                          f"write: {' '.join(sorted(used, key=ROOM_ORDER.index)) or 'nothing'}")


def run(tree):
    if PAGE in tree.files:
        yield from check_page(tree)
    for path in tree.matching("src/*/room.cmake"):
        room = room_of(path)
        if room not in ROOM_ORDER:
            yield Finding(path, 1, NAME, f"'{room}' is not in the room list",
                          "add it to tools/checks/tree.py")
        yield from check_declaration(tree, room, path)
        sources = [source for source in tree.sources if room_of(source) == room]
        if sources and f"src/{room}/README.md" not in tree.files:
            yield Finding(path, 1, NAME, f"room '{room}' has no README.md",
                          "write one screen: decides, never, key types, invariants, fast because, tests")
        lists = declared(tree.text(path)) or {keyword: [] for keyword in KEYWORDS}
        for source in sources:
            usable = set(lists["ROOMS"])
            if is_test(source):
                usable |= {link.removeprefix("berth_").removesuffix("_testing")
                           for link in lists["TEST_LINK"]}
            yield from check_includes(tree, source, room, usable, path)
            yield from check_namespaces(tree, source, room, usable, path)

    for path in tree.matching("bench/*_bench.cc", "fuzz/*_fuzz.cc"):
        listed = rooms_of_program(tree, path)
        if listed is None:
            yield Finding(path, 1, NAME, "does not name its rooms", "begin with '// rooms: base store'")
        else:
            yield from check_includes(tree, path, None, listed, "its first line")
