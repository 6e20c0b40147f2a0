#!/usr/bin/env python3
"""Runs `berth simulate` on scenarios and traces, as a user would.

Only the standard library. The closing line is "N passed, M failed"; the exit code is 0 when nothing failed.
`run.py --record` writes the whole outputs in golden/ again: read the difference.
"""
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite

EXAMPLES = suite.ROOT / "examples" / "simulate"
ASKED = EXAMPLES / "questions"
CLUSTER = ("-f", ASKED / "cluster.yaml")
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
BERTH = None

NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
    "n%d,64000,262144,4,%s\n" % (i, "T4" if i % 2 else "G2") for i in range(6))
TASKS = ("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
         "a,8000,16384,1,1000,\nb,4000,8192,1,460,\nc,16000,65536,2,1000,T4\nd,2000,4096,0,0,\n")
HEAD = "apiVersion: simulate.berth.dev/v1alpha1\nkind: Scenario\n"
SCENARIO = HEAD + "spec:\n  nodes: [{name: a, gpus: 4, cpu: 8}]\n"
RACKS = ("  objects: [{apiVersion: scheduling.berth.dev/v1alpha1, kind: Topology, metadata: {name: default}, "
         "spec: {levels: [{name: rack, nodeLabel: example.com/rack}, "
         "{name: host, nodeLabel: kubernetes.io/hostname}]}}]\n")


def run(*arguments):
    return subprocess.run([str(BERTH), "simulate"] + [str(argument) for argument in arguments],
                          capture_output=True, text=True, timeout=120)


def simulate(*arguments):
    outcome = run(*arguments, "-o", "json")
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout)


def in_folder(**files):
    """A folder with these files, by name with _ for the dot."""
    folder = tempfile.TemporaryDirectory()
    for name, content in files.items():
        path = pathlib.Path(folder.name, name.replace("_", "."))
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def whole_outputs():
    return {"small.json": ("--scenario", EXAMPLES / "small.yaml", "-o", "json"),
            "small.txt": ("--scenario", EXAMPLES / "small.yaml", "--policy", "default,best-fit",
                          "--seeds", "2"),
            "fail.txt": (*CLUSTER, "--fail", "rack=r1"),
            "fail.json": (*CLUSTER, "--fail", "n3", "-o", "json"),
            "add.txt": (*CLUSTER, "--add", ASKED / "rack.yaml"),
            "fit.txt": (*CLUSTER, "--fit", ASKED / "eval.yaml"),
            "fit.json": (*CLUSTER, "--fit", ASKED / "eval.yaml", "-o", "json"),
            "eta.txt": (*CLUSTER, "--eta", "tune"),
            "eta.json": (*CLUSTER, "--eta", "tune", "-o", "json"),
            "min-nodes.txt": (*CLUSTER, "--min-nodes", ASKED / "node.yaml"),
            "min-nodes.json": (*CLUSTER, "--min-nodes", ASKED / "node.yaml", "-o", "json")}


def outputs_are_the_recorded_ones():
    for name, arguments in whole_outputs().items():
        assert run(*arguments).stdout == (GOLDEN / name).read_text(), name


def any_number_of_threads_gives_the_same_bytes():
    outputs = {run("--scenario", EXAMPLES / "small.yaml", "--policy", "default,reference,fgd,random",
                   "--seeds", "3", "--threads", threads, "-o", "json").stdout for threads in (1, 2, 4)}
    assert len(outputs) == 1 and outputs != {""}, len(outputs)


