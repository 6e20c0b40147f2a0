"""A gang (minCount 3) of four waits for devices; one member and its request go while the binder is down.
Once seen: the rest wait on, and are given up with their devices when those are ready.
Should be: the loss is noticed, and the three that are left are bound soon after their devices are ready."""

import time

from lab import claim, expect, fabric, node, pod, pod_group, run, wait_for
from parts import apiserver, binder, scheduler
from watchlog import WatchLog

LEFT = ("g-0", "g-1", "g-3")


def story(lab):
    _, api, port = apiserver(lab)
    api.create(*fabric(8), *(node(f"n{i}") for i in range(4)), *(claim(f"c{i}", "fab") for i in range(4)))
    scheduler(lab, port)
    first = binder(lab, port)
    log = WatchLog(api)
    api.create(pod_group("g", 3), *(pod(f"g-{i}", "g", claim_name=f"c{i}") for i in range(4)))
    waiting = wait_for(
        lambda: sum("allocation" in c.get("status", {}) for c in api.list("ResourceClaim")) == 4, 20
    )
    expect(waiting, "the claims were not allocated in 20 s")
    time.sleep(2)
    first.kill()
    api.delete("Pod", "g-2", 0)
    for item in api.list("BindRequest"):  # as the garbage collector does
        if item["metadata"]["name"].startswith("g-2-"):
            api.delete("BindRequest", item["metadata"]["name"])
    binder(lab, port)
    time.sleep(16)
    ready = [api.make_ready(name.replace("g-", "c")) for name in LEFT]
    expect(all(ready), "16 s after the loss the members that are left have no devices")
    whole = api.all_bound("g-", len(LEFT), 15)
    early = log.early_bindings()
    expect(not early, "; ".join(early))
    expect(whole, f"{len(api.bound('g-'))} of {len(LEFT)} are bound 15 s after their devices were ready")
    return "the members that were left are bound"


if __name__ == "__main__":
    run(story)
