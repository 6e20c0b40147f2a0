#!/usr/bin/env python3
"""Runs `berth plan` and `berth cel` on files, as a user would.

Only the standard library. The closing line is "N passed, M failed"; the exit code is 0 when nothing failed.
"""
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite

ROOT = suite.ROOT
EXAMPLES = ROOT / "examples"
CLUSTER = EXAMPLES / "cluster"
GROUPS = EXAMPLES / "compatibility-groups"
BERTH = None


def run(*arguments, text=None):
    return subprocess.run([str(BERTH)] + [str(argument) for argument in arguments], input=text,
                          capture_output=True, text=True, timeout=60)


def plan(*arguments, text=None):
    """The decisions by name, and the exit code."""
    outcome = run("plan", *arguments, "-o", "json", text=text)
    assert outcome.stdout, outcome.stderr
    decisions = json.loads(outcome.stdout)["decisions"]
    return {decision["name"]: decision for decision in decisions}, outcome.returncode


def documents(*paths):
    texts = []
    for path in paths:
        for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
            texts += file.read_text().split("\n---\n")
    return texts


def every_example_of_the_document_is_told_in_words():
    wanted = {
        "1-counters.yaml": (0, {"pod-a": "gpu-0-mig-1g-0", "pod-b": "gpu-0-mig-1g-1"}, None),
        "2-no-groups.yaml": (0, {"pod-a": "gpu-0-mig-1g-0", "pod-b": "gpu-0-vgpu-0"}, None),
        "3-groups.yaml": (1, {"pod-a": "gpu-0-mig-1g-0"},
                          "counter set gpu-0-counters on node-1 holds group mig; the device offers vgpu"),
        "4-several-groups.yaml": (1, {"pod-a": "device-0-foo-0", "pod-b": "device-0-bar-0"},
                                  "counter set device-0-counters on node-1 holds group foobar; "
                                  "the device offers baz"),
    }
    for name, (code, placed, words) in wanted.items():
        decisions, returned = plan("-f", GROUPS / name)
        assert returned == code, (name, returned)
        devices = {pod: decision["pods"][0]["claims"][0]["devices"][0]["device"]
                   for pod, decision in decisions.items() if decision["result"] == "Placed"}
        assert devices == placed, (name, devices)
        if words:
            (refused,) = [one for one in decisions.values() if one["result"] != "Placed"]
            assert refused["result"] == "Unschedulable" and words in refused["message"], (name, refused)
            assert refused["certificate"]["kind"] == "Group", (name, refused["certificate"])
            table = run("plan", "-f", GROUPS / name).stdout
            assert words in " ".join(table.split()), table


def the_order_of_the_input_never_matters():
    texts = documents(CLUSTER, EXAMPLES / "partitions.yaml", EXAMPLES / "gang.yaml", EXAMPLES / "fabric.yaml")
    seeded, seen = random.Random(1), set()
    for _ in range(10):
        seeded.shuffle(texts)
        for output in ("json", "yaml", "table"):
            outcome = run("plan", "-f", "-", "-o", output, "--verdicts", "all", text="\n---\n".join(texts))
            assert outcome.returncode == 1, outcome.stderr
            seen.add((output, outcome.stdout))
    assert len(seen) == 3, "one output of each form"


def its_objects_are_what_it_decided():
    done = run("plan", "-f", CLUSTER, "-f", EXAMPLES / "partitions.yaml", "-f", EXAMPLES / "gang.yaml",
               "-o", "yaml")
    assert "kind: BindRequest" in done.stdout and "  nodeName: node-1" in done.stdout, done.stdout
    again, code = plan("-f", CLUSTER, "-f", "-", text=done.stdout)
    assert (again, code) == ({}, 0), again
    # What was placed takes its devices from those who come later.
    vgpu = [text for text in documents(EXAMPLES / "partitions.yaml") if "vgpu" in text]
    later, code = plan("-f", CLUSTER, "-f", "-", text="\n---\n".join([done.stdout] + vgpu))
    assert code == 1 and later["vgpu-b"]["result"] == "Unschedulable", later


