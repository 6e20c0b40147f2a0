"""Objects of a load, each as (path of its collection, body)."""
from api_resources import path_of

DRIVER, CLASS = "gpu.example.com", "gpu"


def device_class():
    expression = 'device.driver == "%s"' % DRIVER
    return path_of("DeviceClass"), {"kind": "DeviceClass", "metadata": {"name": CLASS},
                                         "spec": {"selectors": [{"cel": {"expression": expression}}]}}


def node(name, cpus, devices):
    """A node that is ready, and the slice of its devices."""
    size = {"cpu": str(cpus), "memory": "256Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    yield path_of("Node"), {"kind": "Node", "metadata": {"name": name},
                            "status": {"capacity": size, "allocatable": size, "conditions": [ready]}}
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    yield path_of("ResourceSlice"), {
        "kind": "ResourceSlice", "metadata": {"name": name},
        "spec": {"driver": DRIVER, "nodeName": name, "pool": pool,
                 "devices": [{"name": "gpu-%d" % i} for i in range(devices)]}}


def claim_spec():
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": CLASS}}]}}


def claim_template(ns, name):
    return path_of("ResourceClaimTemplate", ns), {
        "kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": {"spec": claim_spec()}}


def pod(ns, name, group=None, claim=None):
    """`claim` is where its device comes from: a map with resourceClaimName or resourceClaimTemplateName."""
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulerName": "berth", "containers": [container]}
    if claim:
        spec["resourceClaims"] = [{"name": "gpu", **claim}]
        container["resources"]["claims"] = [{"name": "gpu"}]
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return path_of("Pod", ns), {"kind": "Pod", "metadata": {"name": name}, "spec": spec}


def claiming_pod(ns, name, group=None):
    """A claim for one device, and the pod that uses it."""
    yield path_of("ResourceClaim", ns), {
        "kind": "ResourceClaim", "metadata": {"name": name}, "spec": claim_spec()}
    yield pod(ns, name, group, {"resourceClaimName": name})


def pod_group(ns, name, size):
    return path_of("PodGroup", ns), {
        "kind": "PodGroup", "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": size}}}}
