"""clang-tidy 19 with the short list of .clang-tidy: on what changed, or on everything in a full run."""
import concurrent.futures
import json
import re
import subprocess
import time

from .tree import Finding, PassedBefore

NAME = "tidy"
PROGRAM = "clang-tidy-19"
AT_ONCE = 2
SECONDS_A_FILE_MAX = 120
COMPLAINT = re.compile(r"^([^\s:][^:\n]*):(\d+):\d+: (?:error|warning): (.*) \[([\w.,+-]+)\]$", re.M)
PRESETS = ("develop", "debug")


def compile_commands(tree):
    """(folder, source files) of the newest compilation database; makes one when there is none."""
    folders = [tree.root / "build" / preset for preset in PRESETS]
    found = [folder for folder in folders if (folder / "compile_commands.json").exists()]
    if not found:
        subprocess.run(("cmake", "--preset", "develop"), cwd=tree.root, check=True, stdout=subprocess.DEVNULL)
        found = folders[:1]
    newest = max(found, key=lambda folder: (folder / "compile_commands.json").stat().st_mtime)
    if any(path.endswith((".cc", "room.cmake")) for path in tree.changed):
        subprocess.run(("cmake", str(newest)), cwd=tree.root, check=True, stdout=subprocess.DEVNULL)
    # Headers that protoc writes are read like any other.
    subprocess.run(("cmake", "--build", str(newest), "--target", "berth_protos"), cwd=tree.root,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = json.loads((newest / "compile_commands.json").read_text())
    root = str(tree.root.resolve()) + "/"
    return newest, {row["file"].removeprefix(root) for row in rows}


def interesting(tree, path):
    """Whether this run looks at the .cc file `path`."""
    if tree.full or path in tree.changed:
        return True
    stem = re.sub(r"(_test)?\.cc$", "", path)
    return f"{stem}.h" in tree.changed


def lint(tree, folder, path, deadline):
    """The program's output; None when there was no time left to begin."""
    if deadline is not None and time.monotonic() > deadline:
        return None
    command = (PROGRAM, "-p", str(folder), "--quiet", "--extra-arg=-Wno-unknown-warning-option",
               "--extra-arg=-Wno-deprecated-declarations", path)
    try:
        done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True,
                              timeout=SECONDS_A_FILE_MAX)
    except subprocess.TimeoutExpired:
        return f"{tree.root.resolve()}/{path}:1:1: error: takes more than {SECONDS_A_FILE_MAX} s [time]"
    if done.returncode != 0 and not COMPLAINT.search(done.stdout):
        return f"{tree.root.resolve()}/{path}:1:1: error: {done.stderr.strip()[-200:]} [{PROGRAM}]"
    return done.stdout


def run(tree):
    sources = [path for path in tree.written_sources if path.endswith(".cc") and interesting(tree, path)]
    if not sources:
        return
    folder, known = compile_commands(tree)
    good = PassedBefore(tree, NAME)
    rules = tree.text(".clang-tidy")
    waiting = {}
    for path in sources:
        key = tree.content_key(path, rules)
        if path in known and not good.has(key):
            waiting[path] = key

    deadline = None if tree.tidy_seconds is None else time.monotonic() + tree.tidy_seconds
    seen, skipped = set(), 0
    prefix = str(tree.root.resolve()) + "/"
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outputs = pool.map(lambda path: lint(tree, folder, path, deadline), waiting)
        for (path, key), output in zip(waiting.items(), outputs):
            if output is None:
                skipped += 1
                continue
            complaints = COMPLAINT.findall(output)
            if not complaints:
                good.add(key)
            for file, line, message, rule in complaints:
                finding = Finding(file.removeprefix(prefix), int(line), NAME, message, rule.partition(",")[0])
                if finding not in seen:
                    seen.add(finding)
                    yield finding
    if skipped:
        tree.notes.append(f"tidy: {skipped} changed files left for a full run (limit {tree.tidy_seconds} s)")