def what_a_server_would_refuse_is_told_and_its_namespace_is_asked():
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"},
             "spec": {"devices": {"requests": [
                 {"name": "r", "exactly": {"deviceClassName": "any", "adminAccess": True}}]}}}
    for labels, told in (({}, True), ({"resource.kubernetes.io/admin-access": "true"}, False)):
        namespace = {"apiVersion": "v1", "kind": "Namespace",
                     "metadata": {"name": "default", "labels": labels}}
        warned = run("plan", "-f", "-", text=f"{json.dumps(claim)}\n---\n{json.dumps(namespace)}").stderr
        assert ("adminAccess: ResourceClaim c: Forbidden" in warned) == told, (labels, warned)


def verdicts_judge_every_node():
    decisions, _ = plan("-f", CLUSTER, "-f", EXAMPLES / "partitions.yaml", "--verdicts", "all")
    verdicts = decisions["vgpu-b"]["verdicts"]
    assert [verdict["node"] for verdict in verdicts] == ["node-1", "node-2", "node-3", "node-4"], verdicts
    assert not any(verdict["feasible"] for verdict in verdicts), verdicts
    assert {verdict["plugin"] for verdict in verdicts} == {"DynamicResources", "NodeAffinity"}, verdicts
    assert "verdicts" not in plan("-f", CLUSTER, "-f", EXAMPLES / "partitions.yaml")[0]["vgpu-b"]


def bad_input_is_named():
    cases = [
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containerz: []\n",
         ":5: document 1: spec.containerz: Pod p: unknown field"),
        ("kind: Pod\n", "apiVersion: Pod: is missing"),
        ("a: [\n", "document 1, line 2"),
        ("apiVersion: v1\nkind: Node\nmetadata: {}\n", "metadata.name: Node: is missing"),
        ("---\n".join(["apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"] * 2),
         "document 2: metadata.name: Node n1: is the same object as"),
    ]
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch, "in.yaml")
        for text, said in cases:
            file.write_text(text)
            outcome = run("plan", "-f", file)
            assert outcome.returncode == 1 and not outcome.stdout, outcome
            assert said in outcome.stderr and "in.yaml" in outcome.stderr, (text, outcome.stderr)
    assert run("plan").returncode == 2
    assert run("plan", "-f", CLUSTER, "--verdicts", "some").returncode == 2
    assert run("plan", "-f", CLUSTER, "--now", "yesterday").returncode == 2


HALVES = """
{apiVersion: v1, kind: Node, metadata: {name: n1},
 status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: counters},
 spec: {driver: d.io, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 2},
        sharedCounters: [{name: gpu, counters: {memory: {value: "8"}}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: devices},
 spec: {driver: d.io, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 2},
        devices: [{name: whole, consumesCounters: [{counterSet: gpu, counters: {memory: {value: "8"}}}]},
                  {name: left, consumesCounters: [{counterSet: gpu, counters: {memory: {value: "4"}}}]},
                  {name: right, consumesCounters: [{counterSet: gpu, counters: {memory: {value: "4"}}}]}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one, namespace: default},
 spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: any}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a},
 spec: {containers: [{name: c, image: i}], resourceClaims: [{name: dev, resourceClaimTemplateName: one}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b},
 spec: {containers: [{name: c, image: i}], resourceClaims: [{name: dev, resourceClaimTemplateName: one}]}}
"""


def the_scoring_says_which_devices():
    first, fitting = {"a": "whole"}, {"a": "left", "b": "right"}
    for flags, code, wanted in (([], 1, first), (["--device-scoring", "Reference"], 1, first),
                                (["--device-scoring", "LeastFragmenting"], 0, fitting)):
        decisions, returned = plan("-f", "-", *flags, text=HALVES)
        devices = {name: decision["pods"][0]["claims"][0]["devices"][0]["device"]
                   for name, decision in decisions.items() if decision["result"] == "Placed"}
        assert (returned, devices) == (code, wanted), (flags, returned, devices)
    wrong = run("plan", "-f", "-", "--device-scoring", "Tightest", text=HALVES)
    assert wrong.returncode == 2 and "Reference" in wrong.stderr and "LeastFragmenting" in wrong.stderr, wrong


CORES = """
{apiVersion: v1, kind: Node, metadata: {name: n1},
 status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: sockets},
 spec: {driver: d.io, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1},
        devices: [{name: socket, allowMultipleAllocations: true, capacity: {cores: {value: "64"}},
                   nodeAllocatableResources: {
                     cpu: {mapping: {capacityKey: cores, capacityMultiplier: "2"}}}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: two, namespace: default},
 spec: {spec: {devices: {requests: [
   {name: r, exactly: {deviceClassName: any, capacity: {requests: {cores: "2"}}}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a},
 spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}, claims: [{name: dev}]}}],
        resourceClaims: [{name: dev, resourceClaimTemplateName: two}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b},
 spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}],
        resourceClaims: [{name: dev, resourceClaimTemplateName: two}]}}
"""


