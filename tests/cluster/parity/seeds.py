"""One valid object for each kind that both servers take, with as many of its fields as fit together.

The generator (changes.py) makes its one-field changes of these. Kinds without a row here are not generated:
FlowSchemas, since the rig's API server has no priority and fairness, and Berth writes their status at once.
"""
TIME = "2026-01-02T03:04:05Z"
MICRO_TIME = "2026-01-02T03:04:05.000000Z"
UID = "7f0a1e3c-0000-4000-8000-000000000001"

SELECTOR = {"matchLabels": {"app": "a"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["x", "y"]}]}
TEMPLATE_LABELS = {"app": "a", "tier": "x"}
REFERENCE = {"kind": "Pod", "namespace": "parity", "name": "p", "uid": UID, "apiVersion": "v1",
             "fieldPath": "spec.containers{c}"}
CONTAINER = {
    "name": "c", "image": "registry/image:1", "command": ["run"], "args": ["-v"], "workingDir": "/w",
    "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
    "env": [{"name": "A", "value": "1"},
            {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "L", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
            {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}}],
    "envFrom": [{"prefix": "P_", "configMapRef": {"name": "c", "optional": True}}],
    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "1Gi"},
                  "claims": [{"name": "gpu", "request": "r"}]},
    "volumeMounts": [{"name": "empty", "mountPath": "/e", "readOnly": False},
                     {"name": "config", "mountPath": "/c", "subPath": "x"}],
    "livenessProbe": {"httpGet": {"path": "/", "port": "http", "scheme": "HTTP",
                                  "httpHeaders": [{"name": "X-A", "value": "1"}]},
                      "initialDelaySeconds": 1, "timeoutSeconds": 1, "periodSeconds": 2,
                      "successThreshold": 1, "failureThreshold": 3, "terminationGracePeriodSeconds": 5},
    "readinessProbe": {"exec": {"command": ["ok"]}},
    "startupProbe": {"tcpSocket": {"port": 80}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
    "terminationMessagePath": "/dev/log", "terminationMessagePolicy": "File", "imagePullPolicy": "Always",
    "securityContext": {"runAsUser": 1, "runAsNonRoot": True, "privileged": False,
                        "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
                        "seccompProfile": {"type": "RuntimeDefault"}},
}
REQUIREMENT = {"key": "zone", "operator": "In", "values": ["a"]}
POD_TERM = {"labelSelector": SELECTOR, "topologyKey": "zone", "namespaces": ["parity"]}
POD_SPEC = {
    "containers": [CONTAINER],
    "initContainers": [{"name": "i", "image": "image", "restartPolicy": "Always"}],
    "volumes": [{"name": "empty", "emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
                {"name": "config", "configMap": {"name": "c", "defaultMode": 420, "optional": True,
                                                 "items": [{"key": "k", "path": "p", "mode": 256}]}},
                {"name": "secret", "secret": {"secretName": "s"}},
                {"name": "host", "hostPath": {"path": "/x", "type": "Directory"}},
                {"name": "pvc", "persistentVolumeClaim": {"claimName": "p", "readOnly": True}},
                {"name": "api", "downwardAPI": {"items": [{"path": "l", "fieldRef": {
                    "fieldPath": "metadata.labels"}}]}},
                {"name": "all", "projected": {"sources": [{"serviceAccountToken": {
                    "path": "t", "expirationSeconds": 3600, "audience": "x"}}]}},
                {"name": "csi", "csi": {"driver": "ex.io", "volumeAttributes": {"a": "1"}}}],
    "restartPolicy": "Always", "terminationGracePeriodSeconds": 5, "activeDeadlineSeconds": 100,
    "dnsPolicy": "ClusterFirst", "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["a.b"],
                                               "options": [{"name": "ndots", "value": "2"}]},
    "nodeSelector": {"disk": "ssd"}, "serviceAccountName": "default", "automountServiceAccountToken": False,
    "hostname": "h", "subdomain": "s", "schedulerName": "default-scheduler",
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a.b"]}],
    "imagePullSecrets": [{"name": "s"}],
    "securityContext": {"fsGroup": 1, "runAsUser": 1, "runAsGroup": 1, "supplementalGroups": [1],
                        "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}],
                        "fsGroupChangePolicy": "Always"},
    "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute",
                     "tolerationSeconds": 5}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [REQUIREMENT],
                 "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [REQUIREMENT]}}]},
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [POD_TERM]},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": POD_TERM}]}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                                   "labelSelector": SELECTOR, "minDomains": 2,
                                   "matchLabelKeys": ["version"], "nodeTaintsPolicy": "Honor",
                                   "nodeAffinityPolicy": "Ignore"}],
    "readinessGates": [{"conditionType": "ex.io/ready"}],
    "schedulingGates": [{"name": "ex.io/gate"}],
    "resourceClaims": [{"name": "gpu", "resourceClaimName": "claim"}],
    "overhead": None, "enableServiceLinks": True, "preemptionPolicy": None, "os": {"name": "linux"},
    "shareProcessNamespace": True,
}
POD_SPEC = {key: value for key, value in POD_SPEC.items() if value is not None}
SMALL_POD_SPEC = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
                  "nodeSelector": {"disk": "ssd"}}
