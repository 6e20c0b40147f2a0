"""The requests that both servers get: a chapter for each kind, and one about paths, methods and bodies.

Everything follows from the seeds (seeds.py), the schemas and the discovery of the server: the same list each
time. Most of what may be refused is a dry run, so that no answer depends on an earlier difference.
"""
import copy
import json
import random
import urllib.parse
from dataclasses import dataclass, field

import changes
import seeds

SPACE = "parity"
CREATES_MAX, LACKING_MAX, UPDATES_MAX, STATUS_MAX = 150, 90, 60, 30
LARGE = {"pods": 4}  # kinds whose validation is wide get so many times more
APPLY, MERGE, STRATEGIC, JSON_PATCH, JSON, YAML = (
    "application/apply-patch+yaml", "application/merge-patch+json", "application/strategic-merge-patch+json",
    "application/json-patch+json", "application/json", "application/yaml")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@dataclass
class Request:
    """`path` may hold {rv}, {uid}, {first}, {continue}; `body` may be made of the object as answered."""
    label: str
    verb: str
    path: str
    body: object = None
    content: str = JSON
    accept: str = JSON
    keeps: bool = False   # the answer is the object that later requests build on
    first: bool = False   # the answer's version is {first}
    watch: bool = False


@dataclass
class Kind:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple
    subresources: tuple = field(default_factory=tuple)

    @property
    def api_version(self):
        return (self.group + "/" if self.group else "") + self.version

    @property
    def label(self):
        return "%s.%s.%s" % (self.plural, self.version, self.group or "core")

    def root(self):
        return "/apis/%s/%s" % (self.group, self.version) if self.group else "/api/" + self.version

    def collection(self, space=SPACE):
        return self.root() + ("/namespaces/" + space if self.namespaced and space else "") + "/" + self.plural


def kinds_of(fetch):
    """What a server's discovery lists."""
    group_versions = ["/api/v1"] + sorted(
        "/apis/" + version["groupVersion"] for group in fetch("/apis")["groups"]
        for version in group["versions"])
    for root in group_versions:
        listed = fetch(root)["resources"]
        group, _, version = root.removeprefix("/apis/").rpartition("/")
        for row in listed:
            if "/" not in row["name"]:
                below = tuple(sorted(other["name"].split("/", 1)[1] for other in listed
                                     if other["name"].startswith(row["name"] + "/")))
                yield Kind("" if root == "/api/v1" else group, version, row["name"], row["kind"],
                           row["namespaced"], tuple(row["verbs"]), below)


def drawn(rng, every, most):
    every = list(every)
    return every if len(every) <= most else [every[n] for n in sorted(rng.sample(range(len(every)), most))]


def with_spec_of(seen, body):
    """The object as it is, with the members of `body`."""
    kept = copy.deepcopy(seen)
    given = body.get("metadata", {})
    metadata = {**kept.get("metadata", {}), **given} if isinstance(given, dict) else given
    return {**kept, **body, "metadata": metadata}


