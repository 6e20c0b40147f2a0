"""The create of a pod's bind request is lost and lands 1.5 s later; meanwhile another pod is decided.
Once seen: the lost request's device is taken for free and given to the other pod; both are bound with the
same device.
Should be: both are bound, each with a device of its own."""

import time

from lab import claim, device_class, devices_held_twice, expect, node, pod, resource_slice, run, wait_for
from parts import Proxy, apiserver, binder, scheduler

LIMIT_S = 45


def story(lab):
    _, api, port = apiserver(lab)
    proxy = Proxy(lab, port)
    api.create(
        device_class("gpu.x", "gpu.x"), node("n0"), resource_slice("s", "gpu.x", "n0", ["g0", "g1"], "n0")
    )
    scheduler(lab, proxy.port)
    binder(lab, port)
    time.sleep(1)
    first = '"podName":"first"'
    proxy.fault("POST", "/bindrequests", "lost_late", body=first, arg=1.5, count=1)
    proxy.fault("POST", "/bindrequests", "delay", body=first, arg=3, count=1)
    for name in ("first", "second"):
        api.create(claim(name, "gpu.x"), pod(name, claim_name=name))
        time.sleep(0.4)
    wait_for(lambda: len(api.bound()) == 2, LIMIT_S, 0.1)
    time.sleep(2)
    twice = devices_held_twice(api)
    expect(not twice, f"{len(api.bound())} pods are bound; held twice: {twice}")
    expect(len(api.bound()) == 2, f"{len(api.bound())} of 2 pods are bound after {LIMIT_S} s")
    return "each has its own device"


if __name__ == "__main__":
    run(story)
