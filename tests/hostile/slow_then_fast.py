"""A gang of 300; a create of a bind request takes 2 s for 26 s, 16 in flight, then the API server is fast
again.
Should be: nobody is bound early, and all are bound within 45 s of fast answers."""

import time

from lab import expect, node, pod, pod_group, run
from parts import Proxy, apiserver, binder, scheduler
from watchlog import WatchLog

MEMBERS = 300
SLOW_S, LIMIT_S = 26, 45


def story(lab):
    _, api, port = apiserver(lab)
    proxy = Proxy(lab, port)
    api.create(*(node(f"n{i}") for i in range(10)))
    proxy.fault("POST", "/bindrequests", "delay", arg=2)
    scheduler(lab, proxy.port, "--max-writes-in-flight", "16")
    binder(lab, port)
    log = WatchLog(api)
    time.sleep(1)
    api.create(pod_group("g", MEMBERS))
    api.create(*(pod(f"g-{i}", "g") for i in range(MEMBERS)))
    time.sleep(SLOW_S)
    proxy.heal()
    whole = api.all_bound("g-", MEMBERS, LIMIT_S)
    early = log.early_bindings()
    expect(not early, "; ".join(early))
    expect(
        whole, f"{len(api.bound('g-'))} of {MEMBERS} are bound {LIMIT_S} s after the API server is fast again"
    )
    return f"{MEMBERS} members bound once the API server was fast"


if __name__ == "__main__":
    run(story)