def a_trace_is_read_packed_or_not():
    members = gzip.compress(TASKS[:90].encode()) + gzip.compress(TASKS[90:].encode())
    with in_folder(n_csv=NODES, p_csv=TASKS, p_gz=gzip.compress(TASKS.encode()), two_gz=members) as folder:
        folder = pathlib.Path(folder)
        all_forms = [simulate("--openb-nodes", folder / "n.csv", "--openb-pods", folder / name,
                              "--load", "1.2", "--seeds", "2") for name in ("p.csv", "p.gz", "two.gz")]
        assert all_forms[0] == all_forms[1] == all_forms[2]
        for one in all_forms[0]["runs"]:
            assert one["pods"]["placed"] > 0 and 80 < one["allocatedGpuPercent"] <= 100, one
        assert all_forms[0]["runs"][0]["digest"] != all_forms[0]["runs"][1]["digest"], "seeds differ"


def objects_and_arrivals_may_be_apart():
    node = ("{apiVersion: v1, kind: Node, metadata: {name: x}, status: {allocatable: "
            "{cpu: 8, memory: 8Gi, pods: 10, nvidia.com/gpu: 2}}}")
    arrivals = ("apiVersion: simulate.berth.dev/v1alpha1\nkind: Scenario\nspec:\n  arrivals:\n"
                "  - {name: p, count: 3, cpu: 1, gpus: 1}\n  failures: [{at: 1s, nodes: [x]}]\n")
    with in_folder(o_yaml=node, a_yaml=arrivals) as folder:
        (one,) = simulate("-f", pathlib.Path(folder, "o.yaml"), "--arrivals",
                          pathlib.Path(folder, "a.yaml"))["runs"]
        assert one["pods"] == {"placed": 2, "refused": 1} and one["evictions"] == 2, one


def series_of_one_name_are_apart():
    """A pod that fits nowhere does not keep one of another series from its node."""
    pod = ("{spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}, "
           "limits: {nvidia.com/gpu: %d}}}]}}")
    text = SCENARIO + "  arrivals: [{name: p, count: 2, pod: %s}, {name: p, pod: %s}]\n" % (pod % 5, pod % 1)
    with in_folder(s_yaml=text) as folder:
        (one,) = simulate("--scenario", pathlib.Path(folder, "s.yaml"))["runs"]
        assert one["pods"] == {"placed": 1, "refused": 2}, one


def a_wish_that_no_node_can_meet_holds_nobody():
    for wish, objects in (("example.com/rack", ""), ("rack", RACKS), ("example.com/rack", RACKS)):
        arrivals = "  arrivals: [{name: p, cpu: 1, gpus: 2, gang: {pods: 2, prefers: %s}}]\n" % wish
        with in_folder(s_yaml=SCENARIO + arrivals + objects) as folder:
            (one,) = simulate("--scenario", pathlib.Path(folder, "s.yaml"))["runs"]
            assert one["pods"] == {"placed": 2, "refused": 0}, (wish, objects, one)


def what_is_read_of_folders_is_told():
    node = "{apiVersion: v1, kind: Node, metadata: {name: x}}"
    arrivals = HEAD + "spec:\n  arrivals: [{name: p, cpu: 1}]\n"
    with in_folder(o_yaml=node) as objects, in_folder(a_yaml=arrivals) as folder:
        outcome = run("-f", objects, "--arrivals", pathlib.Path(folder, "a.yaml"))
        assert outcome.returncode == 0 and objects in outcome.stderr, outcome.stderr


def questions_have_one_answer_for_any_threads():
    for question in (("--fit", ASKED / "eval.yaml"), ("--eta", "tune"), ("--min-nodes", ASKED / "node.yaml"),
                     ("--fail", "n1"), ("--add", ASKED / "rack.yaml")):
        outputs = {run(*CLUSTER, *question, "--threads", threads, "-o", "json").stdout for threads in (1, 4)}
        (output,) = outputs
        member = {"--min-nodes": "minNodes"}.get(question[0], question[0][2:])
        assert list(json.loads(output)) == [member], output


