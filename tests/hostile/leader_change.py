"""Two schedulers and two binders with Leases; one after another is stopped for 3 or 17 s and woken, and
started again when it ended because it had lost its Lease; eight gangs of 6 in racks, whose devices get
ready, or fail, after some seconds.
Should be: all bound with their claims, no device held twice, no gang in two racks or bound early, no pod
moved.
"""

import os
import random
import signal
import threading
import time

from lab import (
    Defect,
    claim,
    device_class,
    devices_held_twice,
    expect,
    node,
    pod,
    pod_group,
    resource_slice,
    run,
)
from parts import apiserver, binder, scheduler
from watchlog import WatchLog

GANGS, MEMBERS = 8, 6
LIMIT_S = 110


def drive(api, stop, rng):
    """The driver: each allocation gets ready after 0.5 to 4 s, one in twenty fails."""
    due = {}
    while not stop.is_set():
        for item in api.list("ResourceClaim"):
            name, status = item["metadata"]["name"], item.get("status", {})
            if "allocation" not in status:
                due.pop(name, None)
                continue
            result = status["allocation"]["devices"]["results"][0]
            device = (result["pool"], result["device"])
            if name not in due or due[name][0] != device:
                due[name] = (device, time.monotonic() + rng.uniform(0.5, 4))
            elif not status.get("devices") and time.monotonic() > due[name][1]:
                api.make_ready(name, "fab.x/AttachFailed" if rng.random() < 0.05 else None)
        time.sleep(0.3)


def pause_in_turn(replicas, stop, rng):
    while not stop.is_set():
        replica = rng.choice(replicas)
        replica.revive()
        os.kill(replica.pid, signal.SIGSTOP)
        stop.wait(rng.choice([3, 17]))
        os.kill(replica.pid, signal.SIGCONT)
        stop.wait(rng.uniform(0, 3))
        for other in replicas:
            other.revive()


class Replica:
    """A part that is started again when it ends by itself, as a kubelet does."""

    def __init__(self, start):
        self._start = start
        self._process = start()

    @property
    def pid(self):
        return self._process.child.pid

    def revive(self):
        code = self._process.child.poll()
        if code is None:
            return
        expect(code == 1 and "is lost" in self._process.output(), f"it ended with {code}, its Lease not lost")
        self._process = self._start()


def check_now(api, places):
    """Raises when a pod has moved, a device is held twice or a gang is in two racks."""
    racks = {}
    for name, place in api.bound().items():
        expect(places.setdefault(name, place) == place, f"{name} moved from {places[name]} to {place}")
        racks.setdefault(name.split("-")[0], set()).add(int(place[1:]) // 3)
    split = [gang for gang, numbers in racks.items() if len(numbers) > 1]
    expect(not split, f"gangs in two racks: {split}")
    twice = devices_held_twice(api)
    expect(not twice, f"held twice: {twice}")


def check_claims(api, places):
    for item in api.list("ResourceClaim"):
        name, status = item["metadata"]["name"], item.get("status", {})
        users = [user["name"] for user in status.get("reservedFor", [])]
        expect(
            "allocation" in status and users == [name], f"{name} is bound, its claim is not its own: {users}"
        )
        chosen = status["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"]
        expect(chosen == [places[name]], f"{name} is bound to {places[name]}, its devices to {chosen}")


def story(lab):
    rng = random.Random(7)
    _, api, port = apiserver(lab)
    if not api.get("Namespace", "kube-system"):
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}})
    api.create(device_class("fab", "fab.x"))
    for pool in ("left", "right"):
        api.create(resource_slice(pool, "fab.x", pool, [f"c{i}" for i in range(60)], binding_conditions=True))
    api.create(*(node(f"n{i:02}", f"r{i // 3}") for i in range(12)))
    starts = (scheduler, scheduler, binder, binder)
    replicas = [Replica(lambda start=start: start(lab, port, elect=True)) for start in starts]
    log = WatchLog(api)
    stop = threading.Event()
    threads = [
        threading.Thread(target=drive, args=(api, stop, random.Random(8))),
        threading.Thread(target=pause_in_turn, args=(replicas, stop, random.Random(9))),
    ]
    for thread in threads:
        thread.start()
    places = {}
    try:
        begin = time.monotonic()
        for gang in range(GANGS):
            api.create(pod_group(f"g{gang}", MEMBERS, "rack"))
            for i in range(MEMBERS):
                name = f"g{gang}-{i}"
                api.create(claim(name, "fab"), pod(name, f"g{gang}", claim_name=name))
            time.sleep(rng.uniform(0.5, 3))
        while time.monotonic() - begin < LIMIT_S and len(places) < GANGS * MEMBERS:
            check_now(api, places)
            time.sleep(0.5)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if len(places) < GANGS * MEMBERS:
        raise Defect(f"{len(places)} of {GANGS * MEMBERS} are bound after {LIMIT_S} s")
    check_claims(api, places)
    early = log.early_bindings()
    expect(not early, "; ".join(early))
    return f"{GANGS} gangs whole in {time.monotonic() - begin:.0f} s"


if __name__ == "__main__":
    run(story)
