"""Prose that is read once: short sentences and lines, plain words, rooms' pages of one screen.

tools/prose.txt lists the refused words.
"""
import pathlib
import re

from .tree import Finding

NAME = "prose"
SENTENCE_WORDS_MAX = 30
LINE_MAX = 110
ROOM_PAGE_WORDS_MAX = 250
REFUSED_WORDS = pathlib.Path(__file__).resolve().parent.parent / "prose.txt"
ROOM_PAGE = re.compile(r"src/.*README\.md$")

FENCE = re.compile(r"^([ ]*)(```+|~~~+).*?^\1?\2\s*?$", re.S | re.M)
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?:    |\t)[^\n]*\n(?:[ \t]*\n)*)+", re.M)
HTML = re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>\n]*>", re.S)
CODE_SPAN = re.compile(r"(`+)(?!`)(?:(?!\n[ \t]*\n)[^`])*?\1")
LINK_TARGET = re.compile(r"(?<=\])(?:\([^()\s]*(?:\([^()]*\)[^()\s]*)?\)|\[[^\]\n]*\])")
TABLE_ROW = re.compile(r"^[ ]*\|[^\n]*$", re.M)
# What starts a piece of prose of its own: a heading, an item of a list, an empty line, a dot between links.
BLOCK = re.compile(r"^[ ]*(?:#{1,6} .*|(?:[*+-]|\d+\.)[ ]+|>[ ]?|$)|^\[[^\]]+\]:[^\n]*| ·(?=\s)", re.M)
SENTENCE_END = re.compile(r"[.!?][)\"'*_\]]*(?=\s|$)")
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|etc|ca|No)|\s[A-Z])\.$")
HEADING = re.compile(r"^#{1,6} .*$", re.M)
COMMENT_LINE = re.compile(r"[ ]*//[ ]?(.*)$")
WORD = re.compile(r"[^\W_](?:[\w'’./:%-]*\w)?")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def without_code_blocks(text):
    text = FENCE.sub(blank, text)
    return INDENTED.sub(lambda match: blank(match) if is_code(text, match) else match[0], text)


def is_code(text, indented):
    """Whether indented lines are code, not a further paragraph of the item of a list before them."""
    for line in reversed(text[:indented.start()].splitlines()):
        if line.strip() and not line.startswith(" "):
            item = re.match(r"(?:[*+-]|\d+\.) +", line)
            return not item or len(indented[0]) - len(indented[0].lstrip(" ")) >= item.end() + 4
    return True


def prose_of(text):
    """`text` with spaces for all but sentences, and one word for code; every offset keeps its meaning."""
    text = without_code_blocks(text)
    text = CODE_SPAN.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), text)
    return LINK_TARGET.sub(blank, HTML.sub(blank, text))


def blocks(prose):
    """(start, end) of each paragraph, item and cell."""
    cuts = {0, len(prose)}
    for match in BLOCK.finditer(prose):
        cuts.add(match.start())
        cuts.add(match.end())
    for row in TABLE_ROW.finditer(prose):
        cuts.update(row.start() + at.start() for at in re.finditer(r"(?<!\\)\||$", row[0]))
    edges = sorted(cuts)
    yield from zip(edges, edges[1:])


def sentences(prose):
    """(start, end) of each sentence, without the space around it."""
    for start, end in blocks(prose):
        first = start
        for match in SENTENCE_END.finditer(prose, start, end):
            if ABBREVIATION.search(prose[first:match.start() + 1]):
                continue
            yield trimmed(prose, first, match.end())
            first = match.end()
        if prose[first:end].strip(" |\n#*+->"):
            yield trimmed(prose, first, end)


def trimmed(prose, start, end):
    piece = prose[start:end]
    return start + len(piece) - len(piece.lstrip(" |\n")), end - len(piece) + len(piece.rstrip())


def word_count(prose):
    return len(WORD.findall(prose))


def plain_words(text):
    """The words of a whole page as a reader counts them, code included."""
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def long_sentences(prose):
    """(start, end, words) of each sentence that is too long to be read once."""
    for start, end in sentences(prose):
        if (words := word_count(prose[start:end])) > SENTENCE_WORDS_MAX:
            yield start, end, words


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def long_lines(text):
    """Numbers of the lines that could be broken: no code, no row of a table, no single long word."""
    whole = CODE_SPAN.sub(lambda match: re.sub(r"\S| ", "x", match[0]), without_code_blocks(text))
    whole = LINK_TARGET.sub(lambda match: re.sub(r"\S", "x", match[0]), whole)
    for number, line in enumerate(whole.splitlines(), 1):
        if len(line) > LINE_MAX and not TABLE_ROW.match(line) and " " in line[:LINE_MAX].strip():
            yield number


def refused_words(place):
    """(pattern, what to say) of `pages` or of `comments`"""
    for line in REFUSED_WORDS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            word, remedy, *places = (field.strip() for field in line.split("|"))
            if not places or place in places:
                yield re.compile(rf"\b{word}\b", re.I), remedy


def comments(text):
    """The comments of a header that have lines of their own, on their lines."""
    found = (COMMENT_LINE.match(line) for line in text.split("\n"))
    return "\n".join(match[1] if match else "" for match in found)


def faults_of_page(path, text, words):
    """(subject, line, message, remedy)"""
    prose = prose_of(text)
    yield from faults_of_sentences(prose, "a sentence", "make it two, or a list")
    for number in long_lines(text):
        yield "lines", number, f"a line of more than {LINE_MAX} columns", "break it"
    yield from faults_of_words(HEADING.sub(blank, prose), words)
    if ROOM_PAGE.match(path) and (count := plain_words(text)) > ROOM_PAGE_WORDS_MAX:
        yield "page", 1, f"{count} words, at most {ROOM_PAGE_WORDS_MAX}", "move to docs/ what users need"


def faults_of_header(text, words):
    """(subject, line, message, remedy)"""
    prose = prose_of(comments(text))
    yield from faults_of_sentences(prose, "a comment's sentence", "make it two")
    yield from faults_of_words(prose, words)


def faults_of_words(prose, words):
    for pattern, remedy in words:
        for match in pattern.finditer(prose):
            yield "words", line_of(prose, match.start()), f"'{match[0]}'", remedy


def faults_of_sentences(prose, what, remedy):
    for start, _, count in long_sentences(prose):
        yield ("sentences", line_of(prose, start), f"{what} of {count} words, at most {SENTENCE_WORDS_MAX}",
               remedy)


def run(tree):
    words = list(refused_words("pages"))
    found = [(path, fault) for path in tree.matching("*.md")
             for fault in faults_of_page(path, tree.text(path), words)]
    words = list(refused_words("comments"))
    headers = [path for path in tree.written_sources if path.endswith(".h") and path.startswith("src/")]
    found += [(path, fault) for path in headers for fault in faults_of_header(tree.text(path), words)]
    for path, (_, line, message, remedy) in found:
        yield Finding(path, line, NAME, message, remedy)