JOB_POD_SPEC = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}


def template(spec):
    return {"metadata": {"labels": TEMPLATE_LABELS}, "spec": spec}


def pod(spec):
    return {"spec": spec}


CEL = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
TOLERATION = {"key": "ex.io/t", "operator": "Equal", "value": "v", "effect": "NoSchedule"}
EXACTLY = {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 2,
           "selectors": [CEL], "tolerations": [TOLERATION],
           "capacity": {"requests": {"memory": "1Gi"}}}
DEVICES = {
    "requests": [{"name": "r", "exactly": EXACTLY},
                 {"name": "f", "firstAvailable": [
                     {"name": "s", "deviceClassName": "gpu.example.com", "selectors": [CEL],
                      "allocationMode": "All", "tolerations": [TOLERATION]},
                     {"name": "t", "deviceClassName": "gpu.example.com", "count": 1}]}],
    "constraints": [{"requests": ["r"], "matchAttribute": "gpu.example.com/numa"},
                    {"requests": ["f"], "distinctAttribute": "gpu.example.com/id"}],
    "config": [{"requests": ["r"], "opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}],
}
OLD_DEVICES = {
    "requests": [{"name": "r", **EXACTLY}],
    "constraints": [{"requests": ["r"], "matchAttribute": "gpu.example.com/numa"}],
    "config": [{"requests": ["r"], "opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}],
}
DEVICE = {
    "attributes": {"model": {"string": "a"}, "numa": {"int": 1}, "ok": {"bool": True},
                   "driver": {"version": "1.2.3"}, "other.io/list": {"strings": ["a", "b"]}},
    "capacity": {"memory": {"value": "80Gi"},
                 "cores": {"value": "100", "requestPolicy": {"default": "10", "validValues": ["10", "20"]}}},
    "consumesCounters": [{"counterSet": "set", "counters": {"mem": {"value": "1Gi"}}}],
    "taints": [{"key": "ex.io/t", "value": "v", "effect": "NoSchedule", "timeAdded": TIME}],
    "allowMultipleAllocations": True, "bindsToNode": True, "bindingConditions": ["ex.io/ready"],
    "bindingFailureConditions": ["ex.io/failed"],
}
POOL = {"name": "pool", "generation": 1, "resourceSliceCount": 2}
SLICE = {"driver": "gpu.example.com", "nodeName": "node-1", "pool": POOL,
         "devices": [{"name": "gpu-0", **DEVICE}, {"name": "gpu-1"}]}
OLD_SLICE = {"driver": "gpu.example.com", "nodeName": "node-1", "pool": POOL,
             "devices": [{"name": "gpu-0", "basic": DEVICE}]}
SHARED_SLICE = {"driver": "gpu.example.com", "allNodes": True, "pool": POOL,
                "sharedCounters": [{"name": "set", "counters": {"mem": {"value": "80Gi"}}}]}
CLASS = {"selectors": [CEL], "config": [{"opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}],
         "extendedResourceName": "gpu.example.com/gpu"}
TAINT_RULE = {"deviceSelector": {"driver": "gpu.example.com", "pool": "p", "device": "d"},
              "taint": {"key": "ex.io/t", "value": "v", "effect": "NoExecute", "timeAdded": TIME}}

SUBJECTS = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"},
            {"kind": "ServiceAccount", "name": "sa", "namespace": "parity"}]
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"], "resourceNames": ["p"]}]
POLICY_RULE = {"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"],
               "resources": ["deployments"], "scope": "*"}
WEBHOOK = {"name": "a.ex.io", "rules": [POLICY_RULE], "clientConfig": {"service": {
    "namespace": "n", "name": "s", "path": "/p", "port": 443}}, "failurePolicy": "Ignore",
    "sideEffects": "None", "timeoutSeconds": 5, "admissionReviewVersions": ["v1"], "matchPolicy": "Exact",
    "namespaceSelector": {"matchLabels": {"never": "never"}}, "matchConditions": [
        {"name": "c", "expression": "true"}]}
METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {
    "type": "Utilization", "averageUtilization": 50}}}

EVENT = {"involvedObject": REFERENCE, "reason": "Why", "message": "what", "type": "Normal", "count": 2,
         "source": {"component": "c", "host": "h"}, "firstTimestamp": TIME, "lastTimestamp": TIME,
         "reportingComponent": "ex.io/c", "reportingInstance": "i"}
NEW_EVENT = {"regarding": REFERENCE, "reason": "Why", "note": "what", "type": "Normal", "action": "Doing",
             "eventTime": MICRO_TIME, "reportingController": "ex.io/c", "reportingInstance": "i",
             "series": {"count": 2, "lastObservedTime": MICRO_TIME}}
SERVICE = {"selector": {"app": "a"}, "type": "ClusterIP", "sessionAffinity": "ClientIP",
           "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10}},
           "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP",
                      "appProtocol": "ex.io/p"}, {"name": "dns", "port": 53, "protocol": "UDP"}],
           "externalIPs": ["1.2.3.4"], "internalTrafficPolicy": "Cluster", "publishNotReadyAddresses": True,
           "ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}
NODE = {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"], "providerID": "p://1",
                 "unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110", "ex.io/gpu": "2"},
                   "allocatable": {"cpu": "4", "memory": "8Gi"},
                   "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "m"}],
                   "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
         "storageClassName": "fast", "volumeMode": "Filesystem", "selector": SELECTOR,
         "volumeName": "v"}
VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
          "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
          "csi": {"driver": "ex.io", "volumeHandle": "h", "fsType": "ext4", "volumeAttributes": {"a": "1"}},
          "claimRef": {"namespace": "parity", "name": "c", "apiVersion": "v1",
                       "kind": "PersistentVolumeClaim"},
          "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [REQUIREMENT]}]}},
          "mountOptions": ["ro"]}
DEPLOYMENT = {"replicas": 2, "selector": SELECTOR, "template": template(SMALL_POD_SPEC),
              "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1,
                                                                      "maxUnavailable": "25%"}},
              "minReadySeconds": 1, "revisionHistoryLimit": 3, "progressDeadlineSeconds": 60,
              "paused": True}
STATEFUL_SET = {"replicas": 2, "selector": SELECTOR, "template": template(SMALL_POD_SPEC),
                "serviceName": "s", "podManagementPolicy": "Parallel", "revisionHistoryLimit": 3,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
                "minReadySeconds": 1, "ordinals": {"start": 1},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}
DAEMON_SET = {"selector": SELECTOR, "template": template(SMALL_POD_SPEC), "minReadySeconds": 1,
              "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}}
REPLICA_SET = {"replicas": 2, "selector": SELECTOR, "template": template(SMALL_POD_SPEC),
               "minReadySeconds": 1}
JOB = {"parallelism": 2, "completions": 3, "completionMode": "Indexed", "backoffLimit": 2,
       "activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 60, "suspend": True,
       "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {
           "containerName": "c", "operator": "In", "values": [1, 2]}}]},
       "podReplacementPolicy": "Failed", "backoffLimitPerIndex": 1, "maxFailedIndexes": 2,
       "template": template(JOB_POD_SPEC)}
