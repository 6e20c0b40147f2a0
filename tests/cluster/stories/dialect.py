"""The stories' dialect (tests/stories/README.md) as far as a real API server can follow it.

Files, short forms, expectations, and what a story needs that only the simulator has. Meanings are those of
src/sim/story.cc.
"""
import json
import re
import subprocess

from suite import Failure

SIMULATED = "berth.dev/simulated"
STEPS = {"apply", "create", "patch", "delete", "settle", "restart", "expect"}
DURATION = re.compile(r"(\d+)(ms|s|m)")
SECONDS = {"ms": 0.001, "s": 1, "m": 60}
# A YAML document that kubectl reads as an object of a kind that nobody serves.
HEAD = "apiVersion: story/v1\nkind: Story\nmetadata: {name: story}\n"


def documents(text):
    """YAML as JSON values, read by kubectl: the suites use nothing but the standard library."""
    done = subprocess.run(["kubectl", "annotate", "--local", "-f", "-", "none-", "-o", "json"], input=text,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure("kubectl does not read it: " + done.stderr)
    decoder, rest = json.JSONDecoder(), done.stdout.lstrip()
    while rest:
        value, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        yield value


def read_story(file):
    return next(documents(HEAD + file.read_text()))


def seconds(text):
    number, unit = DURATION.fullmatch(text).groups()
    return int(number) * SECONDS[unit]


def keys_of(value):
    """Every key of every map below a value."""
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from keys_of(item)


def gates_of(text):
    """{gate: whether it is on} of "A=true,B=false"."""
    return {name: value == "true" for name, _, value in (entry.partition("=")
                                                         for entry in filter(None, (text or "").split(",")))}


def told_by_the_clock(story):
    """How long a story runs whose objects say a time of their own; 0 when order is all that counts."""
    if "tolerationSeconds" not in keys_of(story):
        return 0
    return sum(seconds(step["settle"]) for step in story["steps"] if "settle" in step)


def needs_the_simulator(story):
    """The first thing in a story that only the simulator has; None: it can be told on a real server."""
    for step in story["steps"]:
        if foreign := sorted(step.keys() - STEPS):
            return "step `%s`" % foreign[0]
    if "volumes.yaml" in story["given"]:
        return "the provisioner and the volume controller of simulated clusters"
    if "gpu-nodes.yaml" in story["given"]:  # on a cluster a share of a GPU is always reserved by a pod
        return "a kubelet that gives reservation pods their GPU"
    for key in keys_of(story["steps"]):
        if key.startswith("berth.dev/") and key != SIMULATED:
            return "the simulated devices' annotation " + key
    return None


def pod_of(words):
    """The short form of a pod in full."""
    metadata = {key: words[key] for key in ("namespace", "labels", "annotations") if key in words}
    container = {"name": "work", "image": "registry.k8s.io/pause:3.10",
                 "resources": {"requests": {"cpu": words.get("cpu", "100m")}}}
    if "limits" in words:
        container["resources"]["limits"] = words["limits"]
    spec = {"schedulerName": "berth", "containers": [container]}
    templates = words.get("claims", [])
    claims = [{"name": words["claim"], "resourceClaimName": words["claim"]}] if "claim" in words else []
    claims += [{"name": name, "resourceClaimTemplateName": name}
               for name in ([templates] if isinstance(templates, str) else templates)]
    if claims:
        spec["resourceClaims"] = claims
        container["resources"]["claims"] = [{"name": claim["name"]} for claim in claims]
    if "group" in words:
        spec["schedulingGroup"] = {"podGroupName": words["group"]}
    if "bound" in words:
        spec["nodeName"] = words["bound"]
    if "node" in words:
        spec["nodeSelector"] = {"kubernetes.io/hostname": words["node"]}
    if "priorityClass" in words:
        spec["priorityClassName"] = words["priorityClass"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": words["pod"], **metadata}, "spec": spec}


def pods_of(words):
    """One pod, or as many as `count` says."""
    if "count" not in words:
        return [pod_of(words)]
    return [pod_of({**words, "pod": "%s-%d" % (words["pod"], i)}) for i in range(words["count"])]


def value_at(found, path):
    """The value at "status.conditions[type=Ready].status"; None when absent."""
    for name, inside in re.findall(r"([^.\[\]]+)|\[([^\]]*)\]", path):
        if name:
            found = found.get(name) if isinstance(found, dict) else None
        elif not isinstance(found, list):
            return None
        else:
            key, equals, text = inside.partition("=")
            found = next((item for place, item in enumerate(found)
                          if str(place) == inside or equals and item.get(key) == text), None)
    return found


def why_of(found):
    """The message of the first condition that is False."""
    for condition in found.get("status", {}).get("conditions", []):
        if condition["status"] == "False":
            return condition.get("message", "")
    return ""


def gpus_of(found):
    """The GPU groups of a pod with a share, and its size in each."""
    annotations = found.get("metadata", {}).get("annotations", {})
    groups = annotations.get("scheduling.berth.dev/gpu-groups", "")
    return "%s %s" % (groups, annotations.get("scheduling.berth.dev/gpu-portion", "")) if groups else ""


def difference(name, found, expected, event):
    """The first word that does not hold, in the simulator's sentence; `event()` is the event about it."""
    for word, wanted in expected.items():
        if word == "event":
            got = event()
        elif word == "phase":
            got = found.get("status", {}).get("phase", "")
        elif word == "node":
            got = found.get("spec", {}).get("nodeName", "")
        elif word == "why":
            got = why_of(found)
        elif word == "gpus":
            got = gpus_of(found)
        else:
            got = value_at(found, word)
        contained = word in ("why", "event") and isinstance(wanted, str) and wanted in got
        if got == wanted or contained or wanted == "*" and got not in (None, ""):
            continue
        return "%s: %s is %s, expected %s" % (name, word, json.dumps(got), json.dumps(wanted))
    return ""