class Chapter:
    """The requests about one kind."""

    def __init__(self, kind, schemas, seed):
        self.kind, self.schemas = kind, schemas
        self.rng = random.Random("%s %d" % (kind.label, seed))
        self.seed = seeds.seed_of(kind.group, kind.version, kind.plural)
        # Versions and groups may be views of the same objects: each chapter has names and a label of its own.
        views = "-".join(filter(None, ("a", kind.version, kind.group.split(".")[0])))
        self.name = seeds.NAMES.get(kind.plural, views)
        self.mark = "labelSelector=parity%3D" + kind.label
        self.collection = kind.collection()
        self.path = self.collection + "/" + self.name
        self.times = LARGE.get(kind.plural, 1)

    def object(self, name=None, **metadata):
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind,
                "metadata": self.metadata(name or self.name, metadata), **copy.deepcopy(self.seed)}

    def metadata(self, name, more):
        """Reviews are not stored: they have none."""
        if "get" not in self.kind.verbs:
            return more
        return {"name": name, "labels": {"parity": self.kind.label, "n": name}, **more}

    def requests(self):
        if "create" in self.kind.verbs and "get" not in self.kind.verbs:
            yield from self.creates()
            return
        for part in (self.creates, self.writes, self.reads, self.updates, self.patches, self.applies,
                     self.statuses, self.deletes):
            yield from part()

    # Creates

    def all_changes(self, body):
        every = [change for path, value in changes.paths_of({key: value for key, value in body.items()})
                 for change in changes.of_field(body, path, value)]
        return drawn(self.rng, every, CREATES_MAX * self.times)

    def lacking(self, body):
        schema = self.schemas.of_kind(self.kind.group, self.kind.version, self.kind.kind)
        if not schema:
            return []
        found = changes.Lacking(self.schemas, self.kind.group, self.kind.version).changes(body, schema)
        return drawn(self.rng, found, LACKING_MAX * self.times)

    def creates(self):
        body, dry = self.object(), self.collection + "?dryRun=All"
        if "get" not in self.kind.verbs:
            dry = self.collection
        yield Request("create valid", "POST", dry, body)
        for validation in ("Strict", "Ignore", "Warn", "Bad"):
            with_query = dry + ("&" if "?" in dry else "?") + "fieldValidation=" + validation
            yield Request("create unknown field " + validation, "POST", with_query, {**body, "unheardOf": {}})
        for label, made in self.all_changes(body) + self.lacking(body):
            yield Request("create " + label, "POST", dry, made)
        for label, metadata in METADATA:
            yield Request("create metadata " + label, "POST", dry,
                          {**body, "metadata": {**body["metadata"], **metadata}})

    def writes(self):
        """The objects that the rest reads and changes."""
        yield Request("write first", "POST", self.collection, self.object(), keeps=True, first=True)
        for name in ("b", "c", "d"):
            yield Request("write " + name, "POST", self.collection, self.object(other_name(self.name, name)))
        yield Request("write again", "POST", self.collection, self.object())
        generated = self.object()
        generated["metadata"] = {"generateName": "gen-", "labels": {"gen": "gen"}}
        yield Request("write generated", "POST", self.collection + "?dryRun=All", generated)

    # Reads

    def reads(self):
        mark = self.mark
        if "list" not in self.kind.verbs:
            return
        for accept, form in ((JSON, "json"), (TABLE, "table"), (PARTIAL, "partial"), ("text/html", "html"),
                             (TABLE + "," + JSON, "table-or-json"), ("*/*", "any"), (YAML, "yaml"),
                             ("application/json;as=Table;v=v2;g=meta.k8s.io", "table-v2")):
            yield Request("get as " + form, "GET", self.path, accept=accept)
            list_accept = PARTIAL_LIST if form == "partial" else accept
            yield Request("list as " + form, "GET", self.collection + "?" + mark, accept=list_accept)
        for include in ("None", "Metadata", "Object", "Bad"):
            yield Request("table with " + include, "GET", "%s?%s&includeObject=%s" %
                          (self.collection, mark, include), accept=TABLE)
        for query in GET_QUERIES:
            yield Request("get " + query, "GET", self.path + "?" + query)
        for query in LIST_QUERIES:
            yield Request("list " + query, "GET", "%s?%s&%s" % (self.collection, mark, query))
        for selector in LABEL_SELECTORS:
            yield Request("list label " + selector, "GET", "%s?labelSelector=%s" % (
                self.collection, urllib.parse.quote("parity=%s,%s" % (self.kind.label, selector))))
        for selector in FIELD_SELECTORS:
            yield Request("list field " + selector, "GET", "%s?%s&fieldSelector=%s" % (
                self.collection, mark, urllib.parse.quote(selector % {"name": self.name})))
        yield Request("page 1", "GET", self.collection + "?limit=2&" + mark)
        yield Request("page 2", "GET", self.collection + "?limit=1&" + mark + "&continue={continue}")
        yield Request("page 3", "GET", self.collection + "?limit=5&" + mark + "&continue={continue}")
        if self.kind.namespaced:
            yield Request("list everywhere", "GET", self.kind.collection("") + "?" + mark)
            yield Request("list nowhere", "GET", self.kind.collection("no-such-space"))
            yield Request("create nowhere", "POST", self.kind.collection("no-such-space"), self.object())
            yield Request("create elsewhere", "POST", self.collection, self.object(namespace="other"))
        yield Request("get absent", "GET", self.collection + "/absent")
        for form in (TABLE, PARTIAL):
            yield Request("get absent as " + form, "GET", self.collection + "/absent", accept=form)

    def watches(self):
        mark = self.collection + "?watch=1&timeoutSeconds=1&" + self.mark
        yield Request("watch from first", "GET", mark + "&resourceVersion={first}", watch=True)
        yield Request("watch with bookmarks", "GET",
                      mark + "&resourceVersion={first}&allowWatchBookmarks=true"
                      "&fieldSelector=metadata.name%3D" + self.name, watch=True)
        for query in WATCH_QUERIES:
            yield Request("watch " + query, "GET", "%s?watch=1&timeoutSeconds=1&%s" % (
                self.collection, query), watch=True)

    # Updates

    def updates(self):
        """One-field changes of the object as it is."""
        if "update" not in self.kind.verbs:
            return
        dry, body = self.path + "?dryRun=All", self.object()
        yield Request("update same", "PUT", self.path, lambda seen: seen, keeps=True)
        every = [change for path, value in changes.paths_of(body)
                 for change in changes.of_field(body, path, value)]
        for label, made in drawn(self.rng, every, UPDATES_MAX * self.times):
            yield Request("update " + label, "PUT", dry, put(made))
        for label, metadata in METADATA_UPDATES:
            yield Request("update metadata " + label, "PUT", dry, put({"metadata": metadata}))
        yield Request("update absent", "PUT", self.collection + "/absent?dryRun=All", self.object("absent"))
        yield Request("update other name", "PUT", self.collection + "/absent?dryRun=All", put({}))
        for query in ("fieldValidation=Strict", "fieldValidation=x", "fieldManager=" + "m" * 129, "dryRun=x",
                      "dryRun=All&dryRun=All", "pretty=true"):
            yield Request("update with " + query[:30], "PUT", dry + "&" + query, put({"unheardOf": 1}))
        for yaml in ("a: [", "a: b: c", "- x", "{}", "", "kind: X\n---\nkind: Y", "\t- a"):
            yield Request("update yaml %r" % yaml, "PUT", dry, yaml, content=YAML)

    def patches(self):
        if "patch" not in self.kind.verbs:
            return
        dry = self.path + "?dryRun=All"
        for content, form in ((MERGE, "merge"), (STRATEGIC, "strategic")):
            for label, patch in MERGE_PATCHES:
                yield Request("%s %s" % (form, label), "PATCH", dry, patch, content)
        for label, patch in JSON_PATCHES:
            yield Request("json patch " + label, "PATCH", dry, patch, JSON_PATCH)
        for content in (JSON, "text/plain", "", "application/merge-patch+yaml",
                        "application/json-patch+json;x=y"):
            yield Request("patch as " + content, "PATCH", dry, {"metadata": {}}, content)
        yield Request("patch absent", "PATCH", self.collection + "/absent", {"metadata": {}}, MERGE)
        top = next(iter(self.seed), "spec")
        for form in (MERGE, STRATEGIC):
            for number, value in enumerate((None, {}, [], "x", 1)):
                yield Request("%s %s of value %d" % (form[12:17], top, number), "PATCH", dry, {top: value},
                              form)
        every = [(path, value) for path, value in changes.paths_of(self.seed)]
        for path, value in drawn(self.rng, every, 30):
            pointer = "/" + "/".join(str(key).replace("~", "~0").replace("/", "~1") for key in path)
            for op in ({"op": "remove"}, {"op": "replace", "value": 1}, {"op": "test", "value": value},
                       {"op": "add", "value": None}):
                yield Request("json patch %s %s" % (op["op"], changes.spelled(path)), "PATCH", dry,
                              [{**op, "path": pointer}], JSON_PATCH)

    def applies(self):
        if "patch" not in self.kind.verbs:
            return
        body, dry = self.object(), self.path + "?dryRun=All&fieldManager=m1"
        yield Request("apply same", "PATCH", dry, body, APPLY)
        yield Request("apply forced", "PATCH", dry + "&force=true", body, APPLY)
        yield Request("apply without manager", "PATCH", self.path + "?dryRun=All", body, APPLY)
        yield Request("apply absent", "PATCH", self.collection + "/absent?dryRun=All&fieldManager=m1",
                      self.object("absent"), APPLY)
        yield Request("apply other name", "PATCH", dry, self.object("x"), APPLY)
        yield Request("apply nothing", "PATCH", dry, {}, APPLY)
        yield Request("apply managed", "PATCH", dry, self.object(managedFields=[]), APPLY)
        yield Request("apply version", "PATCH", dry, self.object(resourceVersion="1"), APPLY)
        every = [change for path, value in changes.paths_of(body)
                 for change in changes.of_field(body, path, value)]
        for label, made in drawn(self.rng, every, 30):
            yield Request("apply " + label, "PATCH", dry + "&force=true", made, APPLY)

    def statuses(self):
        if "status" not in self.kind.subresources:
            return
        dry = self.path + "/status?dryRun=All"
        yield Request("get status", "GET", self.path + "/status")
        schema = self.schemas.of_kind(self.kind.group, self.kind.version, self.kind.kind)
        body = {**self.object(), "status": {}}
        below = self.schemas.resolved(self.kind.group, self.kind.version, schema)["properties"].get("status")
        if below:
            found = changes.Lacking(self.schemas, self.kind.group, self.kind.version).changes(
                body, below, ("status",))
            for label, made in drawn(self.rng, found, STATUS_MAX):
                yield Request("status " + label, "PUT", dry, put({"status": made["status"]}))
                yield Request("status merge " + label, "PATCH", dry, {"status": made["status"]}, MERGE)
        for label, body in (("other part", {"spec": {}, "metadata": {"labels": {"x": "y"}}}),
                            ("null", {"status": None}),
                            ("text", {"status": "x"}), ("unknown", {"status": {"unheardOf": 1}})):
            yield Request("status patch " + label, "PATCH", dry, body, MERGE)

    def deletes(self):
        if "delete" not in self.kind.verbs:
            return
        for label, body in DELETE_OPTIONS:
            if isinstance(body, dict):  # a body counts instead of the query
                body = {"dryRun": ["All"], **body}
            yield Request("delete %s" % label, "DELETE", self.path + "?dryRun=All", body)
        for query in DELETE_QUERIES:
            yield Request("delete with " + query, "DELETE", self.path + "?dryRun=All&" + query)
        yield Request("delete absent", "DELETE", self.collection + "/absent")
        yield from self.watches()
        if "deletecollection" in self.kind.verbs:
            some = self.collection + "?labelSelector=n%3D" + other_name(self.name, "d")
            yield Request("delete some, dry", "DELETE", some + "&dryRun=All")
            yield Request("delete some", "DELETE", some)
            yield Request("delete none", "DELETE", self.collection + "?labelSelector=n%3Dnone")
            yield Request("delete bad selector", "DELETE", self.collection + "?labelSelector=,,")
        yield Request("delete b", "DELETE", self.collection + "/" + other_name(self.name, "b"),
                      {"propagationPolicy": "Background"})
        yield Request("delete c", "DELETE", self.collection + "/" + other_name(self.name, "c") +
                      "?gracePeriodSeconds=0")
        yield Request("delete", "DELETE", self.path, {"gracePeriodSeconds": 0})
        yield Request("get deleted", "GET", self.path)
        if "deletecollection" in self.kind.verbs:
            yield Request("delete all", "DELETE", self.collection + "?gracePeriodSeconds=0&" + self.mark)


