"""One-field changes of an object: what a wrong client could send, and what the schema still has to offer.

A change is (label, object). The label has the field's path and what was done, never a random part.
"""
import copy

LONG = "a" * 300
DEPTH_MAX = 14
LACKING_PER_LEVEL_MAX = 40
# What a field of a name stands for, where the schema says no more than "string".
TIMES = ("Time", "Timestamp", "timeAdded", "pingTime")
OF_ANY_OBJECT = ("apiVersion", "kind", "metadata")


def paths_of(value, at=()):
    """Every member and item below, parents first."""
    if len(at) > DEPTH_MAX:
        return
    items = enumerate(value) if isinstance(value, list) else ()
    for key, member in value.items() if isinstance(value, dict) else items:
        yield at + (key,), member
        yield from paths_of(member, at + (key,))


def changed(body, path, value):
    copied = copy.deepcopy(body)
    reached(copied, path[:-1])[path[-1]] = value
    return copied


def without(body, path):
    copied = copy.deepcopy(body)
    del reached(copied, path[:-1])[path[-1]]
    return copied


def reached(value, path):
    for key in path:
        value = value[key]
    return value


def spelled(path):
    text = ""
    for key in path:
        text += "[%d]" % key if isinstance(key, int) else "." + key
    return text.lstrip(".")


def of_string(value):
    yield "empty", ""
    yield "not-a-name", "Not A/Name!"
    yield "long", LONG
    yield "number", 7
    yield "object", {"x": "y"}
    yield "other", "other"
    yield "upper", value.upper() + "X"
    yield "spaces", " " + value
    yield "negative", "-1"


def of_number(value):
    yield "zero", 0
    yield "negative", -1
    yield "one-more", value + 1
    yield "large", 2000000000
    yield "too-large", 2 ** 40
    yield "fraction", 1.5
    yield "text", "x"
    yield "digits", "3"


def of_bool(value):
    yield "flipped", not value
    yield "text", "true"
    yield "number", 1


def of_list(value):
    yield "none", []
    yield "object", {}
    yield "null-item", [None]
    yield "text", "x"
    if value:
        yield "repeated", value + [value[0]]
        yield "many", value * 40


def of_object(_):
    yield "none", {}
    yield "list", []
    yield "text", "x"
    yield "number", 3


WRONG = {str: of_string, int: of_number, bool: of_bool, list: of_list, dict: of_object}


def of_field(body, path, value):
    where = spelled(path)
    yield where + " absent", without(body, path)
    yield where + " null", changed(body, path, None)
    for name, wrong in WRONG[type(value)](value):
        yield "%s %s" % (where, name), changed(body, path, wrong)
    if isinstance(value, dict):
        yield where + " unknown-field", changed(body, path, {**value, "unheardOf": 1})
        if value and all(isinstance(member, str) for member in value.values()):
            yield where + " bad-key", changed(body, path, {**value, "bad key!": "x"})
            yield where + " bad-value", changed(body, path, {**value, "key": "bad value!"})


class Schemas:
    """The fields of each kind, from OpenAPI v3: every group version's document is fetched once."""

    def __init__(self, fetch):
        self.fetch, self.documents = fetch, {}

    def document(self, group, version):
        path = "/openapi/v3/" + ("apis/%s/%s" % (group, version) if group else "api/" + version)
        if path not in self.documents:
            self.documents[path] = self.fetch(path)["components"]["schemas"]
        return self.documents[path]

    def of_kind(self, group, version, kind):
        wanted = {"group": group, "version": version, "kind": kind}
        for name, schema in self.document(group, version).items():
            if wanted in schema.get("x-kubernetes-group-version-kind", ()):
                return {"$ref": "#/components/schemas/" + name}
        return None

    def resolved(self, group, version, schema):
        for part in [schema, *schema.get("allOf", ())]:
            if "$ref" in part:
                found = self.document(group, version)[part["$ref"].rsplit("/", 1)[1]]
                return {**found, **{key: value for key, value in schema.items() if key == "enum"}}
        return schema


class Lacking:
    """Fields that the schema has and the object has not, with values that fit their type."""

    def __init__(self, schemas, group, version):
        self.schemas, self.at = schemas, (group, version)

    def resolved(self, schema):
        return self.schemas.resolved(*self.at, schema)

    def samples(self, name, schema, depth=0):
        schema = self.resolved(schema)
        kind = schema.get("type")
        if "enum" in schema:
            return [*schema["enum"], "Unheard"]
        if kind == "string":
            return ["2026-01-02T03:04:05Z", "x"] if schema.get("format") == "date-time" else ["a", "A b!"]
        if kind in ("integer", "number"):
            return [1, -1]
        if kind == "boolean":
            return [True]
        if kind == "array":
            inner = self.samples(name, schema["items"], depth + 1)
            return [[value] for value in inner[:2]]
        if kind == "object" and "properties" not in schema:
            extra = schema.get("additionalProperties")
            return [{"a": value} for value in self.samples(name, extra,
                                                           depth + 1)[:2]] if extra else [{"a": 1}]
        if kind == "object":
            return [{}] + ([self.filled(schema, depth)] if depth < 4 else [])
        return ["1", 1, "x y"]  # quantities and IntOrString

    def filled(self, schema, depth):
        wanted = schema.get("required") or list(schema["properties"])[:2]
        return {name: self.samples(name, schema["properties"][name], depth + 1)[0] for name in wanted
                if name in schema["properties"]}

    def changes(self, body, schema, at=()):
        schema = self.resolved(schema)
        here = reached(body, at)
        if isinstance(here, list) and "items" in schema:
            for index in range(min(len(here), 1)):
                yield from self.changes(body, schema["items"], at + (index,))
        if not isinstance(here, dict):
            return
        extra = schema.get("additionalProperties")
        for name, member in sorted(schema.get("properties", {}).items()):
            if not at and name in OF_ANY_OBJECT:
                continue
            if name in here:
                yield from self.changes(body, member, at + (name,))
                continue
            for number, value in enumerate(self.samples(name, member)):
                yield "%s added-%d" % (spelled(at + (name,)), number), changed(body, at + (name,), value)
        if extra and here:
            yield from self.changes(body, extra, at + (sorted(here)[0],))
