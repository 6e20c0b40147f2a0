"""A gang of 200 that does not fit waits; 40 small pods come and go beside it.
Once seen: its 200 pods' conditions and events are rewritten with each placement, because the sentences
hold numbers.
Should be: fewer than 200 writes for its words, that is less than one for each member."""

import json
import time

from lab import expect, node, pod, pod_group, run, run_time

GANG, SMALL = 200, 40


def writes_for_the_gang(audit_log):
    """Writes of its pods' status and group's status, and of events (nearly all of the gang)."""
    patches = events = 0
    for line in audit_log.read_text().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:  # a line that is being written
            continue
        if entry["verb"] not in ("create", "update", "patch"):
            continue
        resource, name = entry["resource"].replace("/", ".").split(".")[0], entry["name"]
        patches += resource in ("pods", "podgroups") and (name == "g" or name.startswith("g-"))
        events += resource == "events"
    return patches, events


def story(lab):
    audit_log = lab.folder / "audit.jsonl"
    _, api = lab.up("--audit-log", str(audit_log))
    api.create(*(node(f"n{i}", f"r{i // 4}", cpu="16") for i in range(8)))
    api.create(pod_group("g", GANG, "rack"), *(pod(f"g-{i:03}", "g") for i in range(GANG)))
    time.sleep(6)
    patches_before, events_before = writes_for_the_gang(audit_log)
    begin = time.monotonic()
    for i in range(SMALL):
        api.create(pod(f"s-{i}", annotations=run_time(1)))
        time.sleep(0.25)
    time.sleep(3)
    patches, events = writes_for_the_gang(audit_log)
    patches, events = patches - patches_before, events - events_before
    seconds = time.monotonic() - begin
    told = f"{patches} status writes of the waiting gang and {events} event writes in {seconds:.0f} s"
    expect(patches < GANG, f"{told}, while {SMALL} small pods came and went")
    expect(events < GANG + 10 * SMALL, f"{told}, while {SMALL} small pods came and went")
    return told


if __name__ == "__main__":
    run(story)
