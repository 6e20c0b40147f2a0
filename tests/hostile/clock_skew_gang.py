"""A gang of 100; the binder's wall clock is 20 s ahead of the API server's.
Once seen: each request looks older than the gang's limit of 15 s, so that the gang never binds.
Should be: it is bound as with equal clocks."""

import time

from lab import expect, node, pod, pod_group, run
from parts import apiserver, binder, environment_with_clock_offset, scheduler
from watchlog import WatchLog

MEMBERS = 100
LIMIT_S = 30


def story(lab):
    ahead = environment_with_clock_offset(lab, 20)
    _, api, port = apiserver(lab)
    api.create(*(node(f"n{i}") for i in range(4)))
    scheduler(lab, port)
    binder(lab, port, env=ahead)
    log = WatchLog(api)
    time.sleep(1)
    api.create(pod_group("g", MEMBERS))
    api.create(*(pod(f"g-{i}", "g") for i in range(MEMBERS)))
    whole = api.all_bound("g-", MEMBERS, LIMIT_S)
    early = log.early_bindings()
    expect(not early, "; ".join(early))
    expect(whole, f"{len(api.bound('g-'))} of {MEMBERS} are bound after {LIMIT_S} s")
    return "bound whole"


if __name__ == "__main__":
    run(story)
