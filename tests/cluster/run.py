#!/usr/bin/env python3
"""Kubernetes' own scheduler tests with Berth as the scheduler; what `make test-cluster` runs.

Without --build, and where the rig or a suite is not built, it says so, skips and ends with 0.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from differs import known_differences

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KUBECTL = HERE / "clients" / "kubectl"
OUT = ROOT / "build" / "test-cluster"
# Of Berth's own, in folders here.
OWN_SUITES = ("install", "faults", "stories", "writes", "parity", "clients", "e2e")
SUITES = (*OWN_SUITES, "dra/default", "dra/ga", "dra/api", "dra/all")
SUITE_TIMEOUT = "30m"
STATES = ("pass", "fail", "skip")
OWN_WORDS = {"ok": "passed", "FAIL:": "failed", "SKIP": "skipped"}
OWN_LINE = re.compile(r"(ok|FAIL:|SKIP)\s+(\S+?)(?::\s+(.*)|\s.*)?$")
BUILD_VERSION = "k8s.io/component-base/version"
KUBECTL_VERSION = re.compile(r"k8s\.io/kubectl v0\.((\d+)\S+)")
KUBERNETES_VERSION = re.compile(r"k8s\.io/kubernetes v1\.((\d+)\S+)")
# Programs of clients/operators/go.mod: the name here, the package of its main function.
OPERATORS = {"jobset": "sigs.k8s.io/jobset", "lws": "sigs.k8s.io/lws/cmd",
             "mpi-operator": "github.com/kubeflow/mpi-operator/cmd/mpi-operator",
             "kueue": "sigs.k8s.io/kueue/cmd/kueue",
             "trainer": "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"}
OWN_DETAIL = " " * 6  # begins the lines after a FAIL: what the case said


@dataclass
class Outcome:
    """One suite: lists of (test, why)."""
    suite: str
    passed: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    outdated: list = field(default_factory=list)  # what is to be said about lines of differs.txt


def cache_folder(name, variable, base):
    """The folders of rig.sh (base: ~/.cache) and of prepare.sh."""
    return pathlib.Path(os.environ.get(variable) or pathlib.Path(base, name))


def home_cache():
    return pathlib.Path.home() / ".cache"


def rig_cache():
    return cache_folder("berth-rig", "RIG_CACHE", home_cache())


def rig_programs():
    return [rig_cache() / "rig", rig_cache() / "rigbench"]


def of_kubernetes(suites):
    return [suite for suite in suites if suite not in OWN_SUITES]


def suite_program(suite):
    base = os.environ.get("XDG_CACHE_HOME") or home_cache()
    folder = cache_folder("berth-k8s-suite", "K8S_SUITE_CACHE", base)
    return folder / "bin" / "berth" / f"{suite.replace('/', '_')}.test"


def stamp_of(program):
    """Says of which sources a program was built: a time would make every checkout build again."""
    return program.with_name(program.name + ".sources")


def digest(folder, *names):
    """Of the named files and of all Go files of a folder."""
    return digest_of(folder, [*folder.rglob("*.go"), *map(folder.joinpath, ("go.mod", "go.sum", *names))])


def digest_of(folder, sources):
    content = hashlib.sha256()
    for source in sorted(sources):
        content.update(f"{source.relative_to(folder)}\0".encode() + source.read_bytes() + b"\0")
    return content.hexdigest()


def outdated(program, sources):
    stamp = stamp_of(program)
    return not program.exists() or not stamp.exists() or stamp.read_text() != sources


def build_programs(programs, sources, command):
    """Runs the command, and only then says of which sources the programs are; a failure ends the run."""
    names = ", ".join(program.name for program in programs)
    print(f"building {names}: the first time takes minutes", flush=True)
    subprocess.run(command, check=True)
    for program in programs:
        stamp_of(program).write_text(sources)


def version_variables(version):
    """The linker's flags by which a program of Kubernetes says its version, a match of "37.0" and "37"."""
    return (f"-X {BUILD_VERSION}.gitVersion=v1.{version[1]} -X {BUILD_VERSION}.gitMajor=1 "
            f"-X {BUILD_VERSION}.gitMinor={version[2]}")


