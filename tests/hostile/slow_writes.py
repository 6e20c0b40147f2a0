"""A gang of 300; each create of a bind request takes 1 s, 16 are in flight, so that all need 19 s.
Once seen: after 15 s the gang is given up, members are bound in part, and decided again without end.
Should be: it is bound whole, at the first decision."""

import time

from lab import expect, node, pod, pod_group, run
from parts import Proxy, apiserver, binder, scheduler
from watchlog import WatchLog

MEMBERS = 300
LIMIT_S = 60


def story(lab):
    _, api, port = apiserver(lab)
    proxy = Proxy(lab, port)
    api.create(*(node(f"n{i}") for i in range(10)))
    proxy.fault("POST", "/bindrequests", "delay", arg=1)
    scheduler(lab, proxy.port, "--max-writes-in-flight", "16")
    binder(lab, port)
    log = WatchLog(api)
    time.sleep(1)
    api.create(pod_group("g", MEMBERS))
    api.create(*(pod(f"g-{i}", "g") for i in range(MEMBERS)))
    begin = time.monotonic()
    while time.monotonic() - begin < LIMIT_S and len(api.bound("g-")) < MEMBERS and not log.early_bindings():
        time.sleep(1)
    took = time.monotonic() - begin
    early, count = log.early_bindings(), len(api.bound("g-"))
    expect(not early, f"after {took:.0f} s {'; '.join(early)}")
    expect(count == MEMBERS, f"{count} of {MEMBERS} are bound after {took:.0f} s")
    decisions = {
        item["spec"]["decisionID"]
        for _, kind, _, item in log.events()
        if kind == "BindRequest" and item["spec"].get("group")
    }
    expect(len(decisions) == 1, f"{len(decisions)} decisions were written for one gang")
    return f"{MEMBERS} members bound in {took:.0f} s by one decision"


if __name__ == "__main__":
    run(story)
