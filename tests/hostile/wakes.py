"""A pod waits, for one reason after another, and the reason goes away: cordon, late class, template or
slice, taint rule, claim made again, a pod that failed, label, allocatable, scheduling gate.
Should be: each is bound within 15 s."""

import time

from lab import Defect, claim, claim_template, device_class, node, pod, resource_slice, run, wait_for

LITTLE = "100m"
TAINT_RULE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "rule"},
    "spec": {
        "deviceSelector": {"driver": "gpu.x"},
        "taint": {"key": "a", "value": "b", "effect": "NoSchedule"},
    },
}


def story(lab):
    _, api = lab.up()
    api.create(node("n1", cpu="4"))
    time.sleep(1)
    asleep = []

    def card(pool):
        return resource_slice("s-" + pool, "gpu.x", pool, ["g0"], "n1")

    def waits_until(reason, waiting, *events):
        """`waiting` is made, refused, and bound after the events."""
        api.create(waiting)
        time.sleep(1.5)
        name = waiting["metadata"]["name"]
        early = api.is_bound(name)
        for event in events:
            event()
        if early or not wait_for(lambda: api.is_bound(name), 15):
            asleep.append(f"{reason} ({'did not wait' if early else 'not bound'})")

    api.patch("Node", "n1", {"spec": {"unschedulable": True}})
    waits_until(
        "uncordon", pod("a", cpu=LITTLE), lambda: api.patch("Node", "n1", {"spec": {"unschedulable": None}})
    )
    api.create(card("p1"), claim_template("t", "late"))
    waits_until(
        "class", pod("b", template="t", cpu=LITTLE), lambda: api.create(device_class("late", "gpu.x"))
    )
    api.create(card("p2"))
    waits_until(
        "template", pod("c", template="u", cpu=LITTLE), lambda: api.create(claim_template("u", "late"))
    )
    waits_until("slice", pod("d", template="u", cpu=LITTLE), lambda: api.create(card("p3")))
    api.create(TAINT_RULE, card("p4"))
    waits_until(
        "taint rule", pod("e", template="u", cpu=LITTLE), lambda: api.delete("DeviceTaintRule", "rule")
    )
    api.create(claim("five", "late", 5))
    waits_until(
        "claim made again",
        pod("f", claim_name="five", cpu=LITTLE),
        lambda: api.delete("ResourceClaim", "five"),
        lambda: api.create(card("p5")),
        lambda: wait_for(lambda: not api.get("ResourceClaim", "five")),
        lambda: api.create(claim("five", "late", 1)),
    )
    api.create(pod("fails", cpu="3"))
    wait_for(lambda: api.is_bound("fails"))
    failed = {"status": {"phase": "Failed"}}
    waits_until("finished pod", pod("g", cpu="3"), lambda: api.patch("Pod", "fails", failed, "status"))
    labels = {"metadata": {"labels": {"z": "1"}}}
    waits_until(
        "label",
        pod("h", cpu=LITTLE, spec={"nodeSelector": {"z": "1"}}),
        lambda: api.patch("Node", "n1", labels),
    )
    room = {"status": {"allocatable": {"cpu": "32"}, "capacity": {"cpu": "32"}}}
    waits_until("allocatable", pod("i", cpu="7"), lambda: api.patch("Node", "n1", room, "status"))
    gated = pod("j", cpu=LITTLE, spec={"schedulingGates": [{"name": "x"}]})
    waits_until("gate", gated, lambda: api.patch("Pod", "j", {"spec": {"schedulingGates": None}}))
    if asleep:
        raise Defect("nobody was woken by: " + ", ".join(asleep))
    return "each reason that went away woke its pod"


if __name__ == "__main__":
    run(story)
