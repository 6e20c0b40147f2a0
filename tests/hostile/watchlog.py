"""A log of what an API server's watches tell, in the order of resourceVersions, and what a gang is
promised in it."""

import http.client
import json
import threading
import urllib.parse

KINDS = ("Pod", "BindRequest", "ResourceClaim", "PodGroup")


class WatchLog:
    """Watches pods, bind requests, claims and groups from now on. Threads end with the program."""

    def __init__(self, api):
        self._events = []
        self._lock = threading.Lock()
        for kind in KINDS:
            listed = api.request("GET", api.path(kind, everywhere=True))[1]
            version = listed["metadata"]["resourceVersion"]
            for item in listed["items"]:
                self._note(kind, "ADDED", item)
            threading.Thread(target=self._watch, args=(api, kind, version), daemon=True).start()

    def _note(self, kind, change, item):
        with self._lock:
            self._events.append((int(item["metadata"]["resourceVersion"]), kind, change, item))

    def _watch(self, api, kind, version):
        address = urllib.parse.urlsplit(api.url)
        while True:
            connection = http.client.HTTPConnection(address.hostname, address.port)
            try:
                path = api.path(kind, everywhere=True)
                connection.request("GET", f"{path}?watch=true&resourceVersion={version}&timeoutSeconds=3600")
                answer = connection.getresponse()
                while line := answer.readline():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    version = event["object"]["metadata"]["resourceVersion"]
                    self._note(kind, event["type"], event["object"])
            except (OSError, ValueError, http.client.HTTPException):
                return
            finally:
                connection.close()

    def events(self):
        """(resourceVersion, kind, change, object) so far, oldest first."""
        with self._lock:
            return sorted(self._events, key=lambda event: event[0])

    def early_bindings(self):
        """A sentence for each gang whose first pod was bound before enough members were bound or prepared."""
        return early_bindings(self.events())


class Replay:
    """The objects as they were after each event."""

    def __init__(self):
        self.objects = {kind: {} for kind in KINDS}

    def apply(self, kind, change, item):
        key = (item["metadata"].get("namespace", ""), item["metadata"]["name"])
        if change == "DELETED":
            self.objects[kind].pop(key, None)
        else:
            self.objects[kind][key] = item

    def minimum(self, namespace, group):
        item = self.objects["PodGroup"].get((namespace, group), {})
        return item.get("spec", {}).get("schedulingPolicy", {}).get("gang", {}).get("minCount", 0)

    def members(self, namespace, group):
        return [
            item
            for (ns, _), item in self.objects["Pod"].items()
            if ns == namespace and group_of(item) == group
        ]

    def prepared(self, member):
        """A bind request stands that is not failing, and the pod's devices are its own and attached."""
        uid, namespace = member["metadata"]["uid"], member["metadata"]["namespace"]
        standing = [
            item
            for (ns, _), item in self.objects["BindRequest"].items()
            if ns == namespace and item["spec"].get("podUID") == uid and not is_failing(item)
        ]
        return bool(standing) and all(self._is_held(namespace, name, uid) for name in claims_of(member))

    def _is_held(self, namespace, claim_name, uid):
        status = self.objects["ResourceClaim"].get((namespace, claim_name), {}).get("status", {})
        if uid not in [user.get("uid") for user in status.get("reservedFor", [])]:
            return False
        told = {
            (device["driver"], device["pool"], device["device"]): device.get("conditions", [])
            for device in status.get("devices", [])
        }
        for result in status.get("allocation", {}).get("devices", {}).get("results", []):
            conditions = told.get((result["driver"], result["pool"], result["device"]), [])
            true = {condition["type"] for condition in conditions if condition["status"] == "True"}
            if not true.issuperset(result.get("bindingConditions", [])):
                return False
        return "allocation" in status


def group_of(pod):
    return pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")


def claims_of(pod):
    made = {
        entry["name"]: entry.get("resourceClaimName")
        for entry in pod.get("status", {}).get("resourceClaimStatuses", [])
    }
    for entry in pod["spec"].get("resourceClaims", []):
        yield entry.get("resourceClaimName") or made.get(entry["name"])


def is_failing(request):
    status = request.get("status", {})
    return status.get("phase") == "Failed" or status.get("step") in ("RollingBack", "RolledBack")


def early_bindings(events):
    replay, begun, found = Replay(), set(), []
    for version, kind, change, item in events:
        replay.apply(kind, change, item)
        if kind != "Pod" or change == "DELETED" or not item["spec"].get("nodeName") or not group_of(item):
            continue
        namespace, group = item["metadata"]["namespace"], group_of(item)
        minimum = replay.minimum(namespace, group)
        if not minimum or (namespace, group) in begun:
            continue
        begun.add((namespace, group))
        members = replay.members(namespace, group)
        count = sum(1 for member in members if member["spec"].get("nodeName") or replay.prepared(member))
        if count < minimum:
            found.append(
                f"{item['metadata']['name']} of gang {group} is bound (version {version}) while "
                f"{count} of the {minimum} members that it needs are bound or prepared"
            )
    return found
