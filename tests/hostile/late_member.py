"""A gang of four waits for its devices (one will fail) when a fifth member, which needs none, is created.
Once seen: the fifth is bound alone while the decision of the others is undone.
Should be: nobody is bound while fewer than minCount = 4 members are bound or prepared."""

import time

from lab import claim_template, expect, fabric, fail_after, node, pod, pod_group, ready_after, run
from watchlog import WatchLog

MINIMUM = 4


def story(lab):
    _, api = lab.up()
    api.create(*fabric(4), claim_template("card", "fab"))
    api.create(*(node(f"n{i}", f"r{i // 2}") for i in range(4)))
    log = WatchLog(api)
    time.sleep(1)
    api.create(pod_group("g", MINIMUM, "rack"))
    for i in range(4):
        outcome = fail_after(5) if i == 0 else ready_after(15)
        api.create(pod(f"g-{i}", "g", "card", annotations=outcome))
    time.sleep(2)
    api.create(pod("g-4", "g"))
    end = time.monotonic() + 18
    while time.monotonic() < end and not log.early_bindings():
        time.sleep(0.5)
    early = log.early_bindings()
    expect(not early, "; ".join(early))
    count = len(api.bound("g-"))
    expect(count == 0 or count >= MINIMUM, f"{count} members are bound, minCount is {MINIMUM}")
    return f"the late member was not bound alone ({count} bound)"


if __name__ == "__main__":
    run(story)