def devices_take_of_their_node():
    decisions, code = plan("-f", "-", text=CORES)
    assert code == 1 and decisions["a"]["result"] == "Placed", decisions
    message = decisions["b"]["message"]
    assert message.startswith("0/1 nodes are available: 1 Insufficient cpu."), message
    assert "its devices take 4 cpu of the node" in message, message
    done = run("plan", "-f", "-", "-o", "yaml", text=CORES)
    assert "nodeAllocatableResourceClaimStatuses" in done.stdout, done.stdout
    _, code = plan("-f", "-", "--feature-gates", "DRANodeAllocatableResources=false", text=CORES)
    assert code == 0


WORKLOADS = """
{apiVersion: v1, kind: Node, metadata: {name: n1},
 status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3,
 selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
 spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {parallelism: 2, completions: 2,
 template: {spec: {restartPolicy: Never,
 containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {schedule: "0 0 * * *",
 jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}
"""
CUSTOM = """
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.ex.io},
 spec: {group: ex.io, scope: Namespaced, names: {kind: Foo, plural: foos, singular: foo, listKind: FooList},
 versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}
---
{apiVersion: ex.io/v1, kind: Foo, metadata: {name: a}}
---
{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: r1}}
---
{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: r2}}
"""


def workloads_are_planned_with_their_pods():
    outcome = run("plan", "-f", "-", "-o", "json", text=WORKLOADS)
    decisions = json.loads(outcome.stdout)["decisions"]
    placed = sorted(one["name"].rsplit("-", 1)[0] for one in decisions if one["result"] == "Placed")
    assert len(decisions) == 5 and len(placed) == 4, [(one["name"], one["result"]) for one in decisions]
    assert outcome.returncode == 1 and "warning" not in outcome.stderr, outcome.stderr
    assert "no pods are made for CronJob default/nightly" in outcome.stderr, outcome.stderr
    # Fed back, the pods are those of the workloads: only the one without a place is left.
    done = run("plan", "-f", "-", "-o", "yaml", text=WORKLOADS).stdout
    again, code = plan("-f", "-", text=WORKLOADS + done)
    assert code == 1 and len(again) == 1, again


def kinds_that_are_not_served_are_left_out():
    outcome = run("plan", "-f", "-", text=WORKLOADS + "\n---\n" + CUSTOM)
    assert "5 decisions: 4 Placed" in outcome.stdout, outcome
    told = outcome.stderr
    left_out = 'RayCluster r1: no kind "RayCluster" is served in version "ray.io/v1": left out, and 1 more'
    assert left_out in told, told
    assert "custom resources left out: 1 Foo" in told and "warning: -:" in told, told


