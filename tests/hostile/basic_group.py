"""A basic group (no minimum), made after its three pods: one waits 15 s for its device, two need none.
Once seen: all three wait, as if it were a gang.
Should be: the two are bound at once, the third when its device is ready."""

import time

from lab import claim_template, expect, fabric, node, pod, pod_group, ready_after, run


def story(lab):
    _, api = lab.up()
    api.create(*fabric(1), claim_template("card", "fab"), node("n0"), node("n1"))
    time.sleep(1)
    api.create(pod("b-0", "b", "card", annotations=ready_after(15)), pod("b-1", "b"), pod("b-2", "b"))
    api.create(pod_group("b"))
    expect(
        api.all_bound("b-", 2, 8),
        f"{len(api.bound('b-'))} of the two members without devices are bound after 8 s",
    )
    expect(api.all_bound("b-", 3, 30), "the member with a device is not bound")
    return "members of a basic group do not wait for each other"


if __name__ == "__main__":
    run(story)
