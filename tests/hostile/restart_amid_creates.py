"""A gang of six; the scheduler is killed with two creates of bind requests under way, which land 1.5 s
later: after its successor has listed, and before its own creates of the same two, which are as slow. No
write is lost.
Once seen: the two requests count as the successor's; two pods stay pending for ever, the others may be
bound without them.
Should be: nobody is bound early, and all are bound."""

import time

from lab import expect, node, pod, pod_group, run, wait_for
from parts import Proxy, apiserver, binder, scheduler
from watchlog import WatchLog

MEMBERS = 6
LIMIT_S = 60


def story(lab):
    _, api, port = apiserver(lab)
    proxy = Proxy(lab, port)
    api.create(*(node(f"n{i}") for i in range(3)))
    first = scheduler(lab, proxy.port, "--max-writes-in-flight", "2")
    binder(lab, port, "--gang-timeout", "5s")
    log = WatchLog(api)
    time.sleep(1)
    proxy.fault("POST", "/bindrequests", "delay", arg=1.5, count=4)
    api.create(pod_group("g", MEMBERS), *(pod(f"g-{i}", "g") for i in range(MEMBERS)))
    under_way = wait_for(lambda: proxy.record.read_text().count("/bindrequests delay") == 2, 20, 0.02)
    expect(under_way, "the creates were not sent in 20 s")
    first.kill()
    scheduler(lab, proxy.port, "--gang-timeout", "5s")
    wait_for(lambda: len(api.bound("g-")) == MEMBERS or log.early_bindings(), LIMIT_S, 0.2)
    early, count = log.early_bindings(), len(api.bound("g-"))
    expect(not early, "; ".join(early))
    expect(count == MEMBERS, f"{count} of {MEMBERS} are bound after {LIMIT_S} s")
    return "bound whole by the successor"


if __name__ == "__main__":
    run(story)
