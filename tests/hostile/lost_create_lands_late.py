"""The create of a bind request is lost and lands 1.5 s later; its repetition is told AlreadyExists. Then
its node goes.
Once seen: the request is taken for the newer decision's; the pod stays pending for ever.
Should be: the pod is bound to the node that is left."""

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
    proxy.fault("POST", "/bindrequests", "lost_late", arg=1.5, count=1)
    proxy.fault("POST", "/bindrequests", "delay", arg=1.5, count=1)
    api.create(pod("p"))
    time.sleep(5)
    request = wait_for(lambda: api.list("BindRequest"), 20)
    expect(request, "no bind request was written in 20 s")
    api.delete("Node", request[0]["spec"]["selectedNode"])
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