def other_name(name, suffix):
    """One that sorts behind it: a-v1 gives b-v1, ex.io b.ex.io."""
    return suffix + name[1:] if name.startswith("a") else suffix + "." + name


def put(body):
    return lambda seen: with_spec_of(seen, body)


GET_QUERIES = ("pretty=true", "resourceVersion=0", "resourceVersion=x", "resourceVersion=1",
               "resourceVersion={rv}",
               "exact=true", "timeout=x", "timeout=1s", "unheardOf=1",
               "fieldSelector=metadata.name%3Dx", "resourceVersionMatch=Exact")
LIST_QUERIES = ("limit=0", "limit=-1", "limit=x", "continue=x", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
                "limit=2",
                "resourceVersion=0", "resourceVersion=x", "resourceVersion=-1", "resourceVersion={rv}",
                "resourceVersion=99999999999", "resourceVersionMatch=Exact", "resourceVersionMatch=x",
                "resourceVersion=0&resourceVersionMatch=Exact",
                "resourceVersion={rv}&resourceVersionMatch=Exact",
                "resourceVersion={rv}&resourceVersionMatch=NotOlderThan",
                "resourceVersion=0&resourceVersionMatch="
                "NotOlderThan", "resourceVersionMatch=NotOlderThan", "sendInitialEvents=true",
                "timeoutSeconds=x",
                "allowWatchBookmarks=x", "watch=x&timeoutSeconds=1", "watch=false", "pretty=1", "unheardOf=1",
                "sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "limit=1&resourceVersion=0",
                "continue=x&resourceVersion={rv}")