def build_optional(name, folder, variables="", module_file="go.mod", packages_at_once=(), package="."):
    """Its modules may be out of reach where those of Kubernetes are not: then its cases are skipped."""
    sources = digest(folder, *{module_file, module_file.replace(".mod", ".sum")})
    build_or_skip(name, sources, "build", folder, *packages_at_once, "-modfile=" + module_file,
                  "-ldflags=-s -w " + variables, package=package)


def build_or_skip(name, sources, verb, folder, *flags, package):
    program = rig_cache() / name
    if not outdated(program, sources):
        return
    command = ["nice", "-n", "19", "go", verb, "-C", folder, "-mod=readonly", *flags, "-o", program, package]
    try:
        build_programs([program], sources, command)
    except subprocess.CalledProcessError:
        program.unlink(missing_ok=True)


def build_chart_program():
    build_optional("chart", HERE / "chart")


def build_client_programs():
    """One kubectl after the other, a package at a time: each takes minutes, and nobody waits for it."""
    build_chart_program()
    build_optional("clients", HERE / "clients")
    for module in sorted(KUBECTL.glob("*.mod")):
        build_kubectl(module)
    for name, package in OPERATORS.items():
        build_optional(name, HERE / "clients" / "operators", packages_at_once=("-p", "1"), package=package)


def build_kubectl(module):
    version = KUBECTL_VERSION.search(module.read_text())
    build_optional("kubectl-1." + version[2], KUBECTL, version_variables(version), module.name, ("-p", "1"))


def build_e2e_programs():
    """Kubernetes' e2e.test, Ginkgo, which runs it, and the kubectl that it starts."""
    build_kubectl(KUBECTL / "go.mod")
    folder = HERE / "k8s-suite"
    modules = [folder / "go.mod", folder / "go.sum"]
    version = KUBERNETES_VERSION.search(modules[0].read_text())
    sources = digest_of(folder, modules)
    build_or_skip("ginkgo", sources, "build", folder, package="github.com/onsi/ginkgo/v2/ginkgo")
    build_or_skip("e2e.test", sources, "test", folder, "-c", "-p", "2", "-vet=off",
                  "-ldflags=-s -w " + version_variables(version), package="k8s.io/kubernetes/test/e2e")


def rig_sources():
    return digest(HERE / "rig")


def suite_sources():
    return digest(HERE / "k8s-suite", "patch.py", "prepare.sh")


def build(suites):
    """Builds what is missing or was built of other sources."""
    sources = rig_sources()
    if any(outdated(program, sources) for program in rig_programs()):
        build_programs(rig_programs(), sources, [HERE / "rig" / "rig.sh", "build"])
    if "install" in suites:
        build_chart_program()
    if "clients" in suites:
        build_client_programs()
    if "e2e" in suites:
        build_e2e_programs()
    sources = suite_sources()
    stale = [suite for suite in of_kubernetes(suites) if outdated(suite_program(suite), sources)]
    if stale:
        build_programs([suite_program(suite) for suite in stale], sources,
                       [HERE / "k8s-suite" / "prepare.sh", "--no-kube", *stale])


def missing(suites, current):
    """Programs that are not there or, where they have to be `current`, were built of other sources."""
    sources = dict.fromkeys(rig_programs(), rig_sources())
    sources.update(dict.fromkeys(map(suite_program, of_kubernetes(suites)), suite_sources()))
    return [str(program) for program, text in sources.items()
            if not program.exists() or current and outdated(program, text)]


def run_suite(suite, berth, installed_role):
    """(exit status of run.sh, the records of results.jsonl)."""
    out = OUT / suite
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    rights = ["--installed-role"] if installed_role else []
    command = [HERE / "k8s-suite" / "run.sh", "--berth", berth, *rights, "--out", out,
               "--timeout", SUITE_TIMEOUT, f"^{re.escape(suite)}/Test"]
    with open(out / "output.txt", "w", encoding="utf-8") as output:
        status = subprocess.run(command, stdout=output, check=False).returncode
    results = out / "results.jsonl"
    lines = results.read_text().splitlines() if results.exists() else []
    return status, [json.loads(line) for line in lines]


