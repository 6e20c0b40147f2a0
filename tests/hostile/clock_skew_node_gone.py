"""A pod waits for its device; its node is deleted; the binder's wall clock is 10 minutes behind the API
server's.
Once seen: the binder takes the request for one from the future and does not act on the missing node.
Should be: the request fails and another node is chosen within 25 s."""

import time

from lab import claim, expect, fabric, node, pod, run, wait_for
from parts import apiserver, binder, environment_with_clock_offset, scheduler

LIMIT_S = 25


def story(lab):
    behind = environment_with_clock_offset(lab, -600)
    _, api, port = apiserver(lab)
    api.create(*fabric(2), claim("c", "fab"), node("n0"), node("n1"))
    scheduler(lab, port)
    binder(lab, port, env=behind)
    time.sleep(1)
    api.create(pod("p", claim_name="c"))
    waiting = wait_for(lambda: (api.get("ResourceClaim", "c") or {}).get("status", {}).get("allocation"), 20)
    expect(waiting, "the claim was not allocated in 20 s")
    gone = api.list("BindRequest")[0]["spec"]["selectedNode"]
    time.sleep(1)
    api.delete("Node", gone)

    def chosen_again():
        return [item for item in api.list("BindRequest") if item["spec"]["selectedNode"] != gone]

    expect(
        wait_for(chosen_again, LIMIT_S, 0.2), f"{LIMIT_S} s after its node went the pod still waits for it"
    )
    return "another node was chosen"


if __name__ == "__main__":
    run(story)