def groups_of_other_projects_are_planned_as_gangs():
    nodes = "".join("""---
apiVersion: v1
kind: Node
metadata: {name: n%d, labels: {rack: r%d}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
""" % (number, number // 2) for number in range(4))

    def pod(name, labels, more=""):
        return """---
apiVersion: v1
kind: Pod
metadata: {name: %s, %s}
spec: {%scontainers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}
""" % (name, labels, more)

    kinds = {
        "scheduling.x-k8s.io/v1alpha1": ("minMember: %d", "labels: {scheduling.x-k8s.io/pod-group: g}"),
        "scheduling.volcano.sh/v1beta1": ("minMember: %d", "annotations: {scheduling.k8s.io/group-name: g}"),
        "scheduling.run.ai/v2alpha2": ("minMember: %d", "annotations: {pod-group-name: g}"),
        "scheduling.k8s.io/v1alpha2": ("schedulingPolicy: {gang: {minCount: %d}}", None),
    }
    for kind, (spec, labels) in kinds.items():
        group = "---\n{apiVersion: %s, kind: PodGroup, metadata: {name: g}, spec: {%s}}\n" % (kind, spec)
        for wanted, result in ((4, "Placed"), (5, "Unschedulable")):
            pods = "".join(pod("p%d" % number, labels or "labels: {a: b}",
                               "" if labels else "schedulingGroup: {podGroupName: g}, ")
                           for number in range(wanted))
            decisions, code = plan("-f", "-", text=nodes + group % wanted + pods)
            assert set(decisions) == {"g"}, (kind, decisions)
            decision = decisions["g"]
            assert (decision["kind"], decision["result"]) == ("PodGroup", result), (kind, decision)
            assert len(decision["pods"]) == wanted and code == (result != "Placed"), (kind, decision, code)
    # Without an object, and with one that cannot be followed.
    count = ("labels: {kueue.x-k8s.io/pod-group-name: g}, "
             'annotations: {kueue.x-k8s.io/pod-group-total-count: "%d"}')
    decisions, _ = plan("-f", "-", text=nodes + "".join(pod("p%d" % n, count % 2) for n in range(2)))
    assert decisions["g"]["result"] == "Placed", decisions
    pinned = nodes + pod("a", count % 2) + pod("b", count % 2, "nodeSelector: {rack: nowhere}, ")
    decisions, _ = plan("-f", "-", text=pinned)
    assert decisions["g"]["result"] == "Unschedulable", decisions
    outcome = run("plan", "-f", "-", "-o", "json", text=nodes + pod("a", count % 2) + pod("b", count % 3))
    assert "must be the same on all pods of the group: 2 and 3 on pod b" in outcome.stderr, outcome.stderr
    # A tree, with a wish.
    gang = nodes + """---
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: gang}
spec:
  podgroups:
  - {name: gang-p, minReplicas: 1}
  - {name: gang-d, minReplicas: 2, topologyConstraint: {packConstraint: {required: rack}}}
""" + pod("p", "labels: {grove.io/podgang: gang, grove.io/podclique: gang-p}") + "".join(
        pod("d%d" % n, "labels: {grove.io/podgang: gang, grove.io/podclique: gang-d}") for n in range(2))
    decisions, code = plan("-f", "-", text=gang)
    assert code == 0 and {name: one["kind"] for name, one in decisions.items()} == {
        "gang": "CompositePodGroup", "gang-p": "PodGroup", "gang-d": "PodGroup"}, decisions
    assert decisions["gang-d"]["placement"]["topology"][0]["key"] == "rack", decisions
    told = run("explain", "podgroup", "g", "-f", "-", text=pinned)
    assert "labels of pods (kueue)" in told.stdout, told.stdout + told.stderr


def packed_files_are_refused_with_what_unpacks_them():
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch, "snapshot.gz")
        file.write_bytes(gzip.compress(b"{}"))
        outcome = run("plan", "-f", file)
        assert outcome.returncode == 1 and "gunzip -c" in outcome.stderr, outcome
    assert "KAI Scheduler" in run("plan", "-f", "-", text='{"rawObjects": {}}').stderr


def nothing_in_the_input_steers_the_terminal():
    bad = WORKLOADS.replace("name: n1}", 'name: "n1\\e[2J"}')
    outcome = run("plan", "-f", "-", text=bad)
    assert "\x1b" not in outcome.stdout + outcome.stderr, outcome
    assert "\\x1b[2J" in outcome.stdout + outcome.stderr, outcome


NODE = ('{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: "%d", memory: 8Gi, '
        'pods: "9"}}}\n---\n')
MEMBER = ('---\n{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {schedulingGroup: {podGroupName: '
          'pair}, containers: [{name: c, image: i, resources: {requests: {cpu: "%d"}}}]}}\n')
PAIR = ("{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: pair, namespace: default}, "
        "spec: {schedulingPolicy: {gang: {minCount: 2}}}}\n")
# One topology key more than Berth reads of a pod.
AFFINITY = ("spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [%s]}}, "
            % ", ".join("{topologyKey: zone-%d, labelSelector: {matchLabels: {app: x}}}" % number
                        for number in range(65)))


def gang(small, large):
    """A gang of two on nodes of 8 and 7 cpu: its pods ask for `small` and `large`."""
    return NODE % ("n1", 8) + NODE % ("n2", 7) + PAIR + MEMBER % ("a", small) + MEMBER % ("b", large)


def a_group_is_refused_only_with_a_proof():
    decisions, code = plan("-f", "-", text=gang(2, 8))
    assert code == 0, decisions
    assert [pod["node"] for pod in decisions["pair"]["pods"]] == ["n2", "n1"], decisions
    decisions, code = plan("-f", "-", text=gang(8, 8))
    pair = decisions["pair"]
    assert code == 1 and pair["result"] == "Unschedulable", pair
    proof = pair["certificate"]
    assert (proof["kind"], proof["need"], proof["have"]) == ("Gang", 2, 1), proof
    assert "Insufficient cpu" in pair["pods"][1]["message"], pair


ROOT_OF_100 = ("{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: root, "
               "namespace: default}, spec: {workloadRef: {workloadName: tree, templateName: root}, "
               "schedulingPolicy: {gang: {minGroupCount: 100}}}}\n")
RACK = ('---\n{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {rack: r%d}}, status: {allocatable: '
        '{cpu: "%d", memory: 8Gi, pods: "99"}}}\n')
GANG_OF_TEN = ("---\n{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g%d, "
               "namespace: default}, spec: {workloadRef: {workloadName: tree, templateName: leaf}, "
               "parentCompositePodGroupName: root, schedulingConstraints: {topology: [{key: rack}]}, "
               "schedulingPolicy: {gang: {minCount: 10}}}}\n")
OF_A_GANG = ("---\n{apiVersion: v1, kind: Pod, metadata: {name: p%d-%d}, spec: {schedulingGroup: "
             "{podGroupName: g%d}, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}\n")


def hundred_groups(slots_of_the_last_rack):
    """A tree of 100 gangs of ten, each in one of 100 racks that take ten."""
    text = ROOT_OF_100
    for i in range(100):
        text += RACK % (i, i, 10 if i < 99 else slots_of_the_last_rack) + GANG_OF_TEN % i
        text += "".join(OF_A_GANG % (i, k, i) for k in range(10))
    return text


def a_tree_that_is_one_slot_short_is_refused_with_a_proof():
    decisions, code = plan("-f", "-", text=hundred_groups(slots_of_the_last_rack=9))
    root = decisions["root"]
    assert code == 1 and root["result"] == "Unschedulable", root
    proof = root["certificate"]
    assert (proof["kind"], proof["need"], proof["have"]) == ("Gang", 1000, 999), proof
    decisions, code = plan("-f", "-", text=hundred_groups(slots_of_the_last_rack=10))
    assert code == 0 and decisions["root"]["result"] == "Placed", decisions["root"]


def what_is_not_honoured_is_unknown():
    text = gang(2, 2).replace("spec: {schedulingGroup", AFFINITY + "schedulingGroup")
    decisions, code = plan("-f", "-", text=text)
    pair = decisions["pair"]
    assert code == 1 and (pair["result"], pair["reason"]) == ("Unknown", "FieldNotHonoured"), pair
    message = pair["pods"][0]["message"]
    assert "more than 64 topology keys in terms of spec.affinity between pods" in message, pair


FULL = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: low}, spec: {nodeName: n1, priority: 1,
 containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {priority: 10,
 containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}
"""


def what_if_compares_two_plans():
    decisions, code = plan("-f", "-", text=FULL)
    assert code == 1 and decisions["x"]["result"] == "Preempting", decisions
    assert decisions["x"]["victims"] == [{"namespace": "default", "name": "low"}], decisions
    assert decisions["x"]["pods"][0]["node"] == "n1", decisions
    asked = ("plan", "-f", "-", "-o", "json", "--what-if", "cordon=n1", "--what-if", "preempt=off")
    first, second = run(*asked, text=FULL), run(*asked, text=FULL)
    assert first.stdout == second.stdout and first.returncode == 1
    what_if = json.loads(first.stdout)["whatIf"]
    assert what_if["base"]["Preempting"] == 1 and what_if["base"]["Placed"] == 0, what_if
    assert what_if["changed"][0]["result"] == "Unschedulable", what_if
    assert what_if["changed"][0]["was"]["victims"] == [{"namespace": "default", "name": "low"}], what_if
    placed = run("plan", "-f", "-", "--what-if", "remove=pod/low", text=FULL)
    assert placed.returncode == 0 and "Preempting on n1, evicts default/low" in placed.stdout, placed.stdout
    for change, returned, words in (
            ("nothing", 2, "use add=FILE, remove=KIND"), ("cordon=", 2, "write cordon=NODE"),
            ("scale=pod/x:many", 2, "has no number of pods"), ("preempt=maybe", 2, "neither preempt=on"),
            ("remove=wheel/x", 2, "no kind"), ("cordon=n7", 1, "the input has no node n7"),
            ("add=/nowhere.yaml", 1, "/nowhere.yaml")):
        refused = run("plan", "-f", "-", "--what-if", change, text=FULL)
        assert refused.returncode == returned and words in refused.stderr, (change, refused)


TWO_NODES = """
apiVersion: v1
kind: Node
metadata: {name: big}
status: {allocatable: {cpu: "16", memory: 32Gi, pods: "9"}}
---
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "9"}}
"""
POD = """---
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {%s, containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
"""
PROFILES = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packer
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}
"""


def each_pod_is_decided_by_its_profile():
    pods = TWO_NODES + POD % ("spread", "schedulerName: default-scheduler")
    pods += POD % ("packed", "schedulerName: packer")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(PROFILES)
        file.flush()
        decisions, _ = plan("-f", "-", "--config", file.name, text=pods)
    nodes = {name: decision["pods"][0]["node"] for name, decision in decisions.items()}
    assert nodes == {"spread": "big", "packed": "small"}, nodes
    decisions, _ = plan("-f", "-", text=pods)
    assert decisions["packed"]["pods"][0]["node"] == "big", decisions["packed"]


def placements_of_a_dump_are_compared():
    pods = TWO_NODES + POD % ("a", "nodeName: big") + POD % ("b", "nodeName: small")
    done = run("plan", "-f", "-", "--compare", text=pods)
    assert done.returncode == 0 and "2 pods: 1 agree, 1 better, 0 refused" in done.stdout, done.stdout
    tainted = pods.replace("metadata: {name: small}", "metadata: {name: small}\nspec: {unschedulable: true}")
    done = run("plan", "-f", "-", "--compare", "-o", "json", text=tainted)
    (refused,) = json.loads(done.stdout)["pods"]
    assert done.returncode == 1, done
    assert (refused["name"], refused["reason"]) == ("b", "node(s) were unschedulable"), refused


GPU_NODE = """---
{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {rack: %s}},
 status: {allocatable: {cpu: "64", memory: 64Gi, pods: "99", nvidia.com/gpu: "2"}}}
"""
GPU_POD = """---
{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: default, ownerReferences: [
   {apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]},
 spec: {%s, containers: [{name: c, image: i,
   resources: {requests: {nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}}]}}
"""
GPU_GANG = """---
{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: {name: train, namespace: default},
 spec: {schedulingPolicy: {gang: {minCount: 4}}, schedulingConstraints: {topology: [{key: rack}]}}}
"""


def moves_of_pods_say_what_they_buy():
    nodes = "".join(GPU_NODE % (f"n{i}", f"rack-{i // 2}") for i in range(4))
    placed = (("a", "n0"), ("b", "n2"), ("c", "n3"))
    pods = "".join(GPU_POD % (name, f"nodeName: {node}") for name, node in placed)
    gang = GPU_GANG + "".join(GPU_POD % (f"g{i}", "schedulingGroup: {podGroupName: train}") for i in range(4))
    moved = run("plan", "-f", "-", "--defragment", "--level", "rack", text=nodes + pods + gang)
    assert moved.returncode == 0, moved.stderr
    assert moved.stdout.startswith("1 move makes rack-0 whole: gang default/train of 4 fits\n"), moved.stdout
    moved = run("plan", "-f", "-", "--defragment", "--level", "rack", "-o", "json", text=nodes + pods + gang)
    answer = json.loads(moved.stdout)
    (move,) = answer["moves"]
    assert (move["name"], move["from"], move["devices"]) == ("a", "n0", 1), move
    assert move["to"] in ("n2", "n3") and move["domain"] == "rack-0", move
    assert answer["domains"][0]["buys"] == "1 move makes rack-0 whole: gang default/train of 4 fits", answer
    assert (answer["wholeBefore"], answer["wholeAfter"], answer["ended"]) == (0, 1, False), answer
    backwards = "---".join(reversed((nodes + pods + gang).split("---")))
    again = run("plan", "-f", "-", "--defragment", "--level", "rack", "-o", "json", text=backwards)
    assert again.stdout == moved.stdout, again
    # The same moves, carried out: the gang fits.
    after = nodes + pods.replace("nodeName: n0", "nodeName: " + move["to"]) + gang
    decisions, code = plan("-f", "-", text=after)
    assert code == 0 and decisions["train"]["result"] == "Placed", decisions
    # What a limit forbids is unchanged, and nothing to move is an answer, too.
    for flags in (("--ratio", "5"), ("--moves", "1", "--domains", "1", "--ratio", "4.001")):
        kept = run("plan", "-f", "-", "--defragment", "--level", "rack", *flags, "-o", "json",
                   text=nodes + pods)
        answer = json.loads(kept.stdout)
        assert kept.returncode == 0 and answer["moves"] == [], answer
        assert {one["reason"] for one in answer["unchanged"]} == {"BelowRatio"}, answer
    for flags, flag in ((("--defragment", "--level", "rak"), "--level"), (("--defragment",), "--level"),
                        (("--level", "rack"), "--defragment"), (("--defragment", "--moves", "0"), "--moves"),
                        (("--defragment", "--ratio", "nan"), "--ratio"),
                        (("--defragment", "--ratio", "-1"), "--ratio"),
                        (("--defragment", "--compare"), "--compare"),
                        (("--defragment", "--what-if", "cordon=n0"), "--what-if")):
        wrong = run("plan", "-f", "-", *flags, text=nodes + pods)
        assert wrong.returncode == 2 and flag in wrong.stderr and not wrong.stdout, (flags, wrong)


def cel_answers_line_by_line():
    asked = [{"id": 1, "expr": "device.driver == 'd'", "device": {"driver": "d"}},
             {"id": 2, "expr": "x * 2", "vars": {"x": {"int": "21"}}}, {"id": 3, "expr": "1 +"}]
    outcome = run("cel", text="".join(json.dumps(line) + "\n" for line in asked))
    answers = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2, 3], answers
    assert (answers[0]["value"], answers[1]["value"], answers[2]["error"]) == (True, "42", "compile"), answers
    assert outcome.returncode == 1


