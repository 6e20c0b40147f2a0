"""External symbols that two objects define: of archives the linker takes the first and says nothing."""
import collections
import re
import subprocess

from .tree import Finding

NAME = "symbols"
# What nm says of each archive: "libberth_api.a[yaml.cc.o]: berth::api::to_yaml(…) T 0 5f".
ROW = re.compile(
    r"^(?:.*/)?(?P<archive>libberth_\w+\.a)\[(?P<object>[^]]+)\]: (?P<symbol>.*) (?P<kind>[TDBR]) ")


def archives(tree):
    return sorted((tree.root / "build" / "release").glob("libberth_*.a"))


def run(tree):
    found = archives(tree)
    if not found:
        tree.notes.append("symbols: not looked at, there is no release build")
        return
    listed = subprocess.run(("nm", "-A", "-C", "--defined-only", "--extern-only", "--format=posix", *found),
                            capture_output=True, text=True, check=False)
    places = collections.defaultdict(set)
    for line in listed.stdout.splitlines():
        if row := ROW.match(line):
            places[row["symbol"]].add(f"{row['archive']}({row['object']})")
    for symbol, objects in sorted(places.items()):
        if len(objects) > 1:
            first, second, *_ = sorted(objects)
            yield Finding(first, 1, NAME, f"{symbol} is defined in {second} as well",
                          "keep one, or put it into an unnamed namespace")
