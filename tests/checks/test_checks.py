"""Each check refuses a tiny bad tree, accepts the same tree put right, and names the right line."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import checks  # noqa: E402
from checks import (banned, dead, defects, dialect, formatting, headers, lengths, links,  # noqa: E402
                    parity, places, prose, quarantine, rooms, symbols, tidy, uncalled, unnamed)
from checks.tree import Tree, without_comments_and_strings  # noqa: E402

ROOM = {"src/base/room.cmake": "berth_room(NAME base)\n", "src/base/README.md": "# base\n"}


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="berth-check-")
        self.addCleanup(shutil.rmtree, self.folder)

    def found(self, check, files):
        """(path, line) of each finding of `check` in a tree of `files`."""
        shutil.rmtree(self.folder)
        for path, text in files.items():
            target = pathlib.Path(self.folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        tree = Tree(self.folder, files=list(files))
        return sorted((finding.path, finding.line) for finding in check.run(tree))

    def need(self, program):
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")

    def accepts(self, check, files, about=None):
        self.assertEqual(self.found(check, files), [], about)

    def test_every_check_is_listed_and_named_once(self):
        names = [check.NAME for check in checks.ALL]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({check.NAME for check in checks.ALL if check not in checks.QUICK},
                         {"symbols", "headers", "tidy"})
        modules = {path.stem for path in (ROOT / "tools/checks").glob("*.py")} - {"__init__", "tree"}
        self.assertEqual({check.__name__.rpartition(".")[2] for check in checks.ALL}, modules)


class MissingPrograms(unittest.TestCase):
    def test_a_program_that_is_not_installed_is_named_with_what_installs_it(self):
        done = subprocess.run((sys.executable, str(ROOT / "tools/check"), "format"),
                              env={"PATH": "/nonexistent"}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("clang-format-19", done.stderr)
        self.assertIn("tools/setup.sh check", done.stderr)


class Rooms(CheckTest):
    DRA = {"src/dra/room.cmake": "berth_room(NAME dra ROOMS base)\n", "src/dra/README.md": "# dra\n"}

    def test_includes_of_listed_rooms_are_accepted(self):
        files = {**ROOM, **self.DRA, "src/dra/a.cc": '#include "base/x.h"\n#include <map>\n'}
        self.accepts(rooms, files)

    def test_an_unlisted_room_is_refused(self):
        files = {**ROOM, **self.DRA, "src/dra/a.cc": '#include "base/x.h"\n#include "store/x.h"\n'}
        self.assertEqual(self.found(rooms, files), [("src/dra/a.cc", 2)])

    def test_an_include_in_a_comment_or_a_raw_string_is_none(self):
        text = '// #include "store/x.h"\nconst char* k = R"(\n#include "store/x.h"\n)";\n'
        self.accepts(rooms, {**ROOM, **self.DRA, "src/dra/a.cc": text})

    def test_an_arrow_upwards_is_refused(self):
        files = {"src/base/room.cmake": "berth_room(NAME base ROOMS dra LINK x)\n"}
        self.assertEqual(self.found(rooms, files), [("src/base/room.cmake", 1)])

    def test_an_unknown_room_and_a_wrong_name_are_refused(self):
        self.assertEqual(self.found(rooms, {"src/base/room.cmake": "berth_room(NAME bose)\n"}),
                         [("src/base/room.cmake", 1)])
        self.assertEqual(len(self.found(rooms, {"src/attic/room.cmake": "berth_room(NAME attic)\n"})), 1)

    def test_a_room_with_sources_needs_a_readme(self):
        files = {"src/base/room.cmake": ROOM["src/base/room.cmake"], "src/base/a.cc": "int a;\n"}
        self.assertEqual(self.found(rooms, files), [("src/base/room.cmake", 1)])

    def test_only_a_test_may_use_the_rooms_of_test_link(self):
        room = {"src/dra/room.cmake": "berth_room(NAME dra ROOMS base TEST_LINK berth_sim)\n",
                "src/dra/README.md": "# dra\n"}
        include = '#include "sim/world.h"\n'
        self.accepts(rooms, {**room, "src/dra/a_test.cc": include})
        self.assertEqual(self.found(rooms, {**room, "src/dra/a.cc": include}), [("src/dra/a.cc", 1)])

    def test_a_declaration_of_an_unlisted_rooms_name_is_refused(self):
        declared = "#pragma once\nnamespace berth::store {\nstruct Key;\n}\n"
        self.assertEqual(self.found(rooms, {**ROOM, **self.DRA, "src/dra/a.h": declared}),
                         [("src/dra/a.h", 2)])
        listed = {"src/dra/room.cmake": "berth_room(NAME dra ROOMS base store)\n"}
        self.accepts(rooms, {**ROOM, **self.DRA, **listed, "src/dra/a.h": declared})
        for own in ("namespace berth::dra {}\n", "namespace berth::dra::judge {}\n", "namespace berth {}\n",
                    "// namespace berth::store {}\n"):
            self.accepts(rooms, {**ROOM, **self.DRA, "src/dra/a.h": own}, about=own)

    def test_the_architecture_page_has_the_same_arrows(self):
        page = {"docs/architecture.md": "| [base](../src/base/README.md) | nothing |\n"
                                        "| [cel](../src/cel/README.md), [dra](../src/dra/README.md)"
                                        " | base |\n"}
        rooms_of = {f"src/{room}/room.cmake": f"berth_room(NAME {room}{uses})\n"
                    for room, uses in (("base", ""), ("cel", " ROOMS base"), ("dra", " ROOMS base"))}
        self.accepts(rooms, {**rooms_of, **page})
        changed = {**rooms_of, "src/dra/room.cmake": "berth_room(NAME dra ROOMS base cel)\n"}
        self.assertEqual(self.found(rooms, {**changed, **page}), [("docs/architecture.md", 2)])
        missing = {"docs/architecture.md": "| [base](../src/base/README.md) | nothing |\n"}
        self.assertEqual(len(self.found(rooms, {**rooms_of, **missing})), 2)

    def test_a_benchmark_names_its_rooms(self):
        include = '#include "base/x.h"\n'
        self.accepts(rooms, {"bench/x_bench.cc": "// rooms: base\n" + include})
        self.assertEqual(self.found(rooms, {"bench/x_bench.cc": "// rooms: cel\n" + include}),
                         [("bench/x_bench.cc", 2)])
        self.assertEqual(self.found(rooms, {"bench/x_bench.cc": include}), [("bench/x_bench.cc", 1)])


class Banned(CheckTest):
    def lines(self, text, path="src/dra/a.cc", allow=""):
        return [line for _, line in self.found(banned, {path: text, "tools/allowed.txt": allow})]

    def test_each_banned_call_is_found(self):
        for call in ("std::chrono::steady_clock::now()", "::clock_gettime(CLOCK_REALTIME, &t)",
                     "time(nullptr)", "std::random_device d", "rand()", "std::ifstream in(path)",
                     "fopen(a, b)", "::open(path, 0)", "::socket(1, 2, 3)", "std::thread t(f)",
                     "std::regex r(x)", "std::cout << 1", "printf(x)", "std::puts(x)", "fputs(x, stdout)",
                     "std::getenv(name)", "system(command)", "co_await x", "std::this_thread::sleep_for(x)"):
            self.assertEqual(self.lines(f"void f() {{\n  {call};\n}}\n"), [2], call)

    def test_like_sounding_code_is_not(self):
        for code in ("snprintf(a, b, c)", "std::fprintf(stderr, x)", "file.open(x)", "clock->now()",
                     "watch.bind(x)", "queue::open(x)", "strand(x)", "entry.time()", "// rand()",
                     "Random random(7)", "std::filesystem::path p(x)",
                     'log("std::thread")', "runtime(x)", "int n = 10'000; f(); int m = 20'000"):
            self.assertEqual(self.lines(f"void f() {{\n  {code};\n}}\n"), [], code)

    def test_a_test_may_read_files_but_no_clock(self):
        text = "std::ifstream in(path);\nstd::thread t(f);\nauto t = system_clock::now();\n"
        self.assertEqual(self.lines(text, "src/dra/a_test.cc"), [3])

    def test_the_table_grants_one_subject(self):
        allow = "calls | src/dra/*.cc | random | tests of the check\n"
        self.assertEqual(self.lines("rand();\ntime(0);\n", allow=allow), [2])

    def test_a_row_that_nothing_needs_is_found(self):
        files = {"src/dra/a.cc": "int a;\n", "tools/allowed.txt": "calls | src/dra/a.cc | random | none\n"}
        self.assertEqual(self.found(banned, files), [("tools/allowed.txt", 1)])


class Defects(CheckTest):
    SWITCHES = {"src/base/known_defects.h": "class WithDefect {};\n"}
    ON = '#include "base/known_defects.h"\nvoid f() {\n  WithDefect on(KnownDefect::X);\n}\n'
    ASK = '#include "base/known_defects.h"\nbool f() { return has(KnownDefect::X); }\n'
    LISTED = {"src/dra/room.cmake": "berth_room(NAME dra ROOMS base\n  MUSEUM search/a.cc)\n"}

    def test_the_museums_programs_may_switch_one_on(self):
        self.accepts(defects, {**self.SWITCHES, "src/base/testing/museum.h": self.ON,
                               "src/sim/museum_storm_main.cc": self.ON})

    def test_nobody_else_may(self):
        for path in ("src/cli/a.cc", "src/dra/museum_test.cc", "src/sim/world.cc"):
            self.assertIn((path, 3), self.found(defects, {**self.SWITCHES, path: self.ON}))
        around = "void f() {\n  detail::switched_on = x;\n}\n"
        self.assertEqual(self.found(defects, {"bench/a_bench.cc": around}), [("bench/a_bench.cc", 2)])

    def test_who_asks_is_listed_and_no_header(self):
        self.accepts(defects, {**self.SWITCHES, **self.LISTED, "src/dra/search/a.cc": self.ASK})
        self.assertEqual(self.found(defects, {**self.SWITCHES, "src/dra/b.cc": self.ASK}),
                         [("src/dra/b.cc", 1)])
        self.assertEqual(self.found(defects, {**self.SWITCHES, "src/dra/a.h": self.ASK}),
                         [("src/dra/a.h", 1)])

    def test_who_is_listed_asks(self):
        silent = {"src/dra/search/a.cc": "int a;\n"}
        self.assertEqual(self.found(defects, {**self.SWITCHES, **self.LISTED, **silent}),
                         [("src/dra/room.cmake", 1)])


class Quarantine(CheckTest):
    def test_headers_stay_clean(self):
        for name in ("boost/asio.hpp", "boost/json.hpp", "grpcpp/grpcpp.h", "health.pb.h", "simdjson.h",
                     "regex",
                     "spdlog/spdlog.h", "fmt/core.h", "thread", "filesystem", "ranges", "sqlite3.h"):
            files = {"src/dra/a.h": f"#pragma once\n#include <{name}>\n"}
            self.assertEqual(self.found(quarantine, files), [("src/dra/a.h", 2)], name)
        self.accepts(quarantine, {"src/dra/a.h": "#include <vector>\n"})

    def test_a_package_belongs_to_its_room(self):
        self.accepts(quarantine, {"src/store/a.cc": "#include <sqlite3.h>\n"})
        self.accepts(quarantine, {"src/store/a_test.cc": "#include <sqlite3.h>\n"})
        self.accepts(quarantine, {"src/dra/a.cc": "#include <fmt/core.h>\n"})
        for name in ("sqlite3.h", "regex", "grpcpp/grpcpp.h"):
            files = {"src/dra/a.cc": f"#include <{name}>\n"}
            self.assertEqual(self.found(quarantine, files), [("src/dra/a.cc", 1)], name)

    def test_test_libraries_stay_in_tests(self):
        self.accepts(quarantine, {"src/dra/a_test.cc": "#include <rapidcheck/gtest.h>\n"})
        self.accepts(quarantine, {"src/dra/test_tools.h": "#include <gtest/gtest.h>\n"})
        self.assertEqual(len(self.found(quarantine, {"src/dra/a.cc": "#include <rapidcheck/gtest.h>\n"})), 1)

    def test_two_files_may_be_slow(self):
        files = {f"src/server/{name}.cc": "#include <boost/asio.hpp>\n" for name in "abc"}
        self.assertEqual(self.found(quarantine, files), [("src/server/c.cc", 1)])


class Lengths(CheckTest):
    @staticmethod
    def function(lines, head="int f(int a) {"):
        return head + "\n" + "  use(a);\n" * (lines - 2) + "}\n"

    def test_lines_are_counted_in_characters(self):
        self.accepts(lengths, {"src/dra/a.cc": "// " + "µ" * 107 + "\n"})
        bad = {"src/dra/a.cc": "\n// " + "x" * 108 + "\n"}
        self.assertEqual(self.found(lengths, bad), [("src/dra/a.cc", 2)])

    def test_headers_have_a_limit(self):
        self.accepts(lengths, {"src/dra/a.h": "\n" * 200})
        self.assertEqual(self.found(lengths, {"src/dra/a.h": "\n" * 201}), [("src/dra/a.h", 201)])

    def test_functions_have_a_limit(self):
        for head in ("int f(int a) {", "A::A(int a) : a_(a), b_{a} {", "auto f(int a) const -> int {",
                     "TEST(Suite, Name) {", "template <class T>\nvoid f(T a) noexcept {"):
            extra = head.count("\n")
            wrapped = "namespace n {\nnamespace {\n\n%s\n}\n}\n"
            good = {"src/dra/a.cc": wrapped % self.function(70 - extra, head)}
            self.accepts(lengths, good, about=head)
            bad = {"src/dra/a.cc": wrapped % self.function(71 - extra, head)}
            self.assertEqual(self.found(lengths, bad), [("src/dra/a.cc", 4)], head)

    def test_members_count_and_classes_do_not(self):
        text = "class A {\n public:\n%s%s};\n"
        good = {"src/dra/a.cc": text % (self.function(60), self.function(60, "void g() {"))}
        self.accepts(lengths, good)
        bad = {"src/dra/a.cc": text % (self.function(60), self.function(80, "void g() {"))}
        self.assertEqual(self.found(lengths, bad), [("src/dra/a.cc", 63)])

    def test_tables_have_no_limit(self):
        rows = '    {"a", 1},\n' * 100
        for head in ("constexpr Row kRows[] = {\n", "const Map kRows{\n", "Table t = table({\n"):
            tail = "});\n" if head.endswith("({\n") else "};\n"
            self.accepts(lengths, {"src/dra/a.cc": head + rows + tail}, about=head)

    def test_generated_files_are_exempt(self):
        files = {"src/api/a.gen.cc": self.function(90), "tools/allowed.txt": "generated | *.gen.cc | * | x\n"}
        self.accepts(lengths, files)


class Links(CheckTest):
    PAGE = {"docs/a.md": "# Big Words\n\n## `code` & more\n\n## Twice\n\n## Twice\n"}

    def lines(self, text):
        return [line for _, line in self.found(links, {**self.PAGE, "README.md": text})]

    def test_existing_targets_are_accepted(self):
        for target in ("docs/a.md", "docs/a.md#big-words", "docs/a.md#code--more", "docs/a.md#twice-1",
                       "docs", "#own", "https://example.com/x"):
            self.assertEqual(self.lines(f"# Own\n\n[x]({target})\n"), [], target)

    def test_broken_targets_are_found(self):
        for target in ("docs/b.md", "docs/a.md#small", "docs/a.md#twice-2", "#none", "/docs/a.md"):
            self.assertEqual(self.lines(f"# Own\n\n[x]({target})\n"), [3], target)

    def test_code_is_not_prose(self):
        self.assertEqual(self.lines("`[x](none.md)`\n\n```\n[x](none.md)\n# no heading\n```\n"), [])

    def test_docs_that_comments_name_exist(self):
        for name, lines in (("docs/a.md#big-words", []), ("docs/a.md#small", [1]), ("docs/none.md", [1])):
            files = {**self.PAGE, "src/base/a.h": f"// Rules in {name}.\n"}
            self.assertEqual([line for _, line in self.found(links, files)], lines, name)


class Dead(CheckTest):
    def test_sources_belong_to_a_room(self):
        self.accepts(dead, {**ROOM, "src/base/a.cc": ""})
        self.accepts(dead, {"bench/a_bench.cc": "", "fuzz/a_fuzz.cc": ""})
        listing = "examples/a/CMakeLists.txt"
        self.accepts(dead, {"examples/a/main.cc": "", listing: "add_executable(a main.cc)"})
        self.assertEqual(self.found(dead, {"examples/a/main.cc": "", listing: "a(domain.cc)"}),
                         [("examples/a/main.cc", 1)])
        self.assertEqual(self.found(dead, {"src/attic/a.cc": ""}), [("src/attic/a.cc", 1)])
        self.assertEqual(self.found(dead, {"bench/a.cc": ""}), [("bench/a.cc", 1)])

    def test_headers_are_included(self):
        self.accepts(dead, {**ROOM, "src/base/a.cc": '#include "base/a.h"\n', "src/base/a.h": ""})
        self.assertEqual(self.found(dead, {"src/base/a.h": ""}), [("src/base/a.h", 1)])

    def test_docs_are_linked(self):
        self.accepts(dead, {"README.md": "[a](docs/a.md#x)\n", "docs/a.md": ""})
        self.assertEqual(self.found(dead, {"README.md": "docs/a.md\n", "docs/a.md": ""}), [("docs/a.md", 1)])

    def test_scripts_are_called(self):
        self.accepts(dead, {"Makefile": "x:\n\ttools/a.sh\n", "tools/a.sh": "#!/bin/sh\n"})
        self.accepts(dead, {"tests/x/run.py": "", "tests/x/a_test.py": ""})
        self.assertEqual(self.found(dead, {"Makefile": "x:\n\ttools/aa.sh\n", "tools/a.sh": "#!/bin/sh\n"}),
                         [("tools/a.sh", 1)])

    def test_the_root_has_only_files_that_tools_look_for(self):
        self.accepts(dead, {"Makefile": "", ".gitignore": "/build/\n", "examples/.t": "server: x\n"})
        self.assertEqual(self.found(dead, {".t": "server: x\n"}), [(".t", 1)])


class Parity(CheckTest):
    LIST = {"tests/cluster/parity/differences.txt": "# why\nreason yaml 3 Another parser.\n  broken\n"}

    def test_the_page_has_the_reasons_with_their_counts(self):
        page = {"docs/api-parity.md": "# Parity\n\n| yaml | 3 | Another parser. |\n"}
        self.accepts(parity, {**self.LIST, **page})

    def test_another_count_and_a_reason_of_none_are_refused(self):
        page = {"docs/api-parity.md": "# Parity\n\n| yaml | 4 | Another parser. |\n"}
        self.assertEqual(self.found(parity, {**self.LIST, **page}),
                         [("docs/api-parity.md", 1), ("docs/api-parity.md", 3)])


class Tidy(CheckTest):
    """A unit finds what the single source does: each check of .clang-tidy has one violation here."""

    RULES = (ROOT / ".clang-tidy").read_text()
    USED = """#pragma once
