"""Random small worlds of devices, written as Kubernetes objects. The same seed gives the same world."""
import copy
import random

GPU, NIC = "gpu.example.com", "nic.example.com"
CREATED = "2026-01-02T03:04:05Z"
# What a world may be about, each drawn with one chance in so many.
THEMES = {"counters": 2, "groups": 2, "shares": 2, "policies": 2, "taints": 3, "conditions": 3, "lists": 2,
          "qualified": 3, "deep": 6, "large": 8, "operations": 8}


def claim_object(name, requests, constraints=()):
    devices = {"requests": requests}
    if constraints:
        devices["constraints"] = list(constraints)
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {"devices": devices}}


class World:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.has = {theme: self.one_in(n) for theme, n in THEMES.items()}
        self.drivers = [GPU, NIC][:1 + self.below(2)]
        self.nodes = [self.node(i) for i in range(1, 2 + self.below(3))]
        self.slices, self.published, self.claims = [], [], []
        for driver in self.drivers:
            for index in range(1 + self.below(2)):
                self.add_pool(driver, "pool0" if self.one_in(6) else f"{driver[:3]}-{index}")
        self.classes = [self.device_class("gpu", GPU), self.device_class("nic", NIC),
                        self.device_class("any", None)]
        if not self.one_in(3):
            self.hold_some()
        self.wanted = [f"want-{i}" for i in range(2 if self.one_in(4) else 1)]
        self.claims += [self.claim(name) for name in self.wanted]
        self.gates_off = ["DRADeviceCompatibilityGroups"] if self.one_in(8) else []

    def below(self, n):
        return self.random.randrange(n)

    def one_in(self, n):
        return self.below(n) == 0

    def any_of(self, *choices):
        return self.random.choice(choices)

    def sample(self, choices, count):
        return self.random.sample(choices, min(len(choices), count))

    # Nodes, and what chooses among them.

    def node(self, index):
        name = f"n{index}"
        labels = {"kubernetes.io/hostname": name, "zone": self.any_of("a", "b"), "rank": str(self.below(4))}
        if self.one_in(3):
            labels["fast"] = "yes"
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
        status = {"allocatable": amounts, "capacity": amounts,
                  "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}
        if self.has["operations"] and not self.one_in(3):
            status["declaredFeatures"] = ["DRAOptionalNodeOperations"]
        return {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
                "spec": {}, "status": status}

    def node_name(self):
        return self.random.choice(self.nodes)["metadata"]["name"]

    def node_selector(self):
        if self.one_in(4):
            field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
            return {"nodeSelectorTerms": [{"matchFields": [field]}]}
        wish = self.any_of({"key": "zone", "operator": "In", "values": [self.any_of("a", "b")]},
                           {"key": "zone", "operator": "NotIn", "values": ["b"]},
                           {"key": "fast", "operator": "Exists"}, {"key": "fast", "operator": "DoesNotExist"},
                           {"key": "rank", "operator": "Gt", "values": ["1"]},
                           {"key": "rank", "operator": "Lt", "values": ["3"]})
        return {"nodeSelectorTerms": [{"matchExpressions": [wish]}]}

    # Devices.

    def capacity(self, shareable):
        large = ["8E", "9223372036854775807", "10E", "9P"] if self.has["large"] and self.one_in(3) else []
        if not shareable:
            return {"value": self.any_of("4", "6", "8", "2500m", *large)}
        capacity = {"value": self.any_of("4", "6", "8", "10", "2500m", "16", *large)}
        if not self.has["policies"] or self.one_in(3):
            return capacity
        policy = capacity["requestPolicy"] = {"default": self.any_of("1", "2")}
        kind = self.below(3)
        if kind == 0:
            span = policy["validRange"] = {"min": policy["default"]}
            if self.one_in(2):
                span["max"] = "4"
            if self.one_in(2):
                span["step"] = self.any_of("1", "2")
            if span.get("step") == "2" and policy["default"] == "1" and "max" in span:
                span["max"] = "3"
        elif kind == 1:
            policy["validValues"] = sorted({policy["default"], "4"})
        return capacity

    def attribute_name(self, driver, name):
        return f"{driver}/{name}" if self.has["qualified"] and self.one_in(2) else name

    def attributes(self, driver):
        drawn = {}
        if not self.one_in(4):
            drawn["std.example.org/numa"] = {"int": self.below(2)}
        if not self.one_in(4):
            drawn[self.attribute_name(driver, "idx")] = {"int": self.below(3)}
        if self.one_in(2):
            drawn[self.attribute_name(driver, "model")] = {"string": self.any_of("a", "b", "n1")}
        if self.one_in(3):
            drawn["fw"] = {"version": self.any_of("1.0.0", "1.5.0", "2.0.0", "2.0.0-rc.1")}
        if self.one_in(3):
            drawn["ok"] = {"bool": self.one_in(2)}
        if self.has["lists"]:
            if self.one_in(2):
                drawn["tags"] = {"strings": self.sample(["x", "y", "z"], 1 + self.below(3))}
            if self.one_in(2):
                drawn["links"] = {"ints": self.sample([0, 1, 2, 3], 1 + self.below(3))}
            if self.one_in(4):
                drawn["std.example.org/numa"] = {"ints": self.sample([0, 1], 1 + self.below(2))}
        return drawn

    def taints(self):
        effect = self.any_of("NoSchedule", "NoExecute", "None")
        taints = [{"key": self.any_of("sick", "busy"), "effect": effect, "timeAdded": CREATED}]
        if self.one_in(4):
            taints.append({"key": "t2", "value": "v", "effect": "NoSchedule", "timeAdded": CREATED})
        return taints

    def draws(self, counter_sets):
        entries = []
        for name in self.sample(counter_sets, self.below(3)):
            entry = {"counterSet": name, "counters": {"mem": {"value": self.any_of("1", "2", "3")}}}
            if self.one_in(3):
                entry["counters"]["slices"] = {"value": "1"}
            if self.has["groups"] and not self.one_in(3):
                entry["compatibilityGroups"] = self.sample(["ga", "gb", "gc"], 1 + self.below(2))
            entries.append(entry)
        return entries

    def device(self, name, driver, counter_sets):
        shareable = self.has["shares"] and self.one_in(2)
        device = {"name": name, "attributes": self.attributes(driver),
                  "consumesCounters": self.draws(counter_sets), "capacity": {}}
        if shareable:
            device["allowMultipleAllocations"] = True
        if self.one_in(2):
            device["capacity"][self.attribute_name(driver, "mem")] = self.capacity(shareable)
        if self.one_in(3):
            device["capacity"]["slots"] = self.capacity(shareable)
        if self.has["taints"] and self.one_in(3):
            device["taints"] = self.taints()
        if self.has["conditions"] and self.one_in(2):
            device.update(bindingConditions=["ready"], bindingFailureConditions=["broken"])
        if self.has["conditions"] and self.one_in(3):
            device["bindsToNode"] = True
        return {key: value for key, value in device.items() if value not in ({}, [])}

    # Slices and pools: mostly complete and of one generation.

    def place(self, where, fixed, selector):
        if where == 0:
            return {"allNodes": True}
        if where == 1:
            return {"perDeviceNodeSelection": True}
        if where == 2:
            return {"nodeSelector": self.node_selector() if self.one_in(3) else selector}
        return {"nodeName": self.node_name() if self.one_in(4) else fixed}

    def place_device(self, device):
        kind = self.below(4)
        if kind == 0:
            device["allNodes"] = True
        elif kind == 1:
            device["nodeSelector"] = self.node_selector()
        else:
            device["nodeName"] = self.node_name()

    def devices(self, driver, first, counter_sets, spec):
        drawn = []
        for index in range(first, first + 1 + self.below(6 if self.has["deep"] else 4)):
            name = "d0" if self.one_in(60) else f"d{index}"
            if any(other["name"] == name for other in drawn):
                continue
            known = ["ghost"] if counter_sets and self.one_in(60) else counter_sets
            drawn.append(self.device(name, driver, known))
            if "perDeviceNodeSelection" in spec:
                self.place_device(drawn[-1])
        return drawn

    def counter_slice(self, counter_sets):
        counters = [{"name": name, "counters": {"mem": {"value": self.any_of("2", "4", "5", "8")},
                                                "slices": {"value": self.any_of("1", "2", "3")}}}
                    for name in counter_sets]
        return {"sharedCounters": counters, "allNodes": True}

    def add_pool(self, driver, pool):
        if any((s["spec"]["driver"], s["spec"]["pool"]["name"]) == (driver, pool) for s in self.slices):
            return
        counter_sets = []
        if self.has["counters"] and not self.one_in(4):
            counter_sets = [f"set{i}" for i in range(1 + self.below(2))]
        where, fixed, selector = self.below(5), self.node_name(), self.node_selector()
        specs, first = [], 0
        for _ in range(1 + self.below(3)):
            spec = self.place(self.below(5) if self.one_in(4) else where, fixed, selector)
            spec["devices"] = self.devices(driver, first, counter_sets, spec)
            if self.has["operations"] and self.one_in(3):
                spec["skipNodeOperations"] = ["*"]
            first += 6
            specs.append(spec)
        if counter_sets:
            specs.append(self.counter_slice(counter_sets))
        self.random.shuffle(specs)
        generation = 1 + self.below(2)
        newer, missing = self.one_in(20), self.one_in(20)
        for index, spec in enumerate(specs):
            late = 1 if newer and index == 0 else 0
            self.publish(spec, driver, pool, generation + late, len(specs) + (1 if missing else 0))
            if self.one_in(25) and "devices" in spec:
                self.publish(copy.deepcopy(spec), driver, pool, generation - 1, len(specs))

    def publish(self, spec, driver, pool, generation, count):
        name = f"s{len(self.slices):02}"
        spec.update(driver=driver, pool={"name": pool, "generation": generation, "resourceSliceCount": count})
        self.slices.append({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
                            "metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec})
        self.published += [(driver, pool, device) for device in spec.get("devices", [])]

    # Classes and claims.

    def expression(self, driver):
        domain = f'device.attributes["{driver}"]'
        amounts = f'device.capacity["{driver}"]'
        safe = [f'device.driver == "{driver}"', "device.allowMultipleAllocations",
                "!device.allowMultipleAllocations", '"std.example.org" in device.attributes',
                'device.attributes.exists(d, "numa" in device.attributes[d])',
                f"{domain}.?idx.orValue(0) <= 1", f'{domain}.?model.orValue("") == "a"',
                f'!has({domain}.fw) || {domain}.fw.isLessThan(semver("2.0.0"))',
                f'has({amounts}.mem) && {amounts}.mem.compareTo(quantity("5")) >= 0',
                f'!has({amounts}.slots) || {amounts}.slots.isGreaterThan(quantity("4"))',
                f"{domain}.?ok.orValue(true)", 'device.attributes[device.driver].all(k, k != "fw")',
                f"{domain}.?idx.orValue(9) in [0, 1]", f"cel.bind(x, {domain}, x.?idx.orValue(0) < 2)",
                f'!has({domain}.tags) || {domain}.tags.includes("x")',
                f"has({domain}.links) && {domain}.links.includes(1)", "true",
                'device.driver.startsWith("gpu") || device.driver.contains("nic")',
                f"{domain}.size() > 1 && {amounts}.size() >= 0"]
        if not self.has["lists"]:
            safe.append('device.attributes["std.example.org"].?numa.orValue(0) == 0')
        failing = [f"{domain}.idx == 0", f'{domain}.model != "a"'] if self.one_in(6) else []
        return self.any_of(*safe, *failing)

    def selector(self, driver):
        return {"cel": {"expression": self.expression(driver)}}

    def device_class(self, name, driver):
        spec = {}
        if driver:
            spec["selectors"] = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
            if self.one_in(5):
                spec["selectors"].append(self.selector(driver))
        return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
                "metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}

    def hold_some(self):
        seen = set()
        for driver, pool, device in self.published:
            if not self.one_in(4) or (driver, pool, device["name"]) in seen:
                continue
            seen.add((driver, pool, device["name"]))
            shareable = device.get("allowMultipleAllocations", False)
            for _ in range(1 + self.below(2) if shareable else 1):
                self.hold(driver, pool, device, shareable)

    def hold(self, driver, pool, device, shareable):
        index = len(self.claims)
        exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
        result = {"request": "r0", "driver": driver, "pool": pool, "device": device["name"]}
        if self.one_in(8):
            result["adminAccess"] = exactly["adminAccess"] = True
        if shareable:
            result["shareID"] = f"00000000-0000-4000-8000-{index:012d}"
            taken = {}
            for name, capacity in device.get("capacity", {}).items():
                policy = capacity.get("requestPolicy")
                taken[name] = policy["default"] if policy else capacity["value"]
                if policy and "validValues" in policy and self.one_in(2):
                    taken[name] = "4"
            if taken:
                result["consumedCapacity"] = taken
        for field in ("bindingConditions", "bindingFailureConditions"):
            if field in device:
                result[field] = device[field]
        claim = claim_object(f"held-{index}", [{"name": "r0", "exactly": exactly}])
        claim["status"] = {"allocation": {"devices": {"results": [result]}}}
        self.claims.append(claim)

    def ask(self, plain):
        choices = ["gpu", "gpu", "nic", "any"] if len(self.drivers) > 1 else ["gpu", "gpu", "any"]
        name = self.any_of(*choices)
        driver = NIC if name == "nic" else GPU
        ask = {"deviceClassName": name, "allocationMode": "ExactCount", "count": 1}
        if self.one_in(3):
            ask["count"] = 1 + self.below(5 if self.has["deep"] else 3)
        if self.one_in(7):
            ask = {"deviceClassName": name, "allocationMode": "All"}
        if self.one_in(2):
            ask["selectors"] = [self.selector(driver) for _ in range(2 if self.one_in(4) else 1)]
        if self.has["taints"] and self.one_in(2):
            ask["tolerations"] = [self.any_of(
                {"operator": "Exists"}, {"key": "sick", "operator": "Exists"},
                {"key": "t2", "operator": "Equal", "value": "v", "effect": "NoSchedule"},
                {"key": "busy", "operator": "Exists", "effect": "NoSchedule"})]
        if self.one_in(4):
            large = ["9P", "20E", "100u"] if self.has["large"] else []
            amount = self.any_of("1", "2", "3", "4", "1500m", "5", *large)
            ask["capacity"] = {"requests": {self.any_of("mem", "slots", f"{driver}/mem"): amount}}
        if plain and self.one_in(10):
            ask["adminAccess"] = True
        return ask, driver

    def requests(self):
        requests, drivers = [], []
        for index in range(1 + self.below(5 if self.has["deep"] else 3)):
            if self.one_in(4):
                alternatives = []
                for at in range(1 + self.below(3)):
                    ask, driver = self.ask(plain=False)
                    alternatives.append({"name": f"a{at}", **ask})
                requests.append({"name": f"r{index}", "firstAvailable": alternatives})
            else:
                ask, driver = self.ask(plain=True)
                requests.append({"name": f"r{index}", "exactly": ask})
            drivers.append(driver)
        return requests, drivers[0]

    def constraints(self, requests, driver):
        constraints, lists = [], self.has["lists"]
        if self.one_in(3):
            names = ["std.example.org/numa", f"{driver}/idx", f"{driver}/model", f"{driver}/fw"]
            names += [f"{driver}/tags", f"{driver}/links"] if lists else []
            constraints.append({"matchAttribute": self.any_of(*names)})
        if self.one_in(5):
            names = ["std.example.org/numa", f"{driver}/idx", f"{driver}/model"]
            names += [f"{driver}/links"] if lists else []
            constraints.append({"distinctAttribute": self.any_of(*names)})
        whole = [request["name"] for request in requests]
        parts = [f'{r["name"]}/{a["name"]}' for r in requests for a in r.get("firstAvailable", [])]
        for constraint in constraints:
            if self.one_in(2):
                names = whole + parts if self.one_in(3) else whole
                constraint["requests"] = sorted(self.sample(names, 1 + self.below(len(whole))))
        return constraints

    def derive(self, requests, constraints, driver):
        domain = f'device.attributes["{driver}"]'
        expression = self.any_of("device.driver", f'{domain}.?model.orValue("none")',
                                 f'has({domain}.idx) && {domain}.idx > 0 ? "hi" : "lo"',
                                 'device.attributes["std.example.org"].numa')
        for request in requests:
            for ask in [request["exactly"]] if "exactly" in request else request["firstAvailable"]:
                ask["derivedAttributes"] = [{"name": "derived.example.org/key", "expression": expression}]
        constraints.append({self.any_of("matchAttribute", "distinctAttribute"): "derived.example.org/key"})

    def claim(self, name):
        requests, driver = self.requests()
        constraints = self.constraints(requests, driver)
        if self.one_in(8):
            self.derive(requests, constraints, driver)
        return claim_object(name, requests, constraints)

    def objects(self):
        """Everything, with one pod that wants the claims."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": "default", "labels": {"resource.kubernetes.io/admin-access": "true"}}}
        names = [f"c{i}" for i in range(len(self.wanted))]
        pod = {"apiVersion": "v1", "kind": "Pod",
               "metadata": {"name": "p", "namespace": "default", "uid": "uid-p",
                            "creationTimestamp": CREATED},
               "spec": {"containers": [{"name": "main", "image": "example.com/app:1",
                                        "resources": {"claims": [{"name": name} for name in names]}}],
                        "resourceClaims": [{"name": name, "resourceClaimName": claim}
                                           for name, claim in zip(names, self.wanted)]}}
        return [namespace, *self.nodes, *self.classes, *self.slices, *self.claims, pod]

    def question(self):
        """What the real allocator is given."""
        return {"Off": self.gates_off, "Nodes": self.nodes, "Classes": self.classes, "Slices": self.slices,
                "Claims": self.claims, "Wanted": self.wanted}
