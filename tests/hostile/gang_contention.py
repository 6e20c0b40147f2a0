"""Ten gangs of 8 want the 8 devices of four racks, their pods created in turn; each runs 3 s.
Should be: all finish; no gang is in two racks or bound early; no device is held twice."""

import time

from lab import (
    claim_template,
    device_class,
    devices_held_twice,
    expect,
    node,
    pod,
    pod_group,
    resource_slice,
    run,
    run_time,
)
from watchlog import WatchLog

GANGS, MEMBERS = 10, 8
LIMIT_S = 90


def story(lab):
    _, api = lab.up()
    api.create(device_class("gpu.x", "gpu.x"), claim_template("one", "gpu.x"))
    for rack in range(4):
        for number in range(4):
            name = f"r{rack}n{number}"
            api.create(node(name, f"r{rack}"), resource_slice("s-" + name, "gpu.x", name, ["g0", "g1"], name))
    log = WatchLog(api)
    time.sleep(1)
    api.create(*(pod_group(f"g{gang}", MEMBERS, "rack") for gang in range(GANGS)))
    for i in range(MEMBERS):
        for gang in range(GANGS):
            api.create(pod(f"g{gang}-{i}", f"g{gang}", "one", annotations=run_time(3)))
    begin = time.monotonic()
    while time.monotonic() - begin < LIMIT_S:
        pods, twice = api.list("Pod"), devices_held_twice(api)
        expect(not twice, f"held twice: {twice}")
        racks = {}
        for item in pods:
            if item["spec"].get("nodeName"):
                racks.setdefault(item["metadata"]["name"].split("-")[0], set()).add(
                    item["spec"]["nodeName"][:2]
                )
        split = {gang: sorted(names) for gang, names in racks.items() if len(names) > 1}
        expect(not split, f"gangs in two racks: {split}")
        if all(item["status"].get("phase") == "Succeeded" for item in pods):
            break
        time.sleep(0.2)
    else:
        expect(False, f"not all have finished after {LIMIT_S} s")
    early = log.early_bindings()
    expect(not early, "; ".join(early))
    return f"{GANGS} gangs finished in {time.monotonic() - begin:.0f} s"


if __name__ == "__main__":
    run(story)