WATCH_QUERIES = ("resourceVersion=x",
                 "sendInitialEvents=true", "sendInitialEvents=x",
                 "sendInitialEvents=true&resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan",
                 "labelSelector=,", "fieldSelector=a", "fieldSelector=spec.none%3Dx",
                 "limit=1&fieldSelector=a")
LABEL_SELECTORS = ("n", "!n", "n=a", "n!=a", "n==b", "n in (a,b)", "n notin (a)", "n in ()", "n>1", "n<x",
                   "n=a,n=b",
                   "=a", "n in a", "a b", "n=(", "bad key=1", "n=bad value!", "x/y/z=1", "n in (a", ",", "n=",
                   "-n=a", "ex.io/a=b", "n exists", "N=a")
FIELD_SELECTORS = ("metadata.name=%(name)s", "metadata.name!=%(name)s", "metadata.name==%(name)s",
                   "metadata.namespace=parity", "metadata.namespace=other", "metadata.uid=x", "spec.none=x",
                   "a",
                   "metadata.name", "=x", "metadata.name=a,metadata.name=b", "metadata.name=\\",
                   "status.phase=Running",
                   "spec.nodeName=", "type=Opaque", "reason=Why", "metadata.labels.a=b")
METADATA = (("no name", {"name": ""}), ("bad name", {"name": "Bad_Name!"}),
            ("long name", {"name": "a" * 254}),
            ("name 253", {"name": "a" * 253}), ("name 64", {"name": "a" * 64}), ("dots", {"name": "a.b"}),
            ("name with slash", {"name": "a/b"}), ("name ..", {"name": ".."}), ("name %", {"name": "a%b"}),
            ("generate", {"name": "", "generateName": "gen-"}),
            ("bad generate", {"name": "", "generateName": "Bad_"}),
            ("digit first", {"name": "1a"}), ("upper label", {"labels": {"A_b": "C"}}),
            ("name a-", {"name": "a-"}),
            ("bad label key", {"labels": {"bad key": "x"}}), ("bad label value",
                                                              {"labels": {"a": "bad value!"}}),
            ("long label", {"labels": {"a": "a" * 64}}), ("label number", {"labels": {"a": 1}}),
            ("bad annotation", {"annotations": {"bad key": "x"}}),
            ("large annotation", {"annotations": {"a": "a" * 262145}}),
            ("annotations null", {"annotations": None}), ("labels list", {"labels": []}),
            ("finalizer", {"finalizers": ["ex.io/f"]}), ("bad finalizer", {"finalizers": ["f g"]}),
            ("plain finalizer", {"finalizers": ["f"]}),
            ("finalizers twice", {"finalizers": ["ex.io/f", "ex.io/f"]}),
            ("both orphan and foreground", {"finalizers": ["orphan", "foregroundDeletion"]}),
            ("owner", {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}),
            ("owner without uid", {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}),
            ("owner without kind", {"ownerReferences": [{"apiVersion": "v1", "name": "p", "uid": "u"}]}),
            ("owner without anything", {"ownerReferences": [{}]}),
            ("owner event", {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "p",
                                                  "uid": "u"}]}),
            ("owner version", {"ownerReferences": [{"apiVersion": "a/b/c", "kind": "Pod", "name": "p",
                                                    "uid": "u"}]}),
            ("two controllers", {"ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True},
                {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "v", "controller": True}]}),
            ("version", {"resourceVersion": "1"}), ("version x", {"resourceVersion": "x"}),
            ("uid", {"uid": "u"}),
            ("generation", {"generation": 7}), ("created", {"creationTimestamp": seeds.TIME}),
            ("created bad", {"creationTimestamp": "yesterday"}), ("deleted",
                                                                  {"deletionTimestamp": seeds.TIME}),
            ("grace", {"deletionGracePeriodSeconds": 3}), ("self link", {"selfLink": "/x"}),
            ("managed", {"managedFields": [{"manager": "m", "operation": "Bad"}]}),
            ("managed version", {"managedFields": [{"manager": "m", "operation": "Update",
                                                    "fieldsType": "X"}]}),
            ("namespace", {"namespace": "elsewhere"}), ("name number", {"name": 7}),
            ("unknown", {"unheardOf": 1}))
