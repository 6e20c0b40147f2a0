"""A gang of three that fills its nodes; the create of one member's bind request is lost and lands 1.5 s
later.
Once seen: requests of two decisions stand beside each other; members are bound in part, or never.
Should be: nobody is bound before all are prepared, and all are bound."""

import time

from lab import expect, node, pod, pod_group, run, wait_for
from parts import Proxy, apiserver, binder, scheduler
from watchlog import WatchLog

MEMBERS = 3
LIMIT_S = 60


def story(lab):
    _, api, port = apiserver(lab)
    proxy = Proxy(lab, port)
    api.create(*(node(f"n{i}", cpu="2") for i in range(MEMBERS)))
    scheduler(lab, proxy.port)
    binder(lab, port)
    log = WatchLog(api)
    time.sleep(1)
    first = '"podName":"g-0"'
    proxy.fault("POST", "/bindrequests", "lost_late", body=first, arg=1.5, count=1)
    proxy.fault("POST", "/bindrequests", "delay", body=first, arg=1.5, count=1)
    api.create(pod_group("g", MEMBERS), *(pod(f"g-{i}", "g", cpu="2") for i in range(MEMBERS)))
    wait_for(lambda: len(api.bound("g-")) == MEMBERS or log.early_bindings(), LIMIT_S, 0.2)
    early = log.early_bindings()
    expect(not early, "; ".join(early))
    expect(
        len(api.bound("g-")) == MEMBERS, f"{len(api.bound('g-'))} of {MEMBERS} are bound after {LIMIT_S} s"
    )
    return "bound whole"


if __name__ == "__main__":
    run(story)
