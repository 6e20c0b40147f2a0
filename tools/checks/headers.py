"""Headers compile alone and say #pragma once; fuzz targets, which no other build meets, compile."""
import concurrent.futures
import subprocess

from .tree import Finding, PassedBefore

NAME = "headers"
COMPILER = ("g++", "-std=gnu++20", "-fsyntax-only", "-Wall", "-Wextra", "-Isrc", "-x", "c++", "-")
AT_ONCE = 2
SECONDS_MAX = 60


def compile_alone(tree, path):
    """The first complaint of the compiler; empty when there is none."""
    source = f'#include "{path.removeprefix("src/")}"\n' if path.endswith(".h") else tree.text(path)
    try:
        done = subprocess.run(COMPILER, cwd=tree.root, input=source, capture_output=True, text=True,
                              timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return f"takes more than {SECONDS_MAX} s"
    if done.returncode == 0:
        return ""
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    return (errors or done.stderr.splitlines() or ["the compiler failed"])[0]


def run(tree):
    good = PassedBefore(tree, NAME)
    waiting = {}
    for path in tree.matching("src/*.h", "fuzz/*.cc"):
        if path.endswith(".h") and "#pragma once" not in tree.text(path):
            yield Finding(path, 1, NAME, "has no include guard", "begin with #pragma once")
        key = tree.content_key(path, *COMPILER)
        if not good.has(key):
            waiting[path] = key
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        complaints = pool.map(lambda path: compile_alone(tree, path), waiting)
        for (path, key), complaint in zip(waiting.items(), complaints):
            if complaint:
                yield Finding(path, 1, NAME, f"does not compile alone: {complaint}", "include what it uses")
            else:
                good.add(key)