METADATA_UPDATES = (("name", {"name": "z"}), ("uid", {"uid": "other"}), ("version", {"resourceVersion": "1"}),
                    ("version x", {"resourceVersion": "x"}), ("no version", {"resourceVersion": ""}),
                    ("namespace", {"namespace": "elsewhere"}), ("created", {"creationTimestamp": seeds.TIME}),
                    ("deleted", {"deletionTimestamp": seeds.TIME}), ("generation", {"generation": 99}),
                    ("labels", {"labels": {"x": "y"}}), ("bad labels", {"labels": {"x": "y z"}}),
                    ("finalizers", {"finalizers": ["ex.io/f"]}), ("bad finalizers", {"finalizers": ["f g"]}),
                    ("owner", {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}),
                    ("annotations", {"annotations": {"a": "b"}}), ("grace",
                                                                   {"deletionGracePeriodSeconds": 9}),
                    ("managed", {"managedFields": [{}]}), ("generate", {"generateName": "x"}))
MERGE_PATCHES = (
    ("nothing", {}), ("label", {"metadata": {"labels": {"x": "y"}}}),
    ("no label", {"metadata": {"labels": None}}),
    ("bad label", {"metadata": {"labels": {"x": "y z"}}}), ("list", [1]), ("text", "x"), ("number", 1),
    ("null", None), ("name", {"metadata": {"name": "z"}}), ("no name", {"metadata": {"name": None}}),
    ("uid", {"metadata": {"uid": "z"}}), ("version", {"metadata": {"resourceVersion": "1"}}),
    ("kind", {"kind": "Other"}), ("version of api", {"apiVersion": "v9"}),
    ("metadata text", {"metadata": "x"}),
    ("metadata null", {"metadata": None}), ("unknown", {"unheardOf": 1}),
    ("label number", {"metadata": {"labels": {"x": 1}}}),
    ("directive", {"metadata": {"labels": {"$patch": "replace", "z": "z"}}}),
    ("bad directive", {"metadata": {"labels": {"$patch": "bad"}}}), ("retain",
                                                                     {"metadata": {"$retainKeys": ["name"]}}),
    ("finalizers", {"metadata": {"finalizers": ["ex.io/f"]}}),
    ("primitive", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["ex.io/f"]}}),
    ("order", {"metadata": {"$setElementOrder/finalizers": ["ex.io/f"], "finalizers": ["ex.io/g"]}}))