def run_own(suite, berth):
    """What a suite of Berth's own says, a line a case."""
    out = OUT / suite
    out.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([HERE / suite / "run.py", "--berth", berth], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    (out / "output.txt").write_text(done.stdout)
    outcome, kind = Outcome(suite), None
    for line in done.stdout.splitlines():
        if found := OWN_LINE.match(line):
            kind = OWN_WORDS[found[1]]
            getattr(outcome, kind).append((f"{suite}/{found[2]}", found[3] or ""))
        elif kind == "failed" and line.startswith(OWN_DETAIL):
            name, why = outcome.failed.pop()
            outcome.failed.append((name, f"{why}\n{line}"))
        elif line.startswith("differs.txt: "):
            outcome.outdated.append(line.removeprefix("differs.txt: "))
    if done.returncode != 0 and not outcome.failed:
        outcome.failed.append((suite, f"run.py ended with {done.returncode}"))
    return outcome


def judge(suite, status, records, differs):
    """What the records mean, beside what is known to differ."""
    outcome = Outcome(suite)
    for record in records:
        name, state, why = f"{suite}/{record['test']}", record["state"], record["why"]
        if state == "fail" and name in differs:
            outcome.skipped.append((name, differs[name]))
        elif state == "pass" and name in differs:
            outcome.outdated.append(f"{name} now passes: remove it")
            outcome.passed.append((name, why))
        else:
            (outcome.passed, outcome.failed, outcome.skipped)[STATES.index(state)].append((name, why))
    ran = {f"{suite}/{record['test']}" for record in records}
    outcome.outdated += [f"{name} did not run" for name in differs
                         if name.startswith(f"{suite}/Test") and name not in ran]
    broke = status != 0 and not any(record["state"] == "fail" for record in records)
    if broke or not records:
        outcome.failed.append((suite, f"run.sh ended with {status} after {len(records)} results"))
    return outcome


def print_findings(outcome):
    for name, why in outcome.skipped:
        print(f"SKIP {name}: {why}")
    for text in outcome.outdated:
        print(f"differs.txt: {text}")
    for name, why in outcome.failed:
        print(f"FAIL {name}: {why}")
    sys.stdout.flush()


def print_table(outcomes):
    print(f"\n{'suite':<32} {'passed':>7} {'failed':>7} {'skipped':>8}")
    for outcome in outcomes:
        passed, failed, skipped = map(len, (outcome.passed, outcome.failed, outcome.skipped))
        print(f"{outcome.suite:<32} {passed:>7} {failed:>7} {skipped:>8}")


def close(passed, failed, skipped):
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", type=pathlib.Path, default=ROOT / "build" / "release" / "berth")
    parser.add_argument("--suites", nargs="+", default=SUITES, metavar="SUITE")
    parser.add_argument("--installed-role", action="store_true",
                        help="in suites of Kubernetes, Berth has the rights of `berth install` alone")
    parser.add_argument("--current", action="store_true", help="skip what was built of other sources")
    parser.add_argument("--build", action="store_true", help="build the rig and the suites that are missing")
    return parser.parse_args()


def main():
    options = arguments()
    if options.build:
        try:
            build(options.suites)
        except subprocess.CalledProcessError as error:
            print(f"FAIL build: {error.cmd[0]} ended with {error.returncode}")
            return close(0, 1, 0)
    if absent := missing(options.suites, options.current):
        print(f"SKIP tests/cluster: not built (run.py --build): {', '.join(absent)}")
        return close(0, 0, 1)
    if not options.berth.exists():
        print(f"FAIL tests/cluster: no {options.berth}: make build")
        return close(0, 1, 0)
    differs, outcomes = known_differences(), []
    for suite in options.suites:
        print(f"{suite}: runs; what it says is in {OUT / suite}", flush=True)
        berth = options.berth.resolve()
        outcomes.append(run_own(suite, berth) if suite in OWN_SUITES
                        else judge(suite, *run_suite(suite, berth, options.installed_role), differs))
        print_findings(outcomes[-1])
    print_table(outcomes)
    return close(*(sum(len(getattr(outcome, kind)) for outcome in outcomes)
                   for kind in ("passed", "failed", "skipped")))


if __name__ == "__main__":
    sys.exit(main())
