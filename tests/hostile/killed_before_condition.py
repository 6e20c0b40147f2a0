"""A group is bound; the scheduler is killed before its PATCH of the group's condition arrived, and started
again. With a minimum of one: of a larger gang the binder's commit says it.
Once seen: the group has no condition for ever.
Should be: it is told PodGroupInitiallyScheduled=True within 20 s of the start."""

import time

from lab import expect, node, pod, pod_group, run, wait_for
from parts import Proxy, apiserver, binder, scheduler

MEMBERS = 3


def story(lab):
    _, api, port = apiserver(lab)
    proxy = Proxy(lab, port)
    api.create(*(node(f"n{i}") for i in range(MEMBERS)))
    first = scheduler(lab, proxy.port)
    binder(lab, port)
    time.sleep(1)
    proxy.fault("PATCH", "/podgroups", "drop")
    api.create(pod_group("g", 1), *(pod(f"g-{i}", "g") for i in range(MEMBERS)))
    expect(api.all_bound("g-", MEMBERS, 30), f"{len(api.bound('g-'))} of {MEMBERS} members are bound")
    first.kill()
    proxy.heal()
    scheduler(lab, proxy.port)
    told = wait_for(lambda: api.group_condition("g") == "True", 20)
    expect(told, f"20 s after the start the group's condition is {api.group_condition('g') or 'missing'}")
    return "the new scheduler wrote the condition"


if __name__ == "__main__":
    run(story)
