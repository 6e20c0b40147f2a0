#!/usr/bin/env python3
"""Writes src/rbac/bootstrap_roles.inc: the roles and bindings that every cluster has.

    tools/bootstrap_roles.py FOLDER > src/rbac/bootstrap_roles.inc

FOLDER is plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata of Kubernetes' sources. Of two files of the
same roles the one with every feature gate on counts: a rule for a resource that is not served grants nothing.
"""
import os
import sys

import yaml

ROLES = ("cluster-roles-featuregates", "controller-roles", "namespace-roles")
BINDINGS = ("cluster-role-bindings", "controller-role-bindings", "namespace-role-bindings")
RULE_MEMBERS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"


def objects(folder, files):
    """The items of the lists, in their order."""
    for name in files:
        with open(os.path.join(folder, name + ".yaml")) as file:
            yield from yaml.safe_load(file)["items"]


def target(label):
    """"admin" of a label that adds a role to admin."""
    assert label.startswith(AGGREGATE), label
    return label[len(AGGREGATE):]


def place(item):
    """Where an object is: its namespace, and its name."""
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def row(*texts):
    """One row of a table; columns that are empty at its end are left off."""
    kept = list(texts)
    while kept and not kept[-1]:
        kept.pop()
    return "    {" + ", ".join('"%s"' % text for text in kept) + "},"


def role_row(role):
    """The row of a role without its rules."""
    labels = [target(label) for label in role["metadata"]["labels"] if label.startswith(AGGREGATE)]
    selectors = role.get("aggregationRule", {}).get("clusterRoleSelectors", [])
    collected = [target(label) for selector in selectors for label in selector["matchLabels"]]
    assert len(labels) <= 1 and len(collected) <= 1, role
    return row(*place(role), "".join(labels), "".join(collected))


def rule_rows(role):
    """A row for each rule of a role."""
    for rule in role.get("rules") or []:
        yield row(*place(role), *[",".join(rule.get(member, [])) for member in RULE_MEMBERS])


def binding_row(binding):
    """The row of a binding: who gets which role."""
    subjects = []
    for subject in binding.get("subjects", []):
        parts = [subject["kind"], subject.get("namespace"), subject["name"]]
        subjects.append("/".join(part for part in parts if part))
    ref = binding["roleRef"]
    return row(*place(binding), ref["kind"], ref["name"], ",".join(subjects))


def table(kind, name, rows):
    """The lines of one C++ table."""
    return ["constexpr %s %s[] = {" % (kind, name), *rows, "};"]


def main():
    """Prints the three tables."""
    folder = sys.argv[1]
    roles, bindings = list(objects(folder, ROLES)), list(objects(folder, BINDINGS))
    lines = ["// Made by tools/bootstrap_roles.py.", "// clang-format off"]
    lines += table("RoleRow", "kRoles", map(role_row, roles))
    lines += table("RuleRow", "kRules", [line for role in roles for line in rule_rows(role)])
    lines += table("BindingRow", "kBindings", map(binding_row, bindings))
    print("\n".join(lines + ["// clang-format on"]))


if __name__ == "__main__":
    main()
