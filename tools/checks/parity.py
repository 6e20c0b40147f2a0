"""docs/api-parity.md says why answers differ, and how many, as tests/cluster/parity/differences.txt does."""
import re

from .tree import Finding

NAME = "parity"
LIST, PAGE = "tests/cluster/parity/differences.txt", "docs/api-parity.md"
HEAD = re.compile(r"reason (\S+) (\d+) (\S.*)")
ROW = re.compile(r"\| [a-z0-9-]+ \| \d+ \| .* \|")


def run(tree):
    if LIST not in tree.files or PAGE not in tree.files:
        return
    heads = [HEAD.fullmatch(line) for line in tree.text(LIST).splitlines()]
    wanted = ["| %s | %s | %s |" % head.groups() for head in heads if head]
    written = {}
    for line, text in enumerate(tree.text(PAGE).splitlines(), 1):
        if ROW.fullmatch(text):
            written[text] = line
    for row in wanted:
        if row not in written:
            yield Finding(PAGE, 1, NAME, "the reason of %s is not there: %s" % (LIST, row), "add the row")
    for row, line in written.items():
        if row not in wanted:
            yield Finding(PAGE, line, NAME, "no reason of %s says this" % LIST,
                          "copy its key, count and text")
