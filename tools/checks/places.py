"""Nothing that only one machine has (home folders, package hosts), and no markers of work left over."""
import re

from .tree import Finding

NAME = "places"
TEXT_BYTES_MAX = 4 << 20

# (subject in the allow table, pattern, what it is, remedy)
BANNED = (
    ("path", re.compile(r"(?<![\w./-])/(?:work|root|Users|home/[a-z]\w*)(?=/|\b(?![\w./-]))"),
     "a path of one machine", "use a relative path or a parameter"),
    ("host", re.compile(r"\b(?:registry\.npmjs\.org|registry\.yarnpkg\.com|(?:proxy|sum)\.golang\.org"
                        r"|(?:files\.)?pythonhosted\.org|pypi\.org|index\.crates\.io|deb\.debian\.org"
                        r"|[\w-]*(?:artifactory|nexus)[\w.-]*\.\w+)\b", re.I),
     "a package host", "leave it to the client's own configuration"),
    ("marker", re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b"), "a leftover marker", "do it, or drop it"),
)


def run(tree):
    for path in tree.files:
        if (tree.root / path).stat().st_size > TEXT_BYTES_MAX or "\0" in tree.text(path)[:4096]:
            continue
        for subject, pattern, what, remedy in BANNED:
            for match in pattern.finditer(tree.text(path)):
                if not tree.is_allowed(NAME, path, subject):
                    line = tree.text(path).count("\n", 0, match.start()) + 1
                    yield Finding(path, line, NAME, f"'{match[0]}' is {what}", remedy)
    yield from tree.stale_allowances(NAME)
