"""clang-tidy 19 with the short list of .clang-tidy: on what changed, or on everything in a full run.

Most of the time goes to the headers that sources include, so sources of one target are first read as one
unit. A unit without complaints clears its sources; every other source is judged by itself. A unit can
complain about names that two sources share, so no complaint of a unit is a finding.
"""
import concurrent.futures
import json
import math
import re
import subprocess
import time
from typing import NamedTuple

from .tree import Finding, PassedBefore, late

NAME = "tidy"
PROGRAM = "clang-tidy-19"
OPTIONS = ("--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-deprecated-declarations",
           "--extra-arg=-ferror-limit=0")
AT_ONCE = 2
UNIT_SOURCES_MAX = 32
SECONDS_A_FILE_MAX = 120
SECONDS_A_UNIT_MAX = 900
COMPLAINT = re.compile(r"^([^\s:][^:\n]*):(\d+):\d+: (?:error|warning): (.*) \[([\w.,+-]+)\]$", re.M)
INPUT_AND_OUTPUT = re.compile(r" -o \S+ -c \S+$")
PRESETS = ("develop", "debug")


class Unit(NamedTuple):
    """Sources that one command compiles; `path` is the file that includes them, below its own database."""
    path: str
    sources: list


def database(tree):
    """The folder of the newest compilation database; makes one when there is none."""
    folders = [tree.root.resolve() / "build" / preset for preset in PRESETS]
    found = [folder for folder in folders if (folder / "compile_commands.json").exists()]
    if not found:
        subprocess.run(("cmake", "--preset", "develop"), cwd=tree.root, check=True, stdout=subprocess.DEVNULL)
        found = folders[:1]
    newest = max(found, key=lambda folder: (folder / "compile_commands.json").stat().st_mtime)
    if any(path.endswith((".cc", "room.cmake")) for path in tree.changed):
        subprocess.run(("cmake", str(newest)), cwd=tree.root, check=True, stdout=subprocess.DEVNULL)
    # Headers that protoc writes, and the bundle of the page, are read like any other.
    subprocess.run(("cmake", "--build", str(newest), "--target", "berth_protos", "berth_web"), cwd=tree.root,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return newest


def sources_by_command(tree, folder):
    """{(working directory, command without its source): sources}; the museum compiles some sources twice."""
    groups = {}
    for row in json.loads((folder / "compile_commands.json").read_text()):
        source = row["file"].removeprefix(f"{tree.root.resolve()}/")
        groups.setdefault((row["directory"], INPUT_AND_OUTPUT.sub("", row["command"])), []).append(source)
    return groups


def interesting(tree, path):
    """Whether this run looks at the .cc file `path`."""
    if tree.full or path in tree.changed:
        return True
    stem = re.sub(r"(_test)?\.cc$", "", path)
    return f"{stem}.h" in tree.changed


def lint(tree, folder, path, seconds, deadline=None):
    """The program's output for `path`, a file of the database in `folder`; None: the deadline came first."""
    if deadline is not None:
        seconds = max(1, min(seconds, deadline - time.monotonic()))
    command = (PROGRAM, "-p", str(folder), *OPTIONS, str(path))
    try:
        done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        if late(deadline):
            return None
        return f"{tree.root.resolve()}/{path}:1:1: error: takes more than {seconds} s [time]"
    if done.returncode != 0 and not COMPLAINT.search(done.stdout):
        return f"{tree.root.resolve()}/{path}:1:1: error: {done.stderr.strip()[-200:]} [{PROGRAM}]"
    return done.stdout


def units_of(folder, groups):
    """Units of about the same size, in a database of their own."""
    units, rows = [], []
    folder.mkdir(parents=True, exist_ok=True)
    for (directory, command), sources in groups.items():
        count = math.ceil(len(sources) / UNIT_SOURCES_MAX)
        size = math.ceil(len(sources) / count)
        for part in (sources[first:first + size] for first in range(0, len(sources), size)):
            path = f"{folder}/unit_{len(units)}.cc"
            units.append(Unit(path, part))
            rows.append({"directory": directory, "file": path, "command": f"{command} -c {path}"})
    (folder / "compile_commands.json").write_text(json.dumps(rows))
    return units


def cleared(tree, folder, unit, deadline):
    """The sources of `unit` that have nothing to complain about. What is complained about leaves the unit,
    and the rest is read again."""
    root, waiting = tree.root.resolve(), list(unit.sources)
    while len(waiting) > 1 and not late(deadline):
        with open(unit.path, "w", encoding="utf-8") as text:
            text.writelines(f'#include "{root}/{source}"\n' for source in waiting)
        output = lint(tree, folder, unit.path, SECONDS_A_UNIT_MAX, deadline)
        if output is None:
            break
        complaints = COMPLAINT.findall(output)
        if not complaints:
            return waiting
        named = {file.removeprefix(f"{root}/") for file, *_ in complaints}
        if named.isdisjoint(waiting):
            break
        waiting = [source for source in waiting if source not in named]
    return []


def age_of(tree, path):
    return tree.age.get(path, len(tree.age))


def unclear(tree, folder, waiting, deadline, pool):
    """The sources among `waiting` that no unit clears, in every command that compiles them."""
    groups = {key: [source for source in sources if source in waiting]
              for key, sources in sources_by_command(tree, folder).items()}
    left = {source for sources in groups.values() for source in sources if len(sources) == 1}
    units_folder = folder / "tidy"
    units = units_of(units_folder, {key: sources for key, sources in groups.items() if len(sources) > 1})
    units.sort(key=lambda unit: min(age_of(tree, source) for source in unit.sources))
    passed = pool.map(lambda unit: cleared(tree, units_folder, unit, deadline), units)
    for unit, good in zip(units, passed):
        left |= set(unit.sources) - set(good)
    return left


def run(tree):
    sources = [path for path in tree.written_sources if path.endswith(".cc") and interesting(tree, path)]
    if not sources:
        return
    folder = database(tree)
    known = {source for group in sources_by_command(tree, folder).values() for source in group}
    good = PassedBefore(tree, NAME)
    rules = tree.text(".clang-tidy")
    waiting = {}
    for path in sources:
        key = tree.content_key(path, rules)
        if path in known and not good.has(key):
            waiting[path] = key

    deadline = tree.until if tree.tidy_seconds is None else time.monotonic() + tree.tidy_seconds
    seen, skipped = set(), 0
    prefix = str(tree.root.resolve()) + "/"
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        single = sorted(unclear(tree, folder, waiting, deadline, pool),
                        key=lambda path: (age_of(tree, path), path))
        for path in waiting.keys() - set(single):
            good.add(waiting[path])
        outputs = pool.map(
            lambda path: None if late(deadline) else lint(tree, folder, path, SECONDS_A_FILE_MAX, deadline),
            single)
        for path, output in zip(single, outputs):
            if output is None:
                skipped += 1
                continue
            complaints = COMPLAINT.findall(output)
            if not complaints:
                good.add(waiting[path])
            for file, line, message, rule in complaints:
                finding = Finding(file.removeprefix(prefix), int(line), NAME, message, rule.partition(",")[0])
                if finding not in seen:
                    seen.add(finding)
                    yield finding
    if skipped:
        tree.notes.append(f"tidy: {skipped} of {len(waiting)} files left out, the time was over")
