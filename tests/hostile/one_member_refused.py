"""A gang of three, scheduler and binder apart; the create of one member's bind request is refused,
dropped or put off.
Once seen: the other two are bound without it.
Should be: nobody is bound before all three are prepared; all three are bound once the fault is over."""

import time

from lab import Defect, node, pod, pod_group, run
from parts import Proxy, apiserver, binder, scheduler
from watchlog import WatchLog

FAULTS = {
    "403 for 6 s": {"action": "status", "arg": 403, "reason": "Forbidden"},
    "one dropped": {"action": "drop", "count": 1},
    "503, five times": {"action": "status", "arg": 503, "reason": "ServiceUnavailable", "count": 5},
}
MEMBERS = 3


def trouble_under(lab, fault):
    """What went wrong under one fault, as a list of sentences."""
    server, api, port = apiserver(lab)
    proxy = Proxy(lab, port)
    api.create(*(node(f"n{i}", cpu="2") for i in range(MEMBERS)))
    parts = [scheduler(lab, proxy.port), binder(lab, port)]
    log = WatchLog(api)
    time.sleep(1)
    proxy.fault("POST", "/bindrequests", body='"podName":"g-0"', **fault)
    api.create(pod_group("g", MEMBERS), *(pod(f"g-{i}", "g", cpu="2") for i in range(MEMBERS)))
    time.sleep(6)
    proxy.heal()
    whole = api.all_bound("g-", MEMBERS, 60)
    trouble = log.early_bindings()
    if not whole:
        trouble.append(f"{len(api.bound('g-'))} of {MEMBERS} are bound 60 s after the fault")
    for process in (*parts, proxy.process, server):
        process.kill()
    return trouble


def story(lab):
    seen = {name: trouble_under(lab, fault) for name, fault in FAULTS.items()}
    bad = [f"{name}: {', '.join(trouble)}" for name, trouble in seen.items() if trouble]
    if bad:
        raise Defect("; ".join(bad))
    return f"whole or not at all under {len(FAULTS)} faults"


if __name__ == "__main__":
    run(story)