def changes_come_before_questions_and_runs():
    whole = simulate(*CLUSTER, "--fit", ASKED / "eval.yaml")["fit"]["copies"]
    after = simulate(*CLUSTER, "--fail", "n3", "--add", ASKED / "rack.yaml", "--fit", ASKED / "eval.yaml")
    assert list(after) == ["fail", "add", "fit"] and after["fit"]["copies"] != whole, after
    plain = simulate("--scenario", EXAMPLES / "small.yaml")
    changed = simulate("--scenario", EXAMPLES / "small.yaml", "--fail", "a-0")
    assert list(changed) == ["fail", "runs", "mean"], changed
    assert changed["runs"][0]["digest"] != plain["runs"][0]["digest"]


def workloads_of_files_have_pods():
    deployment = ("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 2, "
                  "selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, "
                  "spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 8}}}]}}}}")
    with in_folder(d_yaml=deployment) as folder:
        file = pathlib.Path(folder, "d.yaml")
        fit = simulate(*CLUSTER, "--fit", file)["fit"]
        assert fit["podsPerCopy"] == 2 and fit["copies"] > 0, fit
        node = (ASKED / "node.yaml").read_text() + "---\n" + deployment
        path = pathlib.Path(folder, "n.yaml")
        path.write_text(node)
        least = simulate(*CLUSTER, "--min-nodes", path)["minNodes"]
        assert least["pods"] == 2 and least["exact"], least


def bad_questions_are_named():
    broken = "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containerz: []}}"
    empty = "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: []}}"
    with in_folder(b_yaml=broken, e_yaml=empty) as folder:
        b, e = pathlib.Path(folder, "b.yaml"), pathlib.Path(folder, "e.yaml")
        cases = [
            (CLUSTER, "--arrivals: is missing: what arrives, or a question such as --fit"),
            ((*CLUSTER, "--fail", "n9"), "--fail n9: the input has no node of this name"),
            ((*CLUSTER, "--fail", "rack=r9"), "--fail rack=r9: no node of the input has this label"),
            ((*CLUSTER, "--fit", b),
             "--fit: " + str(b) + ":1: document 1: spec.containerz: Pod x: unknown field"),
            ((*CLUSTER, "--fit", e), "spec.containers: Required value"),
            ((*CLUSTER, "--fit", "none.yaml"), "--fit: none.yaml"),
            ((*CLUSTER, "--fit", ASKED / "node.yaml"), "has no pod: give a pod, or a group with its pods"),
            ((*CLUSTER, "--add", CLUSTER[1]), "the input has "),
            ((*CLUSTER, "--eta", "nobody"), "--eta nobody: the input has no pod or group of this name"),
            ((*CLUSTER, "--min-nodes", ASKED / "eval.yaml"), "has 0 Nodes: one is needed"),
            ((*CLUSTER, "--eta", "tune", "--fit", b), "--eta: is given with --fit: ask one question"),
            ((*CLUSTER, "--eta", "tune", "--seeds", "3"), "--seeds: a question has one answer: use --seed"),
            ((*CLUSTER, "--eta", "tune", "--policy", "fgd,random"), "--policy: a question has one answer"),
        ]
        for arguments, wanted in cases:
            outcome = run(*arguments)
            assert outcome.returncode == 2 and wanted in outcome.stderr, (arguments, outcome.stderr)


def every_policy_is_listed_and_runs():
    lines = run("--policies").stdout.splitlines()
    names = [line.split()[0] for line in lines]
    assert names == ["default", "reference", "least-fragmenting", "fgd", "best-fit", "random"], lines
    outcome = simulate("--scenario", EXAMPLES / "small.yaml", "--policy", ",".join(names))
    assert list(outcome["mean"]) == names


