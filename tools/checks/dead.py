"""Files that nothing reaches: unbuilt sources, unused headers, unlinked docs, uncalled scripts, strays."""
import posixpath
import re

from . import links
from .tree import Finding, room_of

NAME = "dead"
# Found by place: no link needed.
ROOT_DOCS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "NOTICE.md")
ROOT_FILES = ROOT_DOCS + (".clang-format", ".clang-tidy", ".gitignore", "CMakeLists.txt", "CMakePresets.json",
                          "LICENSE", "Makefile")
SUITES = ("tests/*_test.py", "tests/**/*_test.py", "tests/*/run.py", "tests/*/test_*.py")
CALLERS = ("Makefile", "*.md", "*.sh", "*.py", "*.cmake", "CMakeLists.txt", "*.cc", "*.json", ".ci/*",
           "tools/*", "*.yaml", "*.toml", "*/package.json")


def is_built(tree, path):
    room = room_of(path)
    if room:
        return f"src/{room}/room.cmake" in tree.files
    folder, name = posixpath.split(path)
    listing = posixpath.join(folder, "CMakeLists.txt")
    if listing in tree.files and name in re.split(r"[\s()]+", tree.text(listing)):
        return True
    return re.fullmatch(r"bench/\w+_bench\.cc|fuzz/\w+_fuzz\.cc", path) is not None


def unbuilt_sources(tree):
    for path in tree.matching("*.cc"):
        if not is_built(tree, path) and not tree.is_allowed(NAME, path, "source"):
            yield Finding(path, 1, NAME, "nothing builds this file",
                          "move it into a room, or into bench/*_bench.cc or fuzz/*_fuzz.cc")


def unincluded_headers(tree):
    included = {f"src/{name}" for path in tree.sources for _, name, _ in tree.includes(path)}
    included |= {posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
                 for path in tree.sources for _, name, angled in tree.includes(path) if not angled}
    for path in tree.matching("*.h"):
        if path not in included and not tree.is_allowed(NAME, path, "header"):
            yield Finding(path, 1, NAME, "no file includes this header", "use it or remove it")


def unlinked_docs(tree):
    linked = set()
    for path in tree.matching("*.md"):
        for _, target in links.targets(tree.text(path)):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("#")[0]))
            linked |= {name, posixpath.join(name, "README.md")}
    for path in tree.matching("*.md"):
        by_place = path in ROOT_DOCS or posixpath.basename(path) == "README.md"
        if path not in linked and not by_place and not tree.is_allowed(NAME, path, "doc"):
            yield Finding(path, 1, NAME, "no page links to this one",
                          "link it from where a reader would look")


def is_script(tree, path):
    return path.endswith((".sh", ".py")) or tree.text(path).startswith("#!")


def uncalled_scripts(tree):
    suites = set(tree.matching(*SUITES))
    callers = tree.matching(*CALLERS)
    for path in tree.matching("*.sh", "*.py", "tools/*", "tests/*"):
        name = posixpath.basename(path)
        if not is_script(tree, path) or path in suites or name == "__init__.py":
            continue
        words = {name} | ({posixpath.splitext(name)[0]} if name.endswith(".py") else set())
        pattern = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, sorted(words))) + r")(?![\w-])")
        called = any(pattern.search(tree.text(caller)) for caller in callers if caller != path)
        if not called and not tree.is_allowed(NAME, path, "script"):
            yield Finding(path, 1, NAME, "nothing calls this script",
                          "call it, name it in a README, or remove it")


def strays(tree):
    for path in tree.files:
        if "/" not in path and path not in ROOT_FILES and not tree.is_allowed(NAME, path, "root"):
            yield Finding(path, 1, NAME, "no tool looks for this file in the root",
                          "remove it, move it into a folder, or add it to ROOT_FILES")


def run(tree):
    yield from unbuilt_sources(tree)
    yield from unincluded_headers(tree)
    yield from unlinked_docs(tree)
    yield from uncalled_scripts(tree)
    yield from strays(tree)
    yield from tree.stale_allowances(NAME)
