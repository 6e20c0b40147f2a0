#!/usr/bin/env python3
"""The dashboard: its model, its committed bundle, and its page in Chromium against a real `berth up`.

Needs node 20, npm and Debian's chromium (tools/setup.sh), and the npm registry once; without them every
case is skipped. The packages of web/package-lock.json are kept in ~/.cache/berth, outside the tree.
"""
import base64
import filecmp
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import suite
from served import Served
from suite import Failure, eventually

WEB = suite.ROOT / "web"
HERE = pathlib.Path(__file__).resolve().parent
CASE_SECONDS_MAX = 120
NODE_MAJOR_MIN = 20  # of vitest
NO_NETWORK = re.compile(r"code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ERR_SOCKET_TIMEOUT)")


class Unreachable(Exception):
    """The packages are not kept here yet, and the npm registry cannot be reached."""


def missing():
    """What this machine lacks; empty for nothing."""
    lacks = [tool for tool in ("node", "npm", "chromium") if not shutil.which(tool)]
    if "node" not in lacks:
        version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.lstrip("v").split(".")[0]) < NODE_MAJOR_MIN:
            lacks.append("node %d" % NODE_MAJOR_MIN)
    return lacks


def packages():
    """Makes web/node_modules, a link to the packages of this lock file."""
    lock = (WEB / "package-lock.json").read_bytes()
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"), "berth",
                         "web-" + hashlib.sha256(lock).hexdigest()[:16])
    modules = WEB / "node_modules"
    if modules.exists() and not modules.is_symlink():
        return
    if not (cache / "node_modules" / ".package-lock.json").exists():
        cache.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(WEB / name, cache / name)
        ran = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=cache, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env={**os.environ, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"})
        if ran.returncode and NO_NETWORK.search(ran.stdout):
            raise Unreachable()
        if ran.returncode:
            raise Failure("npm ci: " + ran.stdout[-2000:])
    if modules.is_symlink():
        modules.unlink()
    modules.symlink_to(cache / "node_modules")


def command(arguments, **environment):
    ran = subprocess.run(arguments, cwd=WEB, env={**os.environ, "NO_COLOR": "1", **environment}, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=CASE_SECONDS_MAX)
    if ran.returncode:
        raise Failure(ran.stdout[-3000:])
    return ran.stdout


def types_agree():
    command(["npx", "tsc", "--noEmit"])


def model():
    command(["npx", "vitest", "run"])


def bundle_is_what_its_sources_make():
    with tempfile.TemporaryDirectory() as scratch:
        command(["node", "build.mjs", scratch])
        names = sorted(os.listdir(scratch))
        if names != sorted(os.listdir(WEB / "dist")):
            raise Failure("web/dist has other files than %s; run `npm run build` in web/" % names)
        _, differing, _ = filecmp.cmpfiles(scratch, WEB / "dist", names, shallow=False)
        if differing:
            raise Failure("%s in web/dist is stale; run `npm run build` in web/" % ", ".join(differing))


def page(served, tally, cases):
    """Every case of page.mjs is one of ours."""
    def link():
        served.log.flush()
        found = re.findall(r"http://\S+/ui/#code=\S+", pathlib.Path(served.scratch.name, "log").read_text())
        return len(found) == served.starts and found[-1]
    environment = {"API": served.url, "CASES": cases, "LINK": eventually("the link is printed", link)}
    for name, key in (("CA", "certificate-authority"), ("CERT", "client-certificate"), ("KEY", "client-key")):
        environment[name] = base64.b64decode(re.search(key + r"-data: (\S+)", served.access)[1]).decode()
    ran = subprocess.run(["node", str(HERE / "page.mjs")], env={**os.environ, **environment}, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=CASE_SECONDS_MAX)
    outcomes = []
    for line in ran.stdout.splitlines():
        try:
            outcomes.append(json.loads(line))
        except ValueError:
            print(line)
    if not outcomes or ran.returncode:
        outcomes.append({"name": "page.mjs ends", "problem": ran.stdout[-2000:]})
    for outcome in outcomes:
        def case(outcome=outcome):
            if outcome["problem"]:
                raise Failure(outcome["problem"])
        case.__name__ = outcome["name"].replace(" ", "_")
        tally.attempt(case)


def main():
    asked = suite.options(__doc__)
    lacks = missing()
    if lacks:
        print("SKIP the dashboard's tests: %s missing; tools/setup.sh installs them" % " and ".join(lacks))
        return suite.close(0, 0, 1)
    try:
        packages()
    except Unreachable:
        print("SKIP the dashboard's tests: they need the npm registry once")
        return suite.close(0, 0, 1)
    tally = suite.Tally()
    for case in (types_agree, model, bundle_is_what_its_sources_make):
        tally.attempt(case)
    served = Served(asked.berth, "up", [], ["--nodes", "3"], secure=True)
    try:
        page(served, tally, "all")
        served.restart()
        page(served, tally, "restarted")
    finally:
        served.close()
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