JSON_PATCHES = (
    ("nothing", []), ("object", {}), ("text", "x"), ("no op", [{"path": "/x"}]),
    ("bad op", [{"op": "x", "path": "/x"}]),
    ("no path", [{"op": "remove"}]), ("root", [{"op": "replace", "path": "", "value": {}}]),
    ("absent", [{"op": "remove", "path": "/absent"}]), ("test", [{"op": "test", "path": "/kind",
                                                                  "value": "X"}]),
    ("label", [{"op": "add", "path": "/metadata/labels/x~1y", "value": "1"}]),
    ("label number", [{"op": "add", "path": "/metadata/labels/x", "value": 1}]),
    ("deep", [{"op": "add", "path": "/a/b/c", "value": 1}]),
    ("no value", [{"op": "add", "path": "/metadata/labels/x"}]),
    ("move", [{"op": "move", "from": "/metadata/labels/n", "path": "/metadata/labels/o"}]),
    ("copy", [{"op": "copy", "from": "/metadata/labels/n", "path": "/metadata/labels/o"}]),
    ("move absent", [{"op": "move", "from": "/metadata/labels/none", "path": "/metadata/labels/o"}]),
    ("no slash", [{"op": "add", "path": "metadata", "value": {}}]),
    ("index", [{"op": "add", "path": "/metadata/managedFields/99", "value": {}}]),
    ("end", [{"op": "add", "path": "/metadata/managedFields/-", "value": {}}]),
    ("name", [{"op": "replace", "path": "/metadata/name", "value": "z"}]),
    ("kind", [{"op": "replace", "path": "/kind", "value": "Z"}]),
    ("null item", [None]), ("many", [{"op": "test", "path": "/kind", "value": "X"}] * 10001))
