"""Calls that only a seam may make. A row of tools/allowed.txt names each seam and why it may."""
import re

from .tree import Finding, is_test

NAME = "calls"

# (subject in the allow table, pattern, remedy)
BANNED = (
    ("clock", r"\b(?:system_clock|steady_clock|high_resolution_clock|utc_clock)\b"
              r"|\b(?:clock_gettime|gettimeofday|usleep|nanosleep|this_thread::sleep_\w+)\b"
              r"|(?<![\w.>])(?:std::|::)?(?:time|clock)\((?:nullptr|NULL|0|)\)",
     "take a Clock (base/clock.h)"),
    ("random", r"\bstd::(?:random_device|mt19937(?:_64)?|default_random_engine)\b"
               r"|(?<![\w.>])(?:std::|::)?(?:s?rand|srandom|getrandom|getentropy|arc4random)\(",
     "take a Random (base/random.h)"),
    ("files", r"\bstd::(?:[io]?fstream\b|filesystem\b(?!::path\b))"
              r"|(?<![\w.>:])(?:std::|::)?(?:fopen|freopen|tmpfile|opendir)\("
              r"|(?<![\w.>:])::(?:open|unlink|rename|mkdir|stat|truncate|fsync)\("
              r"|(?<![\w.>:])(?:::)?(?:openat|unlinkat|renameat|mkdtemp|mkstemp|fdatasync)\("
              r"|(?<![\w.>:])(?:::)?(?:pread|pwrite|mmap)\(",
     "go through the file seam"),
    ("sockets", r"(?<![\w.>:])::(?:socket|connect|bind|listen|accept4?|send|recv|sendmsg|recvmsg)\("
                r"|(?<![\w.>:])(?:socketpair|getaddrinfo|epoll_create1?|epoll_wait)\(",
     "go through ApiClient or the transport"),
    ("threads", r"\bstd::(?:jthread|thread|async)\b|\bpthread_create\b",
     "hand the work to the engine or a seam"),
    ("regex", r"\bstd::(?:w?regex|w?smatch|w?cmatch|regex_\w+)\b", "use RE2"),
    ("iostream", r"\bstd::(?:cout|cerr|clog|cin)\b", "use base/log.h, or fprintf in cli"),
    ("stdout", r"(?<![\w.>:])(?:std::|::)?(?:printf|vprintf|puts|putchar)\(|\bstdout\b|\bSTDOUT_FILENO\b",
     "return text; only cli prints"),
    ("environment", r"(?<![\w.>:])(?:std::|::)?(?:secure_getenv|getenv|setenv|unsetenv|putenv)\(|\benviron\b",
     "take a parameter; cli reads the environment"),
    ("processes", r"(?<![\w.>:])(?:std::|::)?(?:system|popen|v?fork|posix_spawnp?)\("
                  r"|(?<![\w.>:])(?:::)?(?:execvpe?|execve?|execlp?)\(",
     "start no process"),
    ("coroutines", r"\bco_(?:await|return|yield)\b", "write a state machine: g++ 12 miscompiles some"),
)
PATTERNS = tuple((subject, re.compile(pattern), remedy) for subject, pattern, remedy in BANNED)

# A test reads its data, starts the threads that it tests with and so on; it never draws time or chance.
FREE_IN_TESTS = {"files", "sockets", "threads", "stdout", "environment", "processes"}
FREE_IN_BENCHES = FREE_IN_TESTS | {"clock"}


def free_in(path):
    if is_test(path) or path.startswith("fuzz/"):
        return FREE_IN_TESTS
    return FREE_IN_BENCHES if path.startswith("bench/") else set()


def run(tree):
    for path in tree.written_sources:
        free = free_in(path)
        code = tree.code(path)
        for subject, pattern, remedy in PATTERNS:
            if subject in free:
                continue
            for match in pattern.finditer(code):
                if not tree.is_allowed(NAME, path, subject):
                    line = code.count("\n", 0, match.start()) + 1
                    message = f"'{match[0].strip()}' is {subject} outside a seam"
                    yield Finding(path, line, NAME, message, remedy)
    yield from tree.stale_allowances(NAME)
