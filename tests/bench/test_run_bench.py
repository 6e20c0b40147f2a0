#!/usr/bin/env python3
"""How tools/run-bench compares rows with the recorded ones."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOADER = importlib.machinery.SourceFileLoader("run_bench", str(ROOT / "tools" / "run-bench"))
run_bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_bench", LOADER))
LOADER.exec_module(run_bench)
REFERENCE = run_bench.REFERENCE


def row(name, cpu, unit="us", **more):
    times = {"cpu_time": cpu, "real_time": 2 * cpu, "time_unit": unit}
    return {"program": "a_bench", "name": name, **times, **more}


class CompareTest(unittest.TestCase):
    def test_a_machine_that_is_slower_as_a_whole_has_no_slower_row(self):
        recorded = {REFERENCE: 100.0, "a": 10.0, "b": 1000.0}
        twice = {name: 2 * nanoseconds for name, nanoseconds in recorded.items()}
        self.assertEqual(run_bench.slower_rows(recorded, twice), {})

    def test_rows_are_slower_by_their_ratio_to_the_reference(self):
        recorded = {REFERENCE: 100.0, "a": 10.0, "b": 1000.0, "gone": 5.0}
        measured = {REFERENCE: 50.0, "a": 10.0, "b": 500.0 * run_bench.SLOWER_MAX * 0.99, "new": 7.0}
        self.assertEqual(run_bench.slower_rows(recorded, measured), {"a": 2.0})
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            run_bench.print_comparison(recorded, measured)
        self.assertEqual(said.getvalue().splitlines(), [
            REFERENCE + ": 50 ns, recorded 100 ns",
            "slower: a: 10 ns, recorded 10 ns: 2.00 times, at the speed of the reference row",
            "not recorded: new",
            "1 of 3 rows are slower than recorded by more than %s times" % run_bench.SLOWER_MAX])

    def test_threads_are_measured_as_time_passes_and_of_repetitions_the_shortest(self):
        rows = [row("one", 3), row("one", 2), row("mean", 9, run_type="aggregate"),
                row("write/real_time", 4, "ms"),
                {"program": "a_bench", "name": "bad", "error_occurred": True, "error_message": "no disk"}]
        self.assertEqual(run_bench.measured_ns(rows), {"a_bench/one": 2e3, "a_bench/write/real_time": 8e6})


class PageTest(unittest.TestCase):
    def test_figures_have_two_digits_and_a_unit(self):
        figures = {5.44: "5.4 ns", 238.2: "238 ns", 999.7: "1 µs", 9960: "10 µs", 31_200: "31 µs",
                   3.3e6: "3.3 ms"}
        for nanoseconds, text in figures.items():
            self.assertEqual(run_bench.page_figure(nanoseconds), text)

    def test_a_row_that_names_a_benchmark_gets_its_figure(self):
        page = ("| measured | row | result | asked |\n| gang | `a_bench/Gang/4` | 12 µs | 500 µs |\n"
                "| other | `a_bench/Other` | 1 s |\n| by hand | 3 s | 4 s |\n")
        self.assertEqual(run_bench.page_with(page, {"a_bench/Gang/4": 31e3}), page.replace("12 µs", "31 µs"))

    def test_what_a_second_costs_is_a_row_of_its_own(self):
        rows = [row("Audit", 90, a_second=18e-6)]
        self.assertEqual(run_bench.measured_ns(rows),
                         {"a_bench/Audit": 90e3, "a_bench/Audit/a_second": 18e3})

    def test_a_time_that_a_row_measured_itself_and_its_percentile(self):
        rows = [dict(row("Placed/manual_time", 90, p99=18e-6), real_time=7.0)]
        self.assertEqual(run_bench.measured_ns(rows),
                         {"a_bench/Placed/manual_time": 7e3, "a_bench/Placed/manual_time/p99": 18e3})

    def test_the_rows_that_the_page_and_the_record_name_exist(self):
        named = {name for _, name in run_bench.FIGURE.findall(run_bench.PAGE.read_text())}
        self.assertGreater(len(named), 30)
        for name in named | self.recorded().keys():
            program, function = name.split("/")[:2]
            source = (ROOT / "bench" / (program + ".cc")).read_text()
            word = function.split(": ")[0]  # what follows comes from a table of shapes
            self.assertTrue(re.search(r"\b%s\b" % re.escape(word), source), name)

    def test_the_page_has_the_recorded_figures(self):
        if not self.recorded():
            self.skipTest("no run is recorded: tools/run-bench --record")
        page = run_bench.PAGE.read_text()
        self.assertEqual(run_bench.page_with(page, self.recorded()), page)

    @staticmethod
    def recorded():
        path = run_bench.RECORDED
        return json.loads(path.read_text())["ns"] if path.exists() else {}


if __name__ == "__main__":
    unittest.main()