CRON_JOB = {"schedule": "*/5 * * * *", "timeZone": "Etc/UTC", "startingDeadlineSeconds": 60,
            "concurrencyPolicy": "Forbid", "suspend": True, "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1, "jobTemplate": {"spec": {"template": template(JOB_POD_SPEC)}}}
HPA = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "minReplicas": 1,
       "maxReplicas": 3, "metrics": [METRIC], "behavior": {"scaleDown": {
           "stabilizationWindowSeconds": 5, "policies": [
               {"type": "Pods", "value": 1, "periodSeconds": 5}]}}}
INGRESS = {"ingressClassName": "c", "tls": [{"hosts": ["a.b"], "secretName": "s"}], "rules": [
    {"host": "a.b", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {
        "service": {"name": "s", "port": {"number": 80}}}}]}}]}
PORT = {"protocol": "TCP", "port": 80, "endPort": 90}
PEERS = [{"podSelector": SELECTOR}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]
NETWORK_POLICY = {"podSelector": SELECTOR, "policyTypes": ["Ingress", "Egress"],
                  "ingress": [{"from": PEERS, "ports": [PORT]}], "egress": [{"to": PEERS, "ports": [PORT]}]}
POD_GROUP = {"schedulingPolicy": {"gang": {"minCount": 2}}}
WORKLOAD = {"podGroupTemplates": [{"name": "g", "schedulingPolicy": {"gang": {"minCount": 2}}},
                                  {"name": "h", "schedulingPolicy": {"basic": {}}}]}
ATTRIBUTES = {"namespace": "parity", "verb": "get", "group": "", "version": "v1", "resource": "pods",
              "name": "p"}

