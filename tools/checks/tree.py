"""What the checks look at: the files of a source tree, read once, and the table of allowed exceptions."""
import fnmatch
import functools
import hashlib
import pathlib
import re
import subprocess
import time
from typing import NamedTuple

# The arrow may only point down this list (docs: the rooms).
ROOM_ORDER = ("base", "api", "rbac", "cel", "crd", "admission", "apply", "store", "client", "engine", "model",
              "dra", "topology", "placement", "scheduling", "explain", "binding", "health", "workloads",
              "controllers", "groups", "planning", "simulate", "plane", "server", "dashboard", "sim",
              "bench", "install", "cli")

# Commits that Tree.age tells apart.
COMMITS_OF_AGE_MAX = 300
ALLOW_TABLE = "tools/allowed.txt"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Comments, strings and character literals, in this order; a digit separator (10'000) is none of them.
LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\s\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z_])(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'", re.S)


class Finding(NamedTuple):
    path: str
    line: int
    check: str
    message: str
    remedy: str

    def text(self):
        return f"{self.path}:{self.line}: {self.check}: {self.message} — {self.remedy}"


class Allowed(NamedTuple):
    check: str
    pattern: str
    subject: str
    reason: str
    line: int


def late(deadline):
    """By time.monotonic(); None: never."""
    return deadline is not None and time.monotonic() > deadline


def blank(match):
    """The same number of lines and columns, without what was written."""
    return re.sub(r"[^\n]", " ", match.group(0))


def blank_inside(match):
    text = match.group(0)
    if text.startswith("/"):
        return blank(match)
    return text[0] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1]


def without_comments_and_strings(text):
    return LITERAL.sub(blank_inside, text)


class Tree:
    """Owner: one run. `full` looks at everything where a check would look only at what changed. `until`: by
    time.monotonic(), when slow checks leave out the rest; None: never."""

    def __init__(self, root, full=True, files=None, seconds=None, until=None):
        self.root = pathlib.Path(root)
        self.full = full
        self.tidy_seconds = seconds
        self.until = until
        self.notes = []
        self._files = files
        self._allow_used = set()

    def git(self, *arguments):
        done = subprocess.run(("git", "-C", str(self.root), *arguments), capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode == 0 else []

    @functools.cached_property
    def files(self):
        if self._files is not None:
            return sorted(self._files)
        listed = self.git("ls-files", "-co", "--exclude-standard")
        return sorted(path for path in set(listed) if (self.root / path).is_file())

    def matching(self, *patterns):
        return [path for path in self.files if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)]

    @functools.cached_property
    def generated(self):
        """Files that a program of ours wrote: only what they contain is judged, not how it looks."""
        return {path for path in self.files for row in self.allowed
                if row.check == "generated" and fnmatch.fnmatch(path, row.pattern)}

    @functools.cached_property
    def sources(self):
        return self.matching("*.cc", "*.h")

    @functools.cached_property
    def written_sources(self):
        return [path for path in self.sources if path not in self.generated]

    @functools.cached_property
    def changed(self):
        """Files that differ from where this branch left origin/main, and those not committed yet."""
        base = self.git("merge-base", "HEAD", "origin/main") or ["HEAD"]
        names = self.git("diff", "--name-only", base[0]) + self.git("ls-files", "-o", "--exclude-standard")
        return set(names) & set(self.files)

    @functools.cached_property
    def age(self):
        """{path: 0 for what the latest commit changed, 1 for the one before it, …}; older ones are absent."""
        ages, commit = dict.fromkeys(self.changed, 0), 0
        for line in self.git("log", f"-{COMMITS_OF_AGE_MAX}", "--name-only", "--format=%x00"):
            if line == "\0":
                commit += 1
            elif line:
                ages.setdefault(line, commit)
        return ages

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return (self.root / path).read_bytes().decode("utf-8", errors="replace")

    @functools.lru_cache(maxsize=None)
    def code(self, path):
        return without_comments_and_strings(self.text(path))

    @functools.lru_cache(maxsize=None)
    def includes(self, path):
        """(line, name, is it in angle brackets) of each include."""
        blanked = self.code(path).splitlines()
        found = []
        for number, line in enumerate(self.text(path).splitlines(), 1):
            if blanked[number - 1].lstrip().startswith("#") and (match := INCLUDE.match(line)):
                found.append((number, match[2], match[1] == "<"))
        return found

    @functools.cached_property
    def allowed(self):
        rows = []
        if ALLOW_TABLE not in self.files:
            return rows
        for number, line in enumerate(self.text(ALLOW_TABLE).splitlines(), 1):
            columns = [column.strip() for column in line.split("|")]
            if len(columns) == 4 and not line.startswith("#"):
                rows.append(Allowed(*columns, number))
        return rows

    def is_allowed(self, check, path, subject):
        for row in self.allowed:
            if row.check == check and fnmatch.fnmatch(path, row.pattern) and row.subject in (subject, "*"):
                self._allow_used.add(row.line)
                return True
        return False

    def stale_allowances(self, check):
        """Rows of `check` whose files exist but no longer need the exception. Ask after the check has run."""
        for row in self.allowed:
            if row.check == check and row.line not in self._allow_used and self.matching(row.pattern):
                yield Finding(ALLOW_TABLE, row.line, check,
                              f"{row.pattern} no longer needs '{row.subject}'", "remove the row")

    @functools.lru_cache(maxsize=None)
    def reached_headers(self, path):
        """The headers of src/ that `path` sees, itself included."""
        seen, waiting = {path}, [path]
        known = set(self.files)
        while waiting:
            for _, name, _ in self.includes(waiting.pop()):
                if (header := f"src/{name}") in known and header not in seen:
                    seen.add(header)
                    waiting.append(header)
        return frozenset(seen)

    def own_key(self, path, *extra):
        """Changes when `path` or one of `extra` changes."""
        return hashlib.sha256("\0".join((path, self.text(path), *extra)).encode()).hexdigest()

    def content_key(self, path, *extra):
        """Changes when `path`, a header of ours that it sees, or one of `extra` changes."""
        digest = hashlib.sha256()
        for part in (path, *extra, *(self.text(seen) for seen in sorted(self.reached_headers(path)))):
            digest.update(part.encode() + b"\0")
        return digest.hexdigest()


class PassedBefore:
    """Remembers on disk which content a slow check has found good."""

    def __init__(self, tree, check):
        self.folder = tree.root / "build" / "check-cache" / check

    def has(self, key):
        return (self.folder / key).exists()

    def add(self, key):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / key).touch()


def room_of(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "src" else None


def is_test(path):
    """A test, a header that tests share (test_tools.h), or what stands in a folder testing/."""
    folder, _, name = path.rpartition("/")
    return name.endswith("_test.cc") or (name.endswith(".h") and name.startswith("test_")) or \
        folder.endswith("/testing")
