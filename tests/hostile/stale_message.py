"""A gang does not fit, and is told so; then a node comes and it is bound.
Once seen: the condition is True beside the old message, because an empty message is left out of the patch.
Should be: the message goes with its reason."""

import time

from lab import expect, node, pod, pod_group, run, wait_for


def story(lab):
    _, api = lab.up()
    api.create(node("n0", cpu="2"))
    time.sleep(1)
    api.create(pod_group("g", 2), pod("g-0", "g", cpu="2"), pod("g-1", "g", cpu="2"))
    expect(
        wait_for(lambda: api.group_condition("g") == "False", 20),
        "the gang that does not fit has no condition",
    )
    api.create(node("n1", cpu="2"))
    expect(wait_for(lambda: api.group_condition("g") == "True", 30), "the gang that fits is not told True")
    message = api.group_condition("g", "message")
    expect("unschedulable" not in message, f"the condition is True, its message: {message[:60]}")
    return "the message went with its reason"


if __name__ == "__main__":
    run(story)