#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
struct Base { virtual ~Base() = default; virtual int f() { return 1; } };
struct Derived : Base { int f() override { return 2; } };
struct Lock { Lock() {} explicit Lock(int) {} ~Lock() {} };
inline void take(std::string) {}
inline void count(int amount) { (void)amount; }
inline std::string made() { return "made"; }
inline const std::string& kept() { static const std::string k; return k; }
"""
    SEEDED = {
        "bugprone-argument-comment": "void @() { count(/*number=*/1); }",
        "bugprone-dangling-handle": "std::string_view @() { std::string s = made(); return s; }",
        "bugprone-infinite-loop": "void @() { int i = 0; int j = 0; while (i < 10) { ++j; } }",
        "bugprone-inaccurate-erase":
            "void @(std::vector<int>& v) { v.erase(std::remove(v.begin(), v.end(), 1)); }",
        "bugprone-parent-virtual-call": "struct @ : Derived { int f() override { return Base::f(); } };",
        "bugprone-sizeof-expression": "int @() { return sizeof(sizeof(int)); }",
        "bugprone-string-constructor": "std::string @() { return std::string('a', 50); }",
        "bugprone-suspicious-memset-usage": "void @(int* p) { std::memset(p, '0', 20); }",
        "bugprone-unused-raii": "void @() { Lock(1); count(1); }",
        "bugprone-use-after-move": "std::string @(std::string s) { take(std::move(s)); return s; }",
        "misc-redundant-expression": "bool @(int i) { return i == i; }",
        "modernize-use-override": "struct @ : Base { virtual int f() { return 3; } };",
        "performance-for-range-copy":
            "size_t @(const std::vector<std::string>& v) {"
            " size_t n = 0; for (const std::string s : v) n += s.size(); return n; }",
        "performance-implicit-conversion-in-loop":
            "void @(const std::map<int, std::string>& m) {"
            " for (const std::pair<int, std::string>& p : m) take(p.second); }",
        "performance-move-const-arg": "void @(const std::string& s) { take(std::move(s)); }",
        "performance-noexcept-move-constructor": "struct @ { @(@&&) {} std::string s; };",
        "performance-unnecessary-copy-initialization":
            "size_t @() { const std::string copied = kept(); return copied.size(); }",
        "readability-misleading-indentation": "void @(bool b) { if (b)\n  count(1);\n  count(2);\n}",
    }

    def setUp(self):
        super().setUp()
        self.need(tidy.PROGRAM)

    def room(self, sources):
        """A tree that a develop build has configured, with a single target of `sources`."""
        root = pathlib.Path(self.folder)
        build = root / "build/develop"
        shutil.rmtree(root)
        (root / "src/dra").mkdir(parents=True)
        build.mkdir(parents=True)
        (root / ".clang-tidy").write_text(self.RULES)
        for path, text in sources.items():
            (root / path).write_text(text)
        rows = [{"directory": str(build), "file": f"{root}/{path}",
                 "command": f"g++ -I{root}/src -std=gnu++20 -o {path}.o -c {root}/{path}"}
                for path in sources if path.endswith(".cc")]
        (build / "compile_commands.json").write_text(json.dumps(rows))
        return Tree(root, files=[".clang-tidy", *sources])

    def complaints(self, tree, folder, path):
        output = tidy.lint(tree, folder, path, tidy.SECONDS_A_FILE_MAX)
        return sorted((file, int(line), rule.partition(",")[0])
                      for file, line, _, rule in tidy.COMPLAINT.findall(output))

    def seeded(self):
        """A source with a violation of each check, one or more lines each, and the first lines."""
        text, lines = '#include "dra/used.h"\n', {}
        for number, (rule, code) in enumerate(self.SEEDED.items()):
            lines[rule] = text.count("\n") + 1
            text += code.replace("@", f"seeded_{number}") + "\n"
        return text, lines

    def test_a_unit_finds_what_its_source_has(self):
        enabled = re.findall(r"^  ([a-z]+-[a-z-]+)", self.RULES, re.M)
        self.assertEqual(sorted(self.SEEDED), sorted(enabled))
        text, lines = self.seeded()
        tree = self.room({"src/dra/used.h": self.USED, "src/dra/a.cc": '#include "dra/used.h"\n',
                          "src/dra/b.cc": text})
        folder = tidy.database(tree)
        single = self.complaints(tree, folder, "src/dra/b.cc")
        self.assertEqual({rule for _, _, rule in single}, set(enabled))
        unit, = tidy.units_of(folder / "tidy", tidy.sources_by_command(tree, folder))
        pathlib.Path(unit.path).write_text(
            "".join(f'#include "{self.folder}/{path}"\n' for path in unit.sources))
        self.assertEqual(self.complaints(tree, folder / "tidy", unit.path), single)
        for rule, line in lines.items():
            self.assertIn(rule, {found for _, at, found in single if line <= at <= line + 2})

    def test_what_is_complained_about_leaves_the_unit_and_the_rest_is_good(self):
        bad = "#include <string>\nvoid take(std::string);\nvoid f(std::string s) { take(s); }\n"
        moved = bad.replace("take(s)", "take(std::move(s)); take(s)").replace(" f(", " moved(")
        tree = self.room({"src/dra/a.cc": "namespace { int used = 1; }\nint a() { return used; }\n",
                          "src/dra/b.cc": "namespace { int used = 2; }\nint b() { return used; }\n",
                          "src/dra/c.cc": "int c() { return 0; }\n", "src/dra/d.cc": moved})
        asked = []
        lint = tidy.lint
        self.addCleanup(setattr, tidy, "lint", lint)
        tidy.lint = lambda tree, folder, path, *limits: (
            asked.append(pathlib.Path(path).name) or lint(tree, folder, path, *limits))
        finding, = tidy.run(tree)
        self.assertEqual((finding.path, finding.line, finding.remedy),
                         ("src/dra/d.cc", 3, "bugprone-use-after-move"))
        self.assertEqual(asked, ["unit_0.cc", "unit_0.cc", "b.cc", "d.cc"])
        asked.clear()
        self.assertEqual(len(list(tidy.run(tree))), 1)
        self.assertEqual(asked, ["d.cc"], "what passed is asked again")

    def test_what_the_time_does_not_reach_is_left_out_and_counted(self):
        bad = ("#include <string>\nvoid take(std::string);\n"
               "void f(std::string s) { take(std::move(s)); take(s); }\n")
        tree = self.room({"src/dra/a.cc": bad, "src/dra/b.cc": bad.replace(" f(", " g(")})
        tree.until = time.monotonic()
        self.assertEqual(list(tidy.run(tree)), [])
        self.assertEqual(tree.notes, ["tidy: 2 of 2 files left out, the time was over"])
        tree.until, tree.notes = None, []
        self.assertEqual(len(list(tidy.run(tree))), 2)
        self.assertEqual(tree.notes, [])

    def test_units_with_the_latest_changes_come_first(self):
        tree = self.room({f"src/dra/{name}.cc": f"int {name}() {{ return 0; }}\n" for name in "abcd"})
        database = tidy.database(tree) / "compile_commands.json"
        rows = json.loads(database.read_text())
        for row in rows:
            age = "NEW" if row["file"][-4] > "b" else "OLD"
            row["command"] = row["command"].replace("-std", f"-D{age} -std")
        database.write_text(json.dumps(rows))
        tree.age = {"src/dra/d.cc": 0, "src/dra/a.cc": 3}
        asked = []
        self.addCleanup(setattr, tidy, "lint", tidy.lint)
        tidy.lint = lambda tree, folder, path, *limits: (
            asked.append(pathlib.Path(path).read_text()[-6]) or "")
        with unittest.mock.patch.object(tidy, "AT_ONCE", 1):
            self.assertEqual(list(tidy.run(tree)), [])
        self.assertEqual(asked, ["d", "b"])


class Unnamed(CheckTest):
    """Sources of a room are compiled as one, whichever they are."""

    @staticmethod
    def inside(text):
        return ("namespace berth::dra {\nnamespace {\n\n" + text +
                "\n}  // namespace\n}  // namespace berth::dra\n")

    def pair(self, first, second, **more):
        return {"src/dra/a.cc": self.inside(first), "src/dra/b.cc": self.inside(second), **more}

    def test_what_two_sources_define_is_found(self):
        for text in ("class Reader {\n};\n", "struct Case final : Base {\n};\n", "enum class Way { A };\n",
                     "constexpr int kMax = 3;\n", "const Row kRows[] = {\n};\n",
                     "template <class T>\nclass Box {\n};\n",
                     "bool is_odd(int number) {\n  return number % 2;\n}\n",
                     "std::map<int, int> sums(const std::string& of,\n         int most) {\n}\n"):
            (path, line), = self.found(unnamed, self.pair(text, text))
            self.assertEqual((path, line), ("src/dra/b.cc", 5 if text.startswith("template") else 4), text)

    def test_overloads_equal_aliases_other_programs_and_other_rooms_are_accepted(self):
        one = "bool is_odd(int number) {\n}\n"
        self.accepts(unnamed, self.pair(one, "bool is_odd(long number) {\n}\n"))
        self.accepts(unnamed, self.pair("using Key = int;\n", "using Key = int;\n"))
        for other in ("src/dra/a_test.cc", "src/api/a.cc", "src/dra/a_main.cc", "src/dra/testing/a.cc"):
            self.accepts(unnamed, {"src/dra/a.cc": self.inside(one), other: self.inside(one)})

    def test_an_alias_of_something_else_is_found(self):
        files = self.pair("using Key = int;\n", "using Key = long;\n")
        self.assertEqual(self.found(unnamed, files), [("src/dra/b.cc", 4)])
        self.accepts(unnamed, {"src/dra/a.cc": "using api::Key;\n", "src/dra/b.cc": "using api::Key;\n"})
        files = {"src/dra/a.cc": "using api::Key;\n", "src/dra/b.cc": self.inside("using Key = long;\n")}
        self.assertEqual(self.found(unnamed, files), [("src/dra/b.cc", 4)])

    def test_separate_sources_are_accepted(self):
        one = "constexpr int kMax = 3;\n"
        files = {"src/dra/kinds/a.cc": self.inside(one), "src/dra/kinds/b.cc": self.inside(one)}
        self.assertEqual(len(self.found(unnamed, files)), 1)
        self.accepts(unnamed, {**files, "src/dra/room.cmake": 'berth_room(NAME dra SEPARATE "/kinds/")\n'})


class Headers(CheckTest):
    """What several headers reach is compiled once, and no missing include is hidden by it."""

    MANY = 4

    def setUp(self):
        super().setUp()
        self.need(headers.PROGRAM)

    def room(self, **more):
        """`base.h`, which has a string, and as many readers of it as a precompiled header needs."""
        files = {"src/dra/base.h": "#pragma once\n#include <string>\nstruct Base { std::string s; };\n"}
        for number in range(self.MANY):
            files[f"src/dra/reader_{number}.h"] = (
                f'#pragma once\n#include "dra/base.h"\nstruct Reader{number} {{ Base b; }};\n')
        return {**files, **{f"src/dra/{name}.h": text for name, text in more.items()}}

    def test_headers_that_compile_alone_are_accepted(self):
        files = self.room()
        self.accepts(headers, files)
        bases = headers.choose_bases(headers.Includes(Tree(self.folder, files=list(files))), list(files))
        self.assertEqual(bases.pop("src/dra/base.h"), "")
        self.assertEqual(set(bases.values()), {"src/dra/base.h"})

    def test_what_the_time_does_not_reach_is_left_out_and_counted(self):
        files = self.room(other="#pragma once\nstruct Other { Base b; };\n")
        self.assertEqual(len(self.found(headers, files)), 1)
        tree = Tree(self.folder, files=list(files), until=time.monotonic())
        self.assertEqual(list(headers.run(tree)), [])
        self.assertEqual(tree.notes, ["headers: 1 left out, the time was over"])

    def test_a_missing_include_is_found_in_bases_and_in_what_begins_with_one(self):
        files = self.room(last='#pragma once\n#include "dra/base.h"\nstd::vector<Base> all();\n')
        self.assertEqual(self.found(headers, files), [("src/dra/last.h", 1)])
        files = self.room()
        files["src/dra/base.h"] += "std::vector<int> all();\n"
        self.assertEqual(len(self.found(headers, files)), 1 + self.MANY)
        for number in range(self.MANY):
            reader = f"src/dra/reader_{number}.h"
            files[reader] = files[reader].replace("#include", "#include <vector>\n#include", 1)
        self.assertEqual(self.found(headers, files), [("src/dra/base.h", 1)], "each reader hid it")

    def test_a_header_that_does_not_reach_the_base_does_not_see_it(self):
        files = self.room(other="#pragma once\nstruct Other { Base b; };\n")
        self.assertEqual(self.found(headers, files), [("src/dra/other.h", 1)])

    def test_code_before_the_last_include_ends_the_sharing(self):
        late = '#pragma once\nstruct Late { Base b; };\n#include "dra/base.h"\n'
        switched = '#pragma once\n#ifdef NEVER\n#include "dra/base.h"\n#endif\n'
        through = '#pragma once\n#include "dra/switched.h"\nstruct Through { Base b; };\n'
        files = self.room(late=late, switched=switched, through=through)
        self.assertEqual(self.found(headers, files), [("src/dra/late.h", 1), ("src/dra/through.h", 1)])


class Prose(CheckTest):
    LONG = "One " + "or " * 30 + "two.\n"

    def subjects(self, path, text):
        words = list(prose.refused_words("pages"))
        return [subject for subject, *_ in prose.faults_of_page(path, text, words)]

    def test_a_long_sentence_is_found_in_a_paragraph_an_item_and_a_cell(self):
        for text in (self.LONG, f"* {self.LONG}", f"| a | b |\n|---|---|\n| {self.LONG.strip()} | c |\n",
                     "Short. " + self.LONG, "or " * 25 + "`a.b. c`\n" + "[or](x) " * 5 + "\n"):
            self.assertEqual(self.subjects("docs/a.md", text), ["sentences"], text)

    def test_sentences_end_at_points_items_cells_and_dots_between_links(self):
        half = "or " * 16
        for text in (f"{half}end. {half}\n", f"* {half}\n* {half}\n", f"| {half} | {half} |\n",
                     f"{half}\n\n{half}\n", f"{half}· {half}\n", "`" + "x " * 40 + "`\n",
                     "    " + "or " * 40 + "\n", "```\n" + "code " * 40 + "\n```\n"):
            self.assertEqual(self.subjects("docs/a.md", text), [], text)

    def test_long_lines_are_found_unless_they_cannot_be_broken(self):
        self.assertEqual(self.subjects("docs/a.md", "word. " * 20 + "\n"), ["lines"])
        for text in ("| " + "cell. " * 20 + "|\n", "[a](" + "x" * 120 + ")\n", "    " + "code. " * 20 + "\n"):
            self.assertEqual(self.subjects("docs/a.md", text), [], text)

    def test_refused_words_are_found_in_text_alone(self):
        self.assertEqual(self.subjects("docs/a.md", "It is told.\n"), ["words"])
        self.assertEqual(self.subjects("docs/a.md", "# It is told\n`told`, [a](told.md)\n"), [])

    def test_a_room_page_has_one_screen(self):
        page = "Short one. " * 126
        self.assertIn("page", self.subjects("src/dra/README.md", page))
        self.assertNotIn("page", self.subjects("docs/a.md", page))

    def test_comments_of_headers_are_read_and_code_is_not(self):
        files = {"src/dra/a.h": f"// {self.LONG}int a;\n", "src/dra/b.h": "int " + "a, " * 40 + "b;\n",
                 "src/dra/a.cc": f"// {self.LONG}"}
        self.assertEqual(self.found(prose, files), [("src/dra/a.h", 1)])

    def test_comments_of_headers_have_fewer_refused_words_than_pages(self):
        files = {"src/dra/a.h": "// It is told what is free.\nint told;\n", "docs/a.md": "What is free.\n"}
        self.assertEqual(self.found(prose, files), [("docs/a.md", 1), ("src/dra/a.h", 1)])


class Dialect(CheckTest):
    def test_a_replaced_name_is_refused_in_its_room_alone(self):
        text = "namespace berth {\nstruct Shelf {};\n}\n"
        self.assertEqual(self.found(dialect, {"src/store/a.h": text}), [("src/store/a.h", 2)])
        self.accepts(dialect, {"src/sim/a.h": text, "src/store/b.h": text.replace("Shelf", "ResourceIndex")})

    def test_a_row_for_code_lets_the_english_word_stand(self):
        self.accepts(dialect, {"src/cli/a.cc": '// A part is told once.\nconst char* k = "told";\n'})
        self.assertEqual(self.found(dialect, {"src/cli/a.cc": "int told = 0;\n"}), [("src/cli/a.cc", 1)])

    def test_a_row_for_text_reads_comments_and_pages_too(self):
        files = {"src/dra/a.cc": "// See ShapeIndex.\n", "docs/a.md": "# A\n`ShapeIndex` keeps.\n",
                 "docs/glossary.md": "ShapeIndex\n"}
        self.assertEqual(self.found(dialect, files), [("docs/a.md", 2), ("src/dra/a.cc", 1)])

    def test_every_row_names_rooms_a_kind_and_one_word_each(self):
        rooms_known = {path.name for path in (ROOT / "src").iterdir()}
        seen = set()
        for room_set, _, _, old, new in dialect.rows():
            self.assertLessEqual(room_set or set(), rooms_known, old)
            self.assertTrue(old and new and old != new)
            for room in room_set or {"all"}:
                self.assertNotIn((room, old), seen)
                seen.add((room, old))


class Places(CheckTest):
    def test_machine_facts_and_markers_are_found(self):
        for text in ("see /home/joe/x", "cat /work/y", "/root/.ssh", "https://proxy.golang.org", "// TODO: x",
                     "FIXME", "npm registry.npmjs.org", "pypi.org"):
            self.assertEqual(self.found(places, {"docs/a.md": f"\n{text}\n"}), [("docs/a.md", 2)], text)

    def test_other_words_are_not(self):
        for text in ("src/work/a", "a/root/b", "mktemp /tmp/x.XXXXXX", "~/.local/state", "homework/root",
                     "registry.k8s.io/pause:3.10", "Todos"):
            self.accepts(places, {"docs/a.md": f"{text}\n"}, about=text)


class Tools(CheckTest):
    """Checks that run a compiler or a formatter."""

    def test_headers_compile_alone(self):
        self.need(headers.PROGRAM)
        good = "#pragma once\n#include <string>\ninline std::string a() { return {}; }\n"
        self.accepts(headers, {"src/base/a.h": good})
        self.assertEqual(self.found(headers, {"src/base/a.h": good.replace("#include <string>", "")}),
                         [("src/base/a.h", 1)])
        self.assertEqual(self.found(headers, {"src/base/a.h": good.replace("#pragma once", "")}),
                         [("src/base/a.h", 1)])

    def test_fuzz_targets_compile_too(self):
        self.need(headers.PROGRAM)
        files = {"fuzz/a_fuzz.cc": "// rooms: base\nint f() { return gone(); }\n"}
        self.assertEqual(self.found(headers, files), [("fuzz/a_fuzz.cc", 1)])
        self.accepts(headers, {"fuzz/a_fuzz.cc": "// rooms: base\nint f() { return 1; }\n"})

    def test_what_passed_is_judged_again_when_a_header_below_changes(self):
        self.need(headers.PROGRAM)
        files = {"src/base/a.h": '#pragma once\n#include "base/b.h"\ninline B b;\n',
                 "src/base/b.h": "#pragma once\nstruct B {};\n"}
        self.accepts(headers, files)
        for path, text in {**files, "src/base/b.h": "#pragma once\nstruct C {};\n"}.items():
            pathlib.Path(self.folder, path).write_text(text)
        findings = headers.run(Tree(self.folder, files=list(files)))
        self.assertEqual([finding.path for finding in findings], ["src/base/a.h"])

    def test_format(self):
        self.need(formatting.PROGRAM)
        style = {".clang-format": "BasedOnStyle: Google\n"}
        self.accepts(formatting, {**style, "src/base/a.cc": "int a;\n"})
        self.assertEqual(self.found(formatting, {**style, "src/base/a.cc": "int a;\nint   b;\n"}),
                         [("src/base/a.cc", 2)])

    def test_tidy(self):
        self.need(tidy.PROGRAM)
        bad = "struct A {\n  virtual ~A() = default;\n  virtual int f();\n};\n" \
              "struct B : A {\n  int f();\n};\n"
        for text, lines in ((bad, [6]), (bad.replace("f();\n};\n", "f() override;\n};\n").replace(
                "virtual int f() override", "virtual int f()"), [])):
            path = "src/base/a.cc"
            command = f"g++ -std=gnu++20 -c {path}"
            database = [{"directory": self.folder, "file": f"{self.folder}/{path}", "command": command}]
            files = {path: text, ".clang-tidy": "Checks: -*,modernize-use-override\nWarningsAsErrors: '*'\n",
                     "build/debug/compile_commands.json": json.dumps(database)}
            self.assertEqual([line for _, line in self.found(tidy, files)], lines)


class Uncalled(CheckTest):
    HEADER = "#pragma once\nint used(int a);\nint forgotten(int a);\n"
    SOURCE = "int used(int a) {\n  return a;\n}\nint forgotten(int a) {\n  return used(a);\n}\n"

    def test_a_function_that_nothing_calls_is_named_where_it_is_declared(self):
        files = {**ROOM, "src/base/a.h": self.HEADER, "src/base/a.cc": self.SOURCE}
        self.assertEqual(self.found(uncalled, files), [("src/base/a.h", 3)])

    def test_a_call_of_a_test_is_none_unless_the_table_says_so(self):
        files = {**ROOM, "src/base/a.h": self.HEADER, "src/base/a.cc": self.SOURCE,
                 "src/base/a_test.cc": "void test() {\n  forgotten(1);\n}\n"}
        self.assertEqual(self.found(uncalled, files), [("src/base/a.h", 3)])
        table = "uncalled | src/base/a.h | forgotten | a test reads it\n"
        self.accepts(uncalled, {**files, "tools/allowed.txt": table})

    def test_a_table_at_the_margin_and_a_call_elsewhere_are_uses(self):
        for use in ("constexpr Row kRows[] = {forgotten};\n", "int other() {\n  return forgotten(2);\n}\n"):
            files = {**ROOM, "src/base/a.h": self.HEADER, "src/base/a.cc": self.SOURCE, "src/base/b.cc": use}
            self.accepts(uncalled, files, use)


class Symbols(CheckTest):
    def archive(self, name, text):
        """An archive of the release build, made of one source."""
        build = pathlib.Path(self.folder, "build/release")
        build.mkdir(parents=True, exist_ok=True)
        (build / f"{name}.cc").write_text(text)
        subprocess.run(("g++", "-c", f"{name}.cc", "-o", f"{name}.cc.o"), cwd=build, check=True)
        subprocess.run(("ar", "rc", f"libberth_{name}.a", f"{name}.cc.o"), cwd=build, check=True)

    def test_one_symbol_in_two_archives_is_found_and_inline_ones_are_not(self):
        self.archive("a", "inline int both() { return 1; }\nint mine() { return both(); }\n")
        self.archive("b", "inline int both() { return 1; }\nint yours() { return both(); }\n")
        tree = Tree(self.folder, files=[])
        self.assertEqual(list(symbols.run(tree)), [])
        self.archive("b", "int mine() { return 2; }\n")
        finding, = symbols.run(tree)
        self.assertIn("mine()", finding.message)


class Literals(unittest.TestCase):
    def test_lines_and_columns_stay(self):
        text = 'a("x\\"y"); // c\nb(\'"\', R"k(\n"))k"); /* d\n*/ int n = 1\'000; f(\'x\');\n'
        blanked = without_comments_and_strings(text)
        lengths_before = [len(line) for line in text.split("\n")]
        self.assertEqual(lengths_before, [len(line) for line in blanked.split("\n")])
        self.assertNotIn("y", blanked)
        self.assertNotIn("d", blanked)
        self.assertIn("1'000", blanked)


class Runner(unittest.TestCase):
    """tools/run-tests counts what suites say, and says what went wrong."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="berth-run-"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "tools").mkdir()
        shutil.copy(ROOT / "tools/run-tests", self.root / "tools/run-tests")

    def run_tests(self, scripts):
        for path, text in scripts.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        command = [sys.executable, str(self.root / "tools/run-tests")]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()

    def test_counts_are_added_up(self):
        status, lines = self.run_tests({"tests/a/run.py": "print('3 passed, 0 failed, 1 skipped')",
                                        "tests/b/x_test.py": "print('2 passed, 0 failed')"})
        self.assertEqual((status, lines[-1]), (0, "5 passed, 0 failed, 1 skipped"))

    def test_a_failure_is_a_failure(self):
        for text, summary in (("import sys\nprint('1 passed, 1 failed')\nsys.exit(1)", "1 passed, 1 failed"),
                              ("import sys\nprint('1 passed, 0 failed')\nsys.exit(1)", "1 passed, 1 failed"),
                              ("pass", "0 passed, 1 failed")):
            status, lines = self.run_tests({"tests/a/run.py": text})
            self.assertEqual((status, lines[-1]), (1, summary), text)

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.run_tests({}), (1, ["0 passed, 0 failed"]))

    def test_a_test_program_that_was_not_built_is_a_failure(self):
        status, lines = self.run_tests({"src/dra/a_test.cc": "",
                                        "tests/a/run.py": "print('1 passed, 0 failed')"})
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))

    def test_unittests_are_counted(self):
        text = ("import unittest\nclass A(unittest.TestCase):\n  def test_a(self): pass\n"
                "  def test_b(self): self.skipTest('x')\n  def test_c(self): self.fail()\nunittest.main()\n")
        status, lines = self.run_tests({"tests/a/test_x.py": text})
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 1 skipped"))


if __name__ == "__main__":
    unittest.main()
