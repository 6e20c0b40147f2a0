"""A pod fills a node; another waits for room; the first is resized to less.
Once seen: nobody looks at the waiting pod again.
Should be: it is bound within 20 s."""

import time

from lab import STRATEGIC_PATCH, expect, node, pod, run, wait_for


def story(lab):
    _, api = lab.up()
    api.create(node("n1", cpu="4"))
    time.sleep(1)
    api.create(pod("big", cpu="3"))
    expect(wait_for(lambda: api.is_bound("big"), 20), "the first pod is not bound")
    api.create(pod("small", cpu="2"))
    time.sleep(2)
    expect(not api.is_bound("small"), "a pod was bound to a full node")
    smaller = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
    code = api.patch("Pod", "big", smaller, "resize", STRATEGIC_PATCH)
    expect(code == 200, f"the resize was answered {code}")
    expect(wait_for(lambda: api.is_bound("small"), 20), "20 s after the resize the waiting pod is not bound")
    return "the waiting pod took the room"


if __name__ == "__main__":
    run(story)