DELETE_OPTIONS = (
    ("plain", None), ("empty", {}), ("orphan", {"propagationPolicy": "Orphan"}),
    ("foreground", {"propagationPolicy": "Foreground"}), ("background", {"propagationPolicy": "Background"}),
    ("policy", {"propagationPolicy": "Bad"}), ("both", {"propagationPolicy": "Orphan",
                                                        "orphanDependents": True}),
    ("dependents", {"orphanDependents": True}), ("uid", {"preconditions": {"uid": "other"}}),
    ("version", {"preconditions": {"resourceVersion": "1"}}), ("grace", {"gracePeriodSeconds": 5}),
    ("negative grace", {"gracePeriodSeconds": -1}), ("grace text", {"gracePeriodSeconds": "x"}),
    ("dry run", {"dryRun": ["All"]}), ("bad dry run", {"dryRun": ["Bad"]}),
    ("dry run text", {"dryRun": "All"}),
    ("kind", {"kind": "DeleteOptions", "apiVersion": "v1"}),
    ("other kind", {"kind": "Pod", "apiVersion": "v1"}),
    ("of meta", {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}), ("unknown", {"unheardOf": 1}),
    ("list", []), ("text", "x"), ("unsafe", {"ignoreStoreReadErrorWithClusterBreakingPotential": True}))
DELETE_QUERIES = ("propagationPolicy=Orphan", "propagationPolicy=Bad", "gracePeriodSeconds=x",
                  "gracePeriodSeconds=-5",
                  "orphanDependents=x", "dryRun=Bad", "orphanDependents=true&propagationPolicy=Orphan",
                  "dryRun=")


