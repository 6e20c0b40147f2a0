"""The API server is killed when 20 or 120 of 200 bind requests of a gang are written, and comes back
after 2.5 s.
Should be: nobody is bound early, and the gang is bound whole within 75 s."""

import time

from lab import Defect, node, pod, pod_group, run, wait_for
from parts import apiserver, binder, scheduler
from watchlog import WatchLog

MEMBERS = 200
LIMIT_S = 75


def trouble_when_killed_at(lab, written):
    data = lab.folder / f"data-{written}"
    server, api, port = apiserver(lab, data)
    api.create(*(node(f"n{i:02}", f"r{i % 2}") for i in range(20)))
    api.create(pod_group("g", MEMBERS), *(pod(f"g-{i:03}", "g") for i in range(MEMBERS)))
    deciding = scheduler(lab, port)
    wait_for(lambda: len(api.list("BindRequest")) >= written, 20, 0.001)
    server.kill()
    time.sleep(2.5)
    server, api, port = apiserver(lab, data, port)
    log = WatchLog(api)
    binding = binder(lab, port)
    whole = api.all_bound("g-", MEMBERS, LIMIT_S)
    trouble = log.early_bindings()
    if not whole:
        trouble.append(f"{len(api.bound('g-'))} of {MEMBERS} are bound after {LIMIT_S} s")
    for process in (deciding, binding, server):
        process.kill()
    return trouble


def story(lab):
    for written in (20, 120):
        if trouble := trouble_when_killed_at(lab, written):
            raise Defect(f"killed at {written} requests: {'; '.join(trouble)}")
    return "bound whole after either kill"


if __name__ == "__main__":
    run(story)