def bad_fields_are_named():
    cases = [
        ("kind: Scenario\n", "apiVersion: is \"\": simulate.berth.dev/v1alpha1 is known"),
        (SCENARIO.replace("kind: Scenario", "kind: Pod"), "kind: is \"Pod\": a Scenario is needed"),
        (HEAD, "spec: is missing"),
        (SCENARIO + "  arivals: []\n", ":5: document 1: spec.arivals: is no field of a Scenario's spec"),
        (SCENARIO + "  arrivals: [{name: p, cpu: x}]\n", "spec.arrivals[0].cpu: wants a quantity"),
        (SCENARIO + "  arrivals: [{name: p, at: 5}]\n", "spec.arrivals[0].at: wants a duration"),
        (SCENARIO + "  arrivals: [{name: p, at: -5s}]\n", "spec.arrivals[0].at: is negative"),
        (SCENARIO + "  arrivals: [{cpu: 1}]\n", "spec.arrivals[0].name: is missing"),
        (SCENARIO + "  arrivals: [{name: P_}]\n", "spec.arrivals[0].name: \"P_\" is no name"),
        (SCENARIO + "  arrivals: [{name: p, count: 0}]\n", "spec.arrivals[0].count: 0 is out of range"),
        (SCENARIO + "  arrivals: [{name: p, count: 99999999}]\n", "spec.arrivals[0].count: 99999999 is out"),
        (SCENARIO + "  arrivals: [{name: p, gpuFraction: '2'}]\n", "spec.arrivals[0].gpuFraction: wants"),
        (SCENARIO + "  arrivals: [{name: p, nodes: {label: l}}]\n",
         "spec.arrivals[0].nodes.values: is missing"),
        (SCENARIO + "  arrivals: [{name: p, cpu: 1, pod: {spec: {}}}]\n",
         "spec.arrivals[0].cpu: says what pod says already"),
        (SCENARIO + "  arrivals: [{name: p, pod: {spec: {containerz: []}}}]\n",
         "spec.arrivals[0].pod.spec.containerz: Pod p: unknown field"),
        (SCENARIO + "  arrivals: [{name: p, pod: {metadata: 5}}]\n",
         "spec.arrivals[0].pod.metadata: wants a map of fields"),
        (SCENARIO + "  arrivals: [{name: p, count: 1000, gang: {pods: 1001}}]\n",
         "spec.arrivals[0].count: brings the pods to 1001000: at most 1000000"),
        (SCENARIO.replace("[{name: a", "[{name: b}, {name: a, count: 2000000"),
         "spec.nodes[1].count: brings the nodes to 2000001: at most 2000000"),
        (SCENARIO + "  arrivals: [{name: p, gang: {pods: 2, prefers: rack}}]\n",
         "spec.arrivals[0].gang.prefers: is \"rack\": without a Topology \"default\""),
        (SCENARIO + "  arrivals: [{name: p, gang: {pods: 2, prefers: block}}]\n" + RACKS,
         "spec.arrivals[0].gang.prefers: is \"block\": the levels of Topology \"default\" are rack and host"),
        (SCENARIO + "  generator: {statistics: openb, gangs: true, prefers: rack}\n",
         "spec.generator.prefers: is \"rack\": without a Topology"),
        (SCENARIO + "  objects: [{kind: Pod}]\n", "spec.objects[0].apiVersion: Pod: is missing"),
        (SCENARIO + "  failures: [{at: 1s}]\n", "spec.failures[0].nodes: is missing"),
        (SCENARIO + "  failures: [{at: 1s, nodes: [x]}]\n",
         "spec.failures[0].nodes: names \"x\", which is no"),
        (SCENARIO + "  failures: [{at: 1s, rack: x}]\n", "spec.failures[0].rack: is \"x\": no node"),
        (SCENARIO + "  generator: {statistics: philly}\n",
         "spec.generator.statistics: is \"philly\": openb is known"),
        (SCENARIO + "  generator: {statistics: openb, load: 0}\n",
         "spec.generator.load: wants a number above 0"),
        (SCENARIO.replace("gpus: 4, ", "") + "  generator: {statistics: openb}\n",
         "spec.generator: needs nodes with gpus"),
        (SCENARIO.replace("name: a", "name: a, count: x"), "spec.nodes[0].count: wants a whole number"),
        (SCENARIO.replace("[{name: a", "[{name: a}, {name: a"),
         "spec.nodes: name the node \"a-0\" twice"),
        (SCENARIO + "---\n" + SCENARIO, "has 2 documents: one Scenario is needed"),
    ]
    for text, wanted in cases:
        with in_folder(s_yaml=text) as folder:
            outcome = run("--scenario", pathlib.Path(folder, "s.yaml"))
            assert outcome.returncode == 1 and wanted in outcome.stderr, (text, outcome.stderr)


