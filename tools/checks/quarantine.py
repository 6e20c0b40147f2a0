"""Heavy or foreign headers: never in a header of ours, and only in .cc files of rooms that own the need."""
import fnmatch

from .tree import Finding, is_test, room_of

NAME = "quarantine"
NOWHERE = ()
ANY_ROOM = None
TESTS = "tests"

# (pattern of the include, rooms whose .cc files may use it)
QUARANTINED = (
    ("boost/asio*", ("server",)),
    ("boost/beast*", ("server",)),
    ("boost/json*", ("api",)),
    ("simdjson*", ("base", "api")),
    ("grpcpp/*", ("health",)),
    ("google/protobuf/*", ("health",)),
    ("*.pb.h", ("health",)),
    ("spdlog/*", ("base",)),
    ("fmt/*", ANY_ROOM),
    ("CLI/*", ("cli",)),
    ("prometheus/*", ("base",)),
    ("curl/*", ("client",)),
    ("nghttp2/*", ("client",)),
    ("yaml.h", ("api",)),
    ("sqlite3.h", ("store",)),
    ("openssl/*", ("client", "server")),
    ("re2/*", ("api", "cel")),
    ("rapidcheck*", (TESTS,)),
    ("gtest/*", (TESTS,)),
    ("gmock/*", NOWHERE),
    ("benchmark/*", ("bench",)),
    ("regex", NOWHERE),
    ("iostream", NOWHERE),
    ("coroutine", NOWHERE),
    ("ranges", ANY_ROOM),
    ("filesystem", ANY_ROOM),
    ("thread", ANY_ROOM),
)
TRANSPORT_FILES_MAX = 2


def place_of(path):
    if is_test(path):
        return TESTS
    return room_of(path) or path.partition("/")[0]


def is_usable(path, rooms):
    if rooms is ANY_ROOM or place_of(path) in rooms:
        return True
    return place_of(path) == TESTS and room_of(path) in rooms


def run(tree):
    transport = []
    for path in tree.sources:
        for line, name, _ in tree.includes(path):
            row = next((row for row in QUARANTINED if fnmatch.fnmatchcase(name, row[0])), None)
            if row is None or tree.is_allowed(NAME, path, row[0]):
                continue
            if name.startswith(("boost/asio", "boost/beast")) and path not in transport:
                transport.append(path)
            if path.endswith(".h") and not is_test(path):
                yield Finding(path, line, NAME, f"a header includes <{name}>",
                              "include it in a .cc file only")
            elif not is_usable(path, row[1]):
                where = f"only for {', '.join(row[1])}" if row[1] else "banned"
                yield Finding(path, line, NAME, f"<{name}> is {where}", "ask the room that owns it")
    for path in transport[TRANSPORT_FILES_MAX:]:
        yield Finding(path, 1, NAME, f"more than {TRANSPORT_FILES_MAX} files include Asio or Beast",
                      "they take most of the build: keep them in the transport")
    yield from tree.stale_allowances(NAME)
