"""Two schedulers with a Lease; 15,000 pods with long names come and go, never more than one at a time.
Once seen: the standby's memory grows with every pod that ever was.
Should be: after the first 5,000 it grows by less than 2 MiB."""

import http.client
import json
import time

from lab import expect, pod, run
from parts import apiserver, scheduler

ROUNDS, PODS_A_ROUND = 3, 5000
LONGER = "x" * 230


def story(lab):
    _, api, port = apiserver(lab)
    leader = scheduler(lab, port, elect=True)
    time.sleep(3)
    standby = scheduler(lab, port, elect=True)
    time.sleep(1)
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def send(method, path, body=None):
        connection.request(
            method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"}
        )
        connection.getresponse().read()

    sizes = []
    for number in range(ROUNDS):
        for i in range(PODS_A_ROUND):
            name = f"p-{number}-{i}-{LONGER}"
            send("POST", api.path("Pod"), pod(name))
            send("DELETE", api.path("Pod", name) + "?gracePeriodSeconds=0")
        time.sleep(2)
        sizes.append((leader.resident_mib(), standby.resident_mib()))
    standbys = ", ".join(f"{standby_mib:.1f}" for _, standby_mib in sizes)
    told = f"standby {standbys} MiB after each {PODS_A_ROUND} pods that came and went"
    expect(sizes[-1][1] - sizes[0][1] < 2, told)
    return told


if __name__ == "__main__":
    run(story)