def bad_flags_are_named():
    small = EXAMPLES / "small.yaml"
    cases = [
        ((), "--scenario: no input is given"),
        (("--scenario", small, "-f", small), "--scenario: two inputs are given"),
        (("--openb-nodes", "n.csv"), "--openb-pods: is missing"),
        (("--arrivals", "a.yaml"), "-f: is missing"),
        (("--scenario", small, "--policy", "best"), "--policy: \"best\" is no policy: default, reference"),
        (("--scenario", small, "--policy", "fgd,fgd"), "--policy: names \"fgd\" twice"),
        (("--scenario", small, "--load", "0"), "--load: wants a number above 0"),
        (("--scenario", small, "--threads", "1000"), "--threads: is out of range"),
        (("--scenario", small, "--seeds", "1000000"), "--seeds: gives more than 100000 runs"),
        (("--scenario", small, "--seeds", 2 ** 63, "--policy", "fgd,random"),
         "--seeds: gives more than 100000 runs"),
        (("--scenario", small, "-o", "yaml"), "--output"),
    ]
    for arguments, wanted in cases:
        outcome = run(*arguments)
        assert outcome.returncode == 2 and wanted in outcome.stderr, (arguments, outcome.stderr)


def broken_trace_files_are_named():
    cases = [
        (NODES, "a,b\n", "p.csv:1: has no column \"cpu_milli\""),
        (NODES, TASKS + "e,1,1\n", "p.csv:6: has 3 fields"),
        (NODES.replace("64000", "x"), TASKS, "n.csv:2: cpu_milli: is \"x\""),
        (NODES, gzip.compress(TASKS.encode())[:-12], "p.csv: is no whole gzip file"),
        (NODES, gzip.compress(TASKS.encode()) + b"x", "p.csv: is no whole gzip file"),
        (NODES, gzip.compress(bytes((256 << 20) + 1), 1), "p.csv: unpacks to more than 268435456 bytes"),
        (NODES, "cpu_milli,memory_mib,num_gpu,gpu_milli\n1,1,0,0\n", "no task needs a GPU"),
    ]
    for nodes, tasks, wanted in cases:
        with in_folder(n_csv=nodes, p_csv=tasks) as folder:
            folder = pathlib.Path(folder)
            outcome = run("--openb-nodes", folder / "n.csv", "--openb-pods", folder / "p.csv")
            assert outcome.returncode == 1 and wanted in outcome.stderr, (wanted, outcome.stderr)


CASES = (outputs_are_the_recorded_ones, any_number_of_threads_gives_the_same_bytes,
         a_trace_is_read_packed_or_not, objects_and_arrivals_may_be_apart,
         questions_have_one_answer_for_any_threads, changes_come_before_questions_and_runs,
         workloads_of_files_have_pods, bad_questions_are_named,
         series_of_one_name_are_apart, a_wish_that_no_node_can_meet_holds_nobody,
         what_is_read_of_folders_is_told, every_policy_is_listed_and_runs,
         bad_fields_are_named, bad_flags_are_named, broken_trace_files_are_named)


def main():
    global BERTH
    record = "--record" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--record"]
    chosen = suite.options(__doc__)
    BERTH = chosen.berth
    if not record:
        return suite.run(CASES, chosen.words)
    for name, arguments in whole_outputs().items():
        (GOLDEN / name).write_text(run(*arguments).stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
