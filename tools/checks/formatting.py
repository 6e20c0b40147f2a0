"""clang-format 19 changes nothing."""
import re
import subprocess

from .tree import Finding, PassedBefore

NAME = "format"
PROGRAM = "clang-format-19"
FILES_A_CALL = 40
COMPLAINT = re.compile(r"^(.*?):(\d+):\d+: error: code should be clang-formatted", re.M)


def batches(paths):
    return [paths[start:start + FILES_A_CALL] for start in range(0, len(paths), FILES_A_CALL)]


def style(tree):
    return tree.text(".clang-format") if ".clang-format" in tree.files else ""


def run(tree):
    good = PassedBefore(tree, NAME)
    keys = {path: tree.own_key(path, style(tree)) for path in tree.written_sources}
    waiting = [path for path in tree.written_sources if not good.has(keys[path])]
    for batch in batches(waiting):
        done = subprocess.run((PROGRAM, "--dry-run", "-Werror", *batch), cwd=tree.root,
                              capture_output=True, text=True)
        lines = {}
        for path, line in COMPLAINT.findall(done.stderr):
            lines.setdefault(path, int(line))
        for path, line in lines.items():
            yield Finding(path, line, NAME, "not as clang-format writes it", "make format")
        if done.returncode != 0 and not lines:
            yield Finding(batch[0], 1, NAME, done.stderr.strip().partition("\n")[0], "correct the file")
        elif not done.returncode or lines:
            for path in batch:
                if path not in lines:
                    good.add(keys[path])


def fix(tree):
    for batch in batches(tree.written_sources):
        subprocess.run((PROGRAM, "-i", *batch), cwd=tree.root, check=True)
