"""Headers compile alone and say #pragma once; fuzz targets, which no other build meets, compile.

Nearly all of the time goes to what headers include, and many include the same. So some headers that many
others reach are precompiled, and a header begins with the largest of these that it reaches. This hides no
missing include: a header sees all that it reaches before its own text in any case, and what it reaches is
proved by itself. Both need that only includes come before the last include; a header that breaks this begins
with nothing, and nothing is reached through it.
"""
import collections
import concurrent.futures
import functools
import pathlib
import subprocess
import tempfile

from .tree import Finding, PassedBefore, late

NAME = "headers"
PROGRAM = "clang++-19"
COMPILER = (PROGRAM, "-std=gnu++20", "-w", "-ferror-limit=1", "-Isrc")
AT_ONCE = 2
SECONDS_MAX = 180
BASES_MAX = 24  # of 40 MB each
# Costs in headers read: those of the standard library that each reads, and what writing adds to reading.
STANDARD_COST = 12
WRITE_SHARE = 0.25


class Includes:
    """Which headers a header is sure to have read before its own text."""

    def __init__(self, tree):
        self.tree = tree

    def come_first(self, path):
        lines = {line for line, _, _ in self.tree.includes(path)}
        code = self.tree.code(path).splitlines()[:max(lines, default=0)]
        return all(number in lines or text.strip() in ("", "#pragma once")
                   for number, text in enumerate(code, 1))

    @functools.lru_cache(maxsize=None)
    def reached(self, path):
        """Without `path`."""
        seen, waiting = set(), [path]
        while waiting:
            if not self.come_first(current := waiting.pop()):
                continue
            named = {f"src/{name}" for _, name, _ in self.tree.includes(current)} & set(self.tree.files)
            waiting += named - seen
            seen |= named
        return frozenset(seen - {path})


def choose_bases(includes, paths):
    """{header: the precompiled one that it begins with, "" for none}, for `paths` and the chosen bases."""
    readers = collections.defaultdict(list)
    for path in paths:
        for reached in includes.reached(path):
            readers[reached].append(path)
    base_of, bases = dict.fromkeys(paths, ""), set()

    def cost(path):
        return len(includes.reached(path)) + STANDARD_COST if path else 0

    def gain(one):
        saved = sum(max(0, cost(one) - cost(base_of[path])) for path in readers[one] if path not in bases)
        return saved - cost(one) * WRITE_SHARE - (cost(base_of[one]) if one in base_of else cost(one))

    while len(bases) < BASES_MAX:
        best = max(sorted(readers.keys() - bases), key=gain, default=None)
        if best is None or gain(best) <= 0:
            break
        bases.add(best)
        base_of[best] = ""
        for path in readers[best]:
            if path not in bases and cost(base_of[path]) < cost(best):
                base_of[path] = best
    return base_of


class Compiler:
    """Owner: one run. `precompiled`: a future of the complaint about each base, begun before its readers.
    Where the time was over, bases and their readers have no complaint but None."""

    def __init__(self, tree, folder):
        self.tree = tree
        self.folder = pathlib.Path(folder)
        self.precompiled = {}

    def file_of(self, path):
        return self.folder / (path.replace("/", "+") + ".pch")

    def complaint(self, source, *options):
        """The first one of the compiler about the text `source`; empty when there is none."""
        try:
            done = subprocess.run((*COMPILER, *options, "-"), cwd=self.tree.root, input=source,
                                  capture_output=True, text=True, timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            return f"takes more than {SECONDS_MAX} s"
        if done.returncode == 0:
            return ""
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        return (errors or done.stderr.splitlines() or ["the compiler failed"])[0]

    def write_base(self, path):
        if late(self.tree.until):
            return None
        return self.complaint(include(path), "-x", "c++-header", "-fpch-instantiate-templates",
                              "-o", str(self.file_of(path)))

    def check(self, path, base):
        """None where the time was over."""
        if late(self.tree.until):
            return None
        if not path.endswith(".h"):
            return self.complaint(self.tree.text(path), "-fsyntax-only", "-x", "c++")
        if base and not self.precompiled[base].result():
            options = ("-include-pch", str(self.file_of(base)), "-fsyntax-only", "-x", "c++")
            if not self.complaint(include(path), *options):
                return ""
        return self.complaint(include(path), "-fsyntax-only", "-x", "c++")


def include(header):
    return f'#include "{header.removeprefix("src/")}"\n'


def check_all(tree, paths, pool, folder):
    """{path: a future of the complaint about it}"""
    base_of = choose_bases(Includes(tree), [path for path in paths if path.endswith(".h")])
    compiler = Compiler(tree, folder)
    for base in sorted(set(base_of.values()) - {""}):
        compiler.precompiled[base] = pool.submit(compiler.write_base, base)
    return {path: compiler.precompiled.get(path) or pool.submit(compiler.check, path, base_of.get(path, ""))
            for path in paths}


def run(tree):
    good = PassedBefore(tree, NAME)
    waiting, left = {}, 0
    for path in tree.matching("src/*.h", "fuzz/*.cc"):
        if path.endswith(".h") and "#pragma once" not in tree.text(path):
            yield Finding(path, 1, NAME, "has no include guard", "begin with #pragma once")
        key = tree.content_key(path, *COMPILER)
        if not good.has(key):
            waiting[path] = key
    build = tree.root / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="headers-", dir=build) as folder, \
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        complaints = check_all(tree, waiting, pool, folder)
        for path, key in waiting.items():
            complaint = complaints[path].result()
            if complaint is None:
                left += 1
            elif complaint:
                yield Finding(path, 1, NAME, f"does not compile alone: {complaint}", "include what it uses")
            else:
                good.add(key)
    if left:
        tree.notes.append(f"headers: {left} left out, the time was over")
