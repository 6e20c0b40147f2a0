"""Relative links and #anchors of Markdown files lead somewhere; so do the docs that comments name."""
import posixpath
import re
import urllib.parse

from .tree import Finding

NAME = "links"
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)", re.M)
FENCE = re.compile(r"^([ ]*)(```+|~~~+).*?^\1?\2\s*?$", re.S | re.M)
CODE_SPAN = re.compile(r"(`+)[^\n]*?\1")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
DOC_IN_COMMENT = re.compile(r"//[^\n]*?\b(docs/[\w./-]+\.md)(#[\w-]+)?")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def slug(heading):
    """The anchor that a Markdown viewer makes of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    prose = FENCE.sub(blank, text)
    found, counts = set(ANCHOR.findall(prose)), {}
    for heading in HEADING.findall(prose):
        name = slug(heading)
        again = counts.get(name, 0)
        counts[name] = again + 1
        found.add(f"{name}-{again}" if again else name)
    return found


def targets(text):
    """(line, target) of every link outside code."""
    prose = CODE_SPAN.sub(blank, FENCE.sub(blank, text))
    for match in LINK.finditer(prose):
        yield prose.count("\n", 0, match.start()) + 1, match[1] or match[2]


def broken(tree, source, target):
    """Why `target`, written in `source`, leads nowhere; empty when it does not."""
    path, _, anchor = target.partition("#")
    path = urllib.parse.unquote(path)
    if path.startswith("/"):
        return "is an absolute path"
    full = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
    if full not in tree.files and not any(file.startswith(full + "/") for file in tree.files) and full != ".":
        return f"'{full}' does not exist"
    if anchor and full.endswith(".md") and anchor not in anchors(tree.text(full)):
        return f"'{full}' has no heading for '#{anchor}'"
    return ""


def run(tree):
    for path in tree.matching("*.md"):
        for line, target in targets(tree.text(path)):
            if re.match(r"[a-z][a-z0-9+.-]*:", target, re.I):
                continue
            if problem := broken(tree, path, target):
                yield Finding(path, line, NAME, f"link '{target}': {problem}",
                              "correct the link or write the page")
    for path in tree.sources:
        text = tree.text(path)
        for match in DOC_IN_COMMENT.finditer(text):
            if problem := broken(tree, "README.md", match[1] + (match[2] or "")):
                line = text.count("\n", 0, match.start()) + 1
                yield Finding(path, line, NAME, f"comment: {problem}", "correct the name or write the page")
