"""Four gangs of 8 in racks, one of them waiting 4 s for devices; the control plane is killed at a moment
from 0 to 3 s and started again on its data.
Should be: all bound in 60 s, one rack a gang, no device held twice, each group's condition True."""

import time

from lab import (
    claim_template,
    device_class,
    devices_held_twice,
    expect,
    fabric,
    node,
    pod,
    pod_group,
    ready_after,
    resource_slice,
    run,
    wait_for,
)

GANGS, MEMBERS = 4, 8


def build(api):
    api.create(
        device_class("gpu.x", "gpu.x"),
        *fabric(16),
        claim_template("one", "gpu.x"),
        claim_template("card", "fab"),
    )
    for rack in range(4):
        for number in range(4):
            name = f"r{rack}n{number}"
            api.create(node(name, f"r{rack}"), resource_slice("s-" + name, "gpu.x", name, ["g0", "g1"], name))
    time.sleep(0.5)
    api.create(*(pod_group(f"g{gang}", MEMBERS, "rack") for gang in range(GANGS)))
    for gang in range(GANGS):
        template = "card" if gang == 0 else "one"
        api.create(
            *(pod(f"g{gang}-{i}", f"g{gang}", template, annotations=ready_after(4)) for i in range(MEMBERS))
        )


def check_after_kill(lab, moment):
    data = lab.folder / f"data-{moment}"
    process, api = lab.up(data=data)
    build(api)
    time.sleep(moment)
    process.kill()
    process, api = lab.up(data=data)
    where = f"killed after {moment} s: "
    whole = api.all_bound("g", GANGS * MEMBERS, 60)
    expect(whole, f"{where}{len(api.bound('g'))} of {GANGS * MEMBERS} are bound")
    racks = {(name.split("-")[0], place[:2]) for name, place in api.bound("g").items()}
    expect(len(racks) == GANGS, f"{where}a gang is in two racks: {sorted(racks)}")
    twice = devices_held_twice(api)
    expect(not twice, f"{where}held twice: {twice}")
    told = wait_for(lambda: all(api.group_condition(f"g{gang}") == "True" for gang in range(GANGS)), 20, 0.2)
    expect(told, f"{where}a group with all members bound is not told PodGroupInitiallyScheduled=True")
    process.kill()


def story(lab):
    for moment in (0, 0.02, 0.1, 1, 3):
        check_after_kill(lab, moment)
    return "whole after each of five kills"


if __name__ == "__main__":
    run(story)
