"""A full rack of 16 CPUs where small pods come and go without end, and a gang of 8 with high priority.
Once seen: each place that gets free goes to a small pod; the gang starves.
Should be: the gang is bound within 45 s, because nothing of lower priority overtakes it."""

import random
import time

from lab import expect, node, pod, pod_group, run, run_time

WAITING_OR_RUNNING = 20
GANG = 8
LIMIT_S = 45


def story(lab):
    rng = random.Random(1)
    _, api = lab.up()
    api.create(*(node(f"n{i}", "r0", cpu="4") for i in range(4)))
    priority_class = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    api.create(priority_class)
    time.sleep(1)
    made = 0

    def keep_small_pods_coming():
        nonlocal made
        live = [
            item
            for item in api.list("Pod")
            if item["metadata"]["name"].startswith("s-")
            and item["status"].get("phase") in ("Pending", "Running")
        ]
        for _ in range(WAITING_OR_RUNNING - len(live)):
            api.create(pod(f"s-{made}", annotations=run_time(rng.uniform(2, 9))))
            made += 1

    begin = time.monotonic()
    while time.monotonic() - begin < 3:
        keep_small_pods_coming()
        time.sleep(0.1)
    high = {"priorityClassName": "high"}
    group = pod_group("g", GANG, "rack")
    group["spec"].update(high)
    api.create(group, *(pod(f"g-{i}", "g", spec=high) for i in range(GANG)))
    begin = time.monotonic()
    while time.monotonic() - begin < LIMIT_S:
        keep_small_pods_coming()
        if len(api.bound("g-")) == GANG:
            return f"bound {time.monotonic() - begin:.0f} s after it came"
        time.sleep(0.1)
    expect(
        False,
        f"{len(api.bound('g-'))} of {GANG} are bound after {LIMIT_S} s; {made} small pods came meanwhile",
    )


if __name__ == "__main__":
    run(story)
