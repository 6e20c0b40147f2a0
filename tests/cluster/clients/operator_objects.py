"""What the cases of the operators make and look for: pods, racks, conditions."""
from operators import module
from programs import eventually

COSCHEDULING = "sigs.k8s.io/scheduler-plugins"
RACK = "example.com/rack"
RACKS = ("--nodes", "9")


def label_racks(server):
    """Three racks of three nodes."""
    for rack in range(3):
        names = ["node-%d" % (3 * rack + number) for number in (1, 2, 3)]
        server.kubectl("label", "node", *names, "%s=rack-%d" % (RACK, rack))


def coscheduling_groups(server):
    """The definition of PodGroups as operators make them for scheduler-plugins."""
    definitions = module(COSCHEDULING) / "config" / "crd" / "bases"
    server.kubectl("apply", "--server-side", "-f", definitions / "scheduling.x-k8s.io_podgroups.yaml")


def pod_template(*command, labels=None, **spec):
    container = {"name": "main", "image": "busybox", "command": list(command),
                 "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"labels": labels or {}},
            "spec": {"restartPolicy": "Never", "containers": [container], **spec}}


def variables(pod):
    """The environment of its first container."""
    return {each["name"]: each.get("value") for each in pod["spec"]["containers"][0].get("env", [])}


def condition(thing, kind):
    return any(each["type"] == kind and each["status"] == "True"
               for each in thing.get("status", {}).get("conditions", []))


def ended(server, kind, name, how):
    """The object, once it has the condition."""
    def look():
        found = server.get(kind, name)
        return condition(found, how) and found
    return eventually("%s %s is %s" % (kind, name, how), look)


def pods_of(server, selector):
    return server.get("pods", "-l", selector)["items"]


def running(server, selector, count):
    def look():
        found = pods_of(server, selector)
        return len(found) == count and all(pod["status"].get("phase") == "Running" for pod in found) and found
    return eventually("%d pods of %s run" % (count, selector), look)


def racks(server, pods):
    where = {node["metadata"]["name"]: node["metadata"]["labels"][RACK]
             for node in server.get("nodes")["items"]}
    return {where[pod["spec"]["nodeName"]] for pod in pods}
