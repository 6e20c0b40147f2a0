"""differences.txt: why an answer may differ from the reference's, and how many do at most.

    reason KEY MOST Sentence for docs/api-parity.md.
      PATTERN

A pattern is a regular expression, searched in `CHAPTER | REQUEST | PATH | WANT | GOT`: one line for each
difference of an answer, or one about the codes where these differ (PATH is `code`). A request is excused when
each of its differences is; it counts for the reason of the first. MOST only shrinks.
"""
import json
import pathlib
import re
from dataclasses import dataclass, field

FILE = pathlib.Path(__file__).resolve().with_name("differences.txt")
HEAD = re.compile(r"reason (\S+) (\d+) (\S.*)")
TEXT_MAX = 600
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass
class Reason:
    key: str
    most: int
    sentence: str
    patterns: list = field(default_factory=list)
    found: int = 0


def load():
    reasons = []
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        head = HEAD.fullmatch(line)
        if head:
            reasons.append(Reason(head[1], int(head[2]), head[3]))
        elif line.startswith("  ") and reasons:
            reasons[-1].patterns.append(re.compile(line.strip()))
        else:
            raise ValueError("differences.txt:%d: neither a reason nor a pattern" % number)
    return reasons


def shown(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return CONTROL.sub("?", text[:TEXT_MAX].replace("\n", "\\n"))


def lines_of(chapter, label, differences):
    return ["%s | %s | %s | %s | %s" % (chapter, label, path, shown(want), shown(got))
            for path, want, got in differences]


def reason_of(reasons, line):
    return next((reason for reason in reasons if any(pattern.search(line) for pattern in reason.patterns)),
                None)


def excuse(reasons, lines):
    """The reason of the first difference if every one has a reason, else None."""
    every = [reason_of(reasons, line) for line in lines]
    return every[0] if all(every) else None