def every_example_of_topology_comes_as_its_page_says():
    folder = EXAMPLES / "topology"
    wanted = {  # the domains of each group, with the pods in them
        "rack.yaml": {"in-one-rack": {"b1/r1": 4}},
        "rack-else-block.yaml": {"near": {"b1/r1": 4}},
        "block-rack-segments.yaml": {"segments": {"b1/r1": 2, "b1/r2": 2}},
        "ranks.yaml": {"ring": {"b1/r1": 6}},
        "prefill-decode.yaml": {"serve": {"b1": 4}, "decode": {"b1/r1": 2}},
        "shared-fabric.yaml": {"shared": {"b2/r3": 2}},
        "composite-job.yaml": {"pipeline": {"b1": 5}, "trainers": {"b1/r1": 3}, "loaders": {"b1/r1": 2}},
    }
    cluster = ["-f", folder / "nodes.yaml", "-f", folder / "topology.yaml"]
    for name, groups in wanted.items():
        decisions, code = plan(*cluster, "-f", folder / name)
        assert code == 0, (name, decisions)
        for group, domains in groups.items():
            wish = decisions[group]["placement"]["wish"]
            assert dict(zip(wish["domains"], wish["segments"])) == domains, (name, group, wish)
    assert plan("-f", folder)[1] == 0
    files = {path.name for path in folder.glob("*.yaml")}
    assert files == {*wanted, "nodes.yaml", "topology.yaml"}, files


CASES = (every_example_of_the_document_is_told_in_words, every_example_of_topology_comes_as_its_page_says,
         the_order_of_the_input_never_matters, its_objects_are_what_it_decided,
         what_a_server_would_refuse_is_told_and_its_namespace_is_asked,
         verdicts_judge_every_node, bad_input_is_named,
         the_scoring_says_which_devices, devices_take_of_their_node,
         workloads_are_planned_with_their_pods, kinds_that_are_not_served_are_left_out,
         groups_of_other_projects_are_planned_as_gangs,
         packed_files_are_refused_with_what_unpacks_them, nothing_in_the_input_steers_the_terminal,
         a_group_is_refused_only_with_a_proof, a_tree_that_is_one_slot_short_is_refused_with_a_proof,
         what_if_compares_two_plans,
         what_is_not_honoured_is_unknown, each_pod_is_decided_by_its_profile,
         placements_of_a_dump_are_compared, moves_of_pods_say_what_they_buy, cel_answers_line_by_line)


def main():
    global BERTH
    chosen = suite.options(__doc__)
    BERTH = chosen.berth
    return suite.run(CASES, chosen.words)


if __name__ == "__main__":
    sys.exit(main())
