"""Functions of the product that nothing calls, or that only tests call."""
import collections
import re

from .tree import Finding, is_test, room_of, without_comments_and_strings

NAME = "uncalled"
WORD = re.compile(r"[A-Za-z_]\w*")
# A declaration in a header: at the start of a line, a type, a name in lower case, parameters, then ; or {.
DECLARED = re.compile(
    r"^(?![ \t]*return\b)[ \t]*(?:\[\[nodiscard\]\] )?"
    r"(?:static |inline |constexpr |consteval |virtual |explicit |friend )*"
    r"[\w:<>,&*\s]*?[\w>&*] [&*]?(?P<name>[a-z]\w*)\([^;{]*\)[^;{=]*[;{]", re.M)
# What tests are made of: doubles, judges and the simulator.
FOR_TESTS = re.compile(r"src/sim/|/judge/|/judge\.|/simulated_disk\.|_bench\.h$")


def is_product(path):
    return not is_test(path) and not FOR_TESTS.search(path)


def words_in_use(text):
    """Words of a .cc file but for the names of its functions, which are defined at the margin."""
    for line in text.split("\n"):
        if line[:1] in (" ", "\t", "#"):
            yield from WORD.findall(line)
            continue
        before, _, after = line.partition("=")
        yield from (match[0] for match in WORD.finditer(before) if before[match.end():match.end() + 1] != "(")
        yield from WORD.findall(after)


def run(tree):
    uses, declared = collections.Counter(), {}
    for path in tree.matching("src/*.h", "src/*.cc", "src/*.def", "src/*.inc", "bench/*.cc", "fuzz/*.cc"):
        if is_test(path):
            continue
        text = tree.text(path)
        if path.endswith((".h", ".cc")):
            text = without_comments_and_strings(text)
        if path.endswith(".cc"):
            uses.update(words_in_use(text))
            continue
        uses.update(WORD.findall(text))
        for match in DECLARED.finditer(text):
            uses[match["name"]] -= 1
            if room_of(path) and is_product(path):
                line = text.count("\n", 0, match.start("name")) + 1
                declared.setdefault(match["name"], []).append((path, line))
    for name, places in sorted(declared.items()):
        if uses[name] > 0:
            continue
        for path, line in places:
            if not tree.is_allowed(NAME, path, name):
                yield Finding(path, line, NAME, f"nothing but tests calls {name}()",
                              "remove it, or say in tools/allowed.txt what a test needs it for")
    yield from tree.stale_allowances(NAME)
