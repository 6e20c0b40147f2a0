"""200 pods wait for their devices, later 1,500 that fit nowhere wait too, beside a flow of small pods.
Should be: a small pod is bound within 1 s (the 99th of 100), all that wait are bound when their devices
are ready, no device is held twice, and those that fit nowhere cost less than 1 CPU second in 5 s."""

import time

from lab import (
    claim_template,
    device_class,
    devices_held_twice,
    expect,
    node,
    pod,
    ready_after,
    resource_slice,
    run,
    wait_for,
)

WAITING, FLOW, IMPOSSIBLE = 200, 100, 1500


def seconds_to_bind(api, name):
    begin = time.monotonic()
    api.create(pod(name))
    wait_for(lambda: api.is_bound(name), 30, 0.002)
    return time.monotonic() - begin


def story(lab):
    process, api = lab.up()
    api.create(device_class("fab", "fab.x"), claim_template("card", "fab"))
    for pool in ("left", "right"):
        devices = [f"c{i}" for i in range(120)]
        api.create(resource_slice(pool, "fab.x", pool, devices, binding_conditions=True))
    api.create(*(node(f"n{i:02}", f"r{i // 2}") for i in range(50)))
    time.sleep(1)
    api.create(*(pod(f"w-{i:03}", template="card", annotations=ready_after(40)) for i in range(WAITING)))
    allocated = wait_for(
        lambda: sum("allocation" in c.get("status", {}) for c in api.list("ResourceClaim")) == WAITING, 60
    )
    expect(allocated, "the waiting pods got no devices in 60 s")
    times = sorted(seconds_to_bind(api, f"f-{i}") for i in range(FLOW))
    expect(times[-2] < 1, f"a small pod took {times[-2]:.1f} s (99th of {FLOW}) beside {WAITING} that wait")
    expect(api.all_bound("w-", WAITING, 90), f"{len(api.bound('w-'))} of {WAITING} are bound")
    twice = devices_held_twice(api)
    expect(not twice, f"held twice: {twice}")
    api.create(*(pod(f"u-{i:04}", cpu="100") for i in range(IMPOSSIBLE)))
    time.sleep(8)
    used = process.cpu_s()
    time.sleep(5)
    used = process.cpu_s() - used
    expect(used < 1, f"{IMPOSSIBLE} pods that fit nowhere cost {used:.1f} CPU s in 5 s")
    last = seconds_to_bind(api, "last")
    expect(last < 2, f"a small pod took {last:.1f} s beside {IMPOSSIBLE} that fit nowhere")
    return f"99th of {FLOW} bound after {times[-2] * 1000:.0f} ms, all {WAITING} bound"


if __name__ == "__main__":
    run(story)
