"""Where the kinds that suites use are served, and the paths of their objects."""

CORE, DRA = "/api/v1", "/apis/resource.k8s.io/v1"
RESOURCES = {  # kind: (group and version, plural, whether it has a namespace)
    "Event": (CORE, "events", True),
    "Namespace": (CORE, "namespaces", False),
    "Node": (CORE, "nodes", False),
    "Pod": (CORE, "pods", True),
    "DeviceClass": (DRA, "deviceclasses", False),
    "DeviceTaintRule": (DRA, "devicetaintrules", False),
    "ResourceClaim": (DRA, "resourceclaims", True),
    "ResourceClaimTemplate": (DRA, "resourceclaimtemplates", True),
    "ResourceSlice": (DRA, "resourceslices", False),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "PodGroup": ("/apis/scheduling.k8s.io/v1beta1", "podgroups", True),
    "BindRequest": ("/apis/scheduling.berth.dev/v1alpha1", "bindrequests", True),
}


def path_of(kind, ns="", *parts):
    """Of all namespaces without `ns`; `parts`: the object's name, then a subresource."""
    group, plural, namespaced = RESOURCES[kind]
    return "/".join(filter(None, (group, "namespaces/" + ns if namespaced and ns else "", plural, *parts)))
