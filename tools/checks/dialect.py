"""No word of the old dialect: names that were replaced by the field's own (tools/dialect.txt)."""
import pathlib
import re

from .tree import Finding, room_of

NAME = "dialect"
TABLE = pathlib.Path(__file__).resolve().parent.parent / "dialect.txt"


def rows():
    """(rooms or None for all, whether comments and Markdown count, pattern, old, new)"""
    for line in TABLE.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            rooms, kind, old, new = (field.strip() for field in line.split("|"))
            yield (None if rooms == "all" else set(rooms.split()), kind == "text",
                   re.compile(rf"\b{re.escape(old)}\b"), old, new)


def run(tree):
    table = list(rows())
    pages = [path for path in tree.files if path.endswith(".md") and path != "docs/glossary.md"]
    for path in [*tree.written_sources, *pages]:
        is_code = not path.endswith(".md")
        room = room_of(path)
        whole = tree.text(path)
        code = tree.code(path) if is_code else ""
        for rooms, in_text, pattern, old, new in table:
            if rooms is not None and room not in rooms or not (is_code or in_text):
                continue
            for match in pattern.finditer(whole if in_text else code):
                line = whole.count("\n", 0, match.start()) + 1
                if not tree.is_allowed(NAME, path, old):
                    yield Finding(path, line, NAME, f"'{old}' is a word of the old dialect", f"say {new}")
    yield from tree.stale_allowances(NAME)