# (group, version or "" for all, plural): the body without apiVersion, kind and name.
SEEDS = {
    ("", "v1", "configmaps"): {"data": {"a": "1", "b.c": "2"}, "binaryData": {"bin": "AA=="},
                               "immutable": False},
    ("", "v1", "endpoints"): {"subsets": [{"addresses": [{"ip": "1.2.3.4", "nodeName": "n",
                                                          "targetRef": REFERENCE}],
                                           "ports": [{"name": "p", "port": 80, "protocol": "TCP"}]}]},
    ("", "v1", "events"): EVENT,
    ("", "v1", "limitranges"): {"spec": {"limits": [{
        "type": "PersistentVolumeClaim", "max": {"storage": "1Ti"}, "min": {"storage": "1"}}]}},
    ("", "v1", "namespaces"): {},
    ("", "v1", "nodes"): NODE,
    ("", "v1", "persistentvolumeclaims"): {"spec": CLAIM},
    ("", "v1", "persistentvolumes"): {"spec": VOLUME},
    ("", "v1", "pods"): {"spec": POD_SPEC},
    ("", "v1", "podtemplates"): {"template": template(SMALL_POD_SPEC)},
    ("", "v1", "replicationcontrollers"): {"spec": {"replicas": 1, "selector": {"app": "a"},
                                                    "template": template(SMALL_POD_SPEC),
                                                    "minReadySeconds": 1}},
    ("", "v1", "resourcequotas"): {"spec": {"hard": {"count/ingresses.ex.io": "1"}}},
    ("", "v1", "secrets"): {"data": {"a": "AA=="}, "stringData": {"b": "x"}, "type": "Opaque",
                            "immutable": False},
    ("", "v1", "serviceaccounts"): {"secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "s"}],
                                    "automountServiceAccountToken": True},
    ("", "v1", "services"): {"spec": SERVICE},
    ("apps", "v1", "controllerrevisions"): {"data": {"a": 1}, "revision": 1},
    ("apps", "v1", "daemonsets"): {"spec": DAEMON_SET},
    ("apps", "v1", "deployments"): {"spec": DEPLOYMENT},
    ("apps", "v1", "replicasets"): {"spec": REPLICA_SET},
    ("apps", "v1", "statefulsets"): {"spec": STATEFUL_SET},
    ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"): {"webhooks": [WEBHOOK]},
    ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations"): {
        "webhooks": [{**WEBHOOK, "reinvocationPolicy": "Never"}]},
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews"): {"spec": {"resourceAttributes": ATTRIBUTES}},
    ("authorization.k8s.io", "v1", "subjectaccessreviews"): {"spec": {
        "resourceAttributes": ATTRIBUTES, "user": "rig-admin", "groups": ["system:masters"]}},
    ("authorization.k8s.io", "v1", "localsubjectaccessreviews"): {"spec": {
        "resourceAttributes": ATTRIBUTES, "user": "rig-admin", "groups": ["system:masters"]}},
    ("authentication.k8s.io", "v1", "tokenreviews"): {"spec": {"token": "none", "audiences": ["a"]}},
    ("autoscaling", "v2", "horizontalpodautoscalers"): {"spec": HPA},
    ("autoscaling", "v1", "horizontalpodautoscalers"): {"spec": {
        "scaleTargetRef": HPA["scaleTargetRef"], "minReplicas": 1, "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 50}},
    ("batch", "v1", "jobs"): {"spec": JOB},
    ("batch", "v1", "cronjobs"): {"spec": CRON_JOB},
    ("coordination.k8s.io", "v1", "leases"): {"spec": {
        "holderIdentity": "h", "leaseDurationSeconds": 15, "acquireTime": MICRO_TIME, "renewTime": MICRO_TIME,
        "leaseTransitions": 1, "strategy": "OldestEmulationVersion", "preferredHolder": "p"}},
    ("coordination.k8s.io", "", "leasecandidates"): {"spec": {
        "leaseName": "l", "pingTime": MICRO_TIME, "renewTime": MICRO_TIME, "binaryVersion": "1.37.0",
        "emulationVersion": "1.37.0", "strategy": "OldestEmulationVersion"}},
    ("discovery.k8s.io", "v1", "endpointslices"): {
        "addressType": "IPv4", "ports": [{"name": "p", "port": 80, "protocol": "TCP"}],
        "endpoints": [{"addresses": ["1.2.3.4"], "conditions": {"ready": True}, "hostname": "h",
                       "nodeName": "n", "zone": "z", "targetRef": REFERENCE}]},
    ("events.k8s.io", "v1", "events"): NEW_EVENT,
    ("networking.k8s.io", "v1", "ingressclasses"): {"spec": {"controller": "ex.io/c", "parameters": {
        "apiGroup": "ex.io", "kind": "K", "name": "n", "scope": "Cluster"}}},
    ("networking.k8s.io", "v1", "ingresses"): {"spec": INGRESS},
    ("networking.k8s.io", "v1", "networkpolicies"): {"spec": NETWORK_POLICY},
    ("node.k8s.io", "v1", "runtimeclasses"): {"handler": "h", "overhead": {"podFixed": {"cpu": "1"}},
                                              "scheduling": {"nodeSelector": {"a": "1"}, "tolerations": [
                                                  {"key": "k", "operator": "Exists"}]}},
    ("policy", "v1", "poddisruptionbudgets"): {"spec": {
        "minAvailable": 1, "selector": SELECTOR, "unhealthyPodEvictionPolicy": "AlwaysAllow"}},
    ("rbac.authorization.k8s.io", "v1", "clusterrolebindings"): {"subjects": SUBJECTS, "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}},
    ("rbac.authorization.k8s.io", "v1", "clusterroles"): {"rules": RULES},
    ("rbac.authorization.k8s.io", "v1", "rolebindings"): {"subjects": SUBJECTS, "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}},
    ("rbac.authorization.k8s.io", "v1", "roles"): {"rules": RULES},
    ("resource.k8s.io", "", "deviceclasses"): {"spec": CLASS},
    ("resource.k8s.io", "", "devicetaintrules"): {"spec": TAINT_RULE},
    ("resource.k8s.io", "", "resourceclaims"): {"spec": {"devices": DEVICES}},
    ("resource.k8s.io", "v1beta1", "resourceclaims"): {"spec": {"devices": OLD_DEVICES}},
    ("resource.k8s.io", "", "resourceclaimtemplates"): {"spec": {
        "metadata": {"labels": {"a": "1"}}, "spec": {"devices": DEVICES}}},
    ("resource.k8s.io", "v1beta1", "resourceclaimtemplates"): {"spec": {"spec": {"devices": OLD_DEVICES}}},
    ("resource.k8s.io", "", "resourceslices"): {"spec": SLICE},
    ("resource.k8s.io", "v1beta2", "resourceslices"): {"spec": SHARED_SLICE},
    ("resource.k8s.io", "v1beta1", "resourceslices"): {"spec": OLD_SLICE},
    ("resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests"): {"spec": {
        "driver": "gpu.example.com", "poolName": "p", "limit": 10}},
    ("scheduling.k8s.io", "v1", "priorityclasses"): {"value": 100, "globalDefault": False,
                                                     "description": "d", "preemptionPolicy": "Never"},
    ("scheduling.k8s.io", "", "podgroups"): {"spec": POD_GROUP},
    ("scheduling.k8s.io", "", "workloads"): {"spec": WORKLOAD},
    ("storage.k8s.io", "v1", "csidrivers"): {"spec": {
        "attachRequired": False, "podInfoOnMount": True, "fsGroupPolicy": "File", "storageCapacity": True,
        "volumeLifecycleModes": ["Persistent"], "tokenRequests": [{"audience": "a",
                                                                   "expirationSeconds": 3600}]}},
    ("storage.k8s.io", "v1", "csinodes"): {"spec": {"drivers": [{
        "name": "ex.io", "nodeID": "n", "topologyKeys": ["zone"], "allocatable": {"count": 5}}]}},
    ("storage.k8s.io", "v1", "csistoragecapacities"): {
        "storageClassName": "fast", "capacity": "1Gi", "maximumVolumeSize": "1Gi",
        "nodeTopology": {"matchLabels": {"zone": "a"}}},
    ("storage.k8s.io", "v1", "storageclasses"): {
        "provisioner": "ex.io/p", "parameters": {"a": "1"}, "reclaimPolicy": "Retain",
        "allowVolumeExpansion": True, "volumeBindingMode": "WaitForFirstConsumer", "mountOptions": ["ro"],
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]},
    ("storage.k8s.io", "v1", "volumeattachments"): {"spec": {
        "attacher": "ex.io", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
    ("storage.k8s.io", "v1", "volumeattributesclasses"): {"driverName": "ex.io", "parameters": {"a": "1"}},
}
NAMES = {"csidrivers": "ex.io", "endpointslices": "a-slice"}  # where the name has a form of its own


def seed_of(group, version, plural):
    """The body of a valid object, or None for a kind without a seed."""
    found = SEEDS.get((group, version, plural))
    return SEEDS.get((group, "", plural)) if found is None else found
