"""A bind request fails because its node is gone; the one DELETE with which the scheduler removes it is
lost.
Once seen: the pod stays pending for ever, although another node has room.
Should be: the DELETE is sent again and the pod is bound to the other node."""

import time

from lab import expect, node, pod, run, wait_for
from parts import Proxy, apiserver, binder, scheduler

LIMIT_S = 45


def story(lab):
    _, api, port = apiserver(lab)
    proxy = Proxy(lab, port)
    api.create(node("n1"), node("n2", cpu="32"))
    scheduler(lab, proxy.port)
    time.sleep(1)
    proxy.fault("DELETE", "/bindrequests", "drop", count=1)
    api.create(pod("p"))
    request = wait_for(lambda: api.list("BindRequest"), 20)
    expect(request, "no bind request was written in 20 s")
    chosen = request[0]["spec"]["selectedNode"]
    api.delete("Node", chosen)
    binder(lab, port)
    if api.all_bound("p", 1, LIMIT_S):
        return "bound to the other node"
    left = [
        (item["spec"]["selectedNode"], item.get("status", {}).get("phase"))
        for item in api.list("BindRequest")
    ]
    expect(False, f"the pod is pending after {LIMIT_S} s, with bind requests {left}")


if __name__ == "__main__":
    run(story)
