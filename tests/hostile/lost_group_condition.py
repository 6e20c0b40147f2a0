"""A group that did not fit does so later; the one PATCH that says PodGroupInitiallyScheduled=True is lost.
With a minimum of one: of a larger gang the binder's commit says it.
Once seen: the condition stays False for ever, over a restart too, with all members bound.
Should be: it becomes True within 20 s."""

import time

from lab import expect, node, pod, pod_group, run, wait_for
from parts import Proxy, apiserver, binder, scheduler


def story(lab):
    _, api, port = apiserver(lab)
    proxy = Proxy(lab, port)
    api.create(*(node(f"n{i}") for i in range(3)))
    first = scheduler(lab, proxy.port)
    binder(lab, port)
    time.sleep(1)
    api.create(pod_group("g", 1), pod("g-0", "g", cpu="100"))
    expect(
        wait_for(lambda: api.group_condition("g") == "False", 20),
        "the group that does not fit has no condition",
    )
    proxy.fault("PATCH", "/podgroups", "drop", count=1)
    api.delete("Pod", "g-0", 0)
    api.create(pod("g-1", "g"))
    expect(api.all_bound("g-", 1, 30), "the member is not bound")
    if wait_for(lambda: api.group_condition("g") == "True", 20):
        return "the condition was written again"
    first.kill()
    scheduler(lab, port)
    again = wait_for(lambda: api.group_condition("g") == "True", 15)
    after = "only a restart mends it" if again else "a restart does not mend it"
    expect(False, f"all members are bound, the condition is False for 20 s, {after}")


if __name__ == "__main__":
    run(story)
