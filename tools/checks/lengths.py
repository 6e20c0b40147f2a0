"""Lines of at most 110 characters, functions of at most 70 lines, headers of at most 200."""
import re

from .tree import Finding

NAME = "lengths"
LINE_MAX = 110
FUNCTION_MAX = 70
HEADER_MAX = 200
LINE_PATTERNS = ("*.cc", "*.h", "*.py", "*.sh", "*.cmake", "CMakeLists.txt", "Makefile", "tools/*", ".ci/*")
# Tables, data, and languages with a formatter of their own.
OTHER_LINES = (".md", ".json", ".go", ".sum", ".mod", ".txt")

CONTAINER = re.compile(r"(?:^|[\s>])(?:namespace|class|struct|union|enum|extern)\b")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)


def opens_function(head, before):
    """Whether the brace behind `head` begins a function's body. clang-format puts a space before those."""
    return before.isspace() and ")" in head and not re.search(r"[=,(]\s*$", head)


def matching_brace(code, start):
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def functions(code):
    """(first line, number of lines) of each function in clang-formatted code without comments and strings."""
    code = DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)
    position = head_start = 0
    for_head = re.compile(r"[{};]")
    while match := for_head.search(code, position):
        position = match.end()
        if match[0] != "{":
            head_start = position
            continue
        head = code[head_start:match.start()]
        if opens_function(head, code[match.start() - 1]):
            end = matching_brace(code, match.start())
            first = code.count("\n", 0, head_start + len(head) - len(head.lstrip())) + 1
            yield first, code.count("\n", 0, end) + 2 - first
            position = head_start = end + 1
        elif CONTAINER.search(head) and "=" not in head:
            head_start = position
        else:  # an initialiser: what follows still belongs to the same head
            position = matching_brace(code, match.start()) + 1


def run(tree):
    for path in tree.matching(*LINE_PATTERNS):
        if path in tree.generated or path.endswith(OTHER_LINES):
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if len(line) > LINE_MAX and not tree.is_allowed(NAME, path, "line"):
                yield Finding(path, number, NAME, f"{len(line)} columns, at most {LINE_MAX}",
                              "break the line")
    for path in tree.written_sources:
        lines = len(tree.text(path).splitlines())
        if path.endswith(".h") and lines > HEADER_MAX and not tree.is_allowed(NAME, path, "header"):
            yield Finding(path, lines, NAME, f"{lines} lines, at most {HEADER_MAX}",
                          "split the header by idea")
        for first, count in functions(tree.code(path)):
            if count > FUNCTION_MAX and not tree.is_allowed(NAME, path, "function"):
                yield Finding(path, first, NAME, f"function of {count} lines, at most {FUNCTION_MAX}",
                              "name its steps, or make the branches a table")
    yield from tree.stale_allowances(NAME)