def ways():
    """Paths, methods and bodies that fit no kind."""
    for path in ("/", "/api", "/apis", "/api/v1", "/api/v2", "/apis/apps", "/apis/apps/v1", "/apis/none",
                 "/apis/none/v1",
                 "/apis/apps/v9", "/version", "/healthz", "/livez", "/readyz", "/healthz/ping",
                 "/healthz/none", "/none",
                 "/api/v1/none", "/api/v1/namespaces/parity/none", "/api/v1/pods/x/y/z",
                 "/api/v1/namespaces/parity/pods/x/none",
                 "/api/v1/namespaces/parity/nodes", "/api/v1/pods/x", "/api/v1/watch/namespaces/none/x",
                 "/api/",
                 "/apis/", "/api/v1/", "//api/v1", "/api//v1", "/api/v1/namespaces//pods", "/api/v1/%70ods",
                 "/api/v1/namespaces/parity/configmaps/a%2Fb", "/api/v1/namespaces/parity/configmaps/%zz",
                 "/apis/apps/v1/namespaces/parity/deployments/x/scale", "/openapi", "/openapi/v2/x",
                 "/openapi/v3/none",
                 "/API/v1", "/apis/apps/v1/namespaces/parity/deployments/none/scale",
                 "/api/v1/namespaces/parity/pods/none/log",
                 "/api/v1/componentstatuses/none", "/api/v1/namespaces/none", "/apis/apps/", "/version/"):
        for verb in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
            if verb != "GET" and path in ("/api/v1/none", "/api/v1/%70ods"):
                continue
            yield Request("%s %s" % (verb, path), verb, path, None if verb == "GET" else {},
                          MERGE if verb == "PATCH" else JSON)
    maps = "/api/v1/namespaces/parity/configmaps"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "w"}, "data": {"a": "1"}}
    for content in (JSON, YAML, "", "text/plain", "application/xml", "application/json; charset=utf-8",
                    "APPLICATION/JSON",
                    "application/vnd.kubernetes.protobuf", "application/cbor",
                    "application/merge-patch+json", "x", "application/*"):
        yield Request("content " + content, "POST", maps + "?dryRun=All", body, content)
    for accept in (JSON, YAML, "", "text/plain", "*/*", "application/*", "text/*",
                   "application/xml,*/*;q=0.1", "application/cbor",
                   "application/vnd.kubernetes.protobuf;q=0", "application/json;q=0.5,application/yaml",
                   "x", ";", "application/json;as=x",
                   "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                   "application/json;stream=watch"):
        for path in (maps, "/api/v1", "/apis", "/version", "/api", maps + "/none"):
            if path == "/apis" or "APIGroup" in accept:
                continue  # other groups: the table of discovery is compared in its own requests
            yield Request("accept %s of %s" % (accept, path), "GET", path + "?labelSelector=none",
                          accept=accept)
    for raw in ("", "{", "{}", "[]", "null", "1", '"x"', "{]", '{"a":}', "nul", '{"kind":"ConfigMap"}',
                '{"a":1}x', "\x00",
                '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"w","name":"v"}}', "k8s",
                '{"kind":1}', '{"apiVersion":[]}',
                '{"kind":"Pod","apiVersion":"v1"}', '{"kind":"ConfigMap","apiVersion":"v2"}',
                '{"kind":"X","apiVersion":"v1"}',
                '{"metadata":{"name":"w"},"data":{"a":"1","a":"2"}}',
                '{"metadata":{"name":"w"},"data":{"a":"\\ud800"}}',
                '{"Metadata":{"Name":"w"}}', '{"metadata":{"name":"w"},"DATA":{"a":"1"}}', "{'a':1}",
                '{"a":1,}', "[1,2", "true",
                '{"metadata":{"name":"w"},"data":{"a":"' + "x" * 2000 + '"',
                '{"kind":"ConfigMap","apiVersion":"a/b/c"}',
                '{"kind":"ConfigMapList","apiVersion":"v1","items":[]}',
                '{"metadata":{"name":"w"},"immutable":"yes"}'):
        for validation in ("", "&fieldValidation=Strict"):
            yield Request("raw %s%s" % (raw[:60], validation), "POST", maps + "?dryRun=All" + validation, raw)
            yield Request("raw yaml %s%s" % (raw[:60], validation), "POST",
                          maps + "?dryRun=All" + validation, raw, YAML)
            yield Request("raw merge %s%s" % (raw[:60], validation), "PATCH",
                          maps + "/none?dryRun=All" + validation, raw, MERGE)
