"""Every request of plan.py on both servers, answer by answer.

SEED chooses which changes are drawn, CHAPTERS (parts of names, with commas) which kinds run, SHOWN how many
unlisted differences are shown; ALL_DIFFERENCES names a file for every difference, listed or not.
"""
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import ssl
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent.parent), str(HERE.parent.parent / "observed")]
import changes
import compare
import plan
import reasons
import record
import seeds
from suite import Failure

SEED = int(os.environ.get("SEED", "1"))
CHAPTERS = [word for word in os.environ.get("CHAPTERS", "").split(",") if word]
SHOWN = int(os.environ.get("SHOWN", "20"))
THREADS = 8  # most wait for watches to end
REQUESTS_MIN = 20000
TIMEOUT_SECONDS = 10
HEADERS = ("content-type", "warning", "retry-after", "allow", "location", "vary")
GIVEN = {seeds.TIME, seeds.MICRO_TIME, seeds.UID}
ALLOCATED = {"clusterIP": "<ip>", "nodePort": "<port>", "healthCheckNodePort": "<port>"}
GENERATED = re.compile(r"\b(gen-|Bad_)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
NUMBER_OF_VERSION = re.compile(r"(?<=resource version: )\d+|(?<=current: )\d+|(?<=object meta: )\d+|"
                               r"(?<=resourceVersion: \")\d+")


class Server:
    """One connection to a server; not shared between threads."""

    def __init__(self, url, token=None, authority=None):
        parts = urllib.parse.urlsplit(url)
        self.address, self.token, self.open = parts.netloc, token, None
        self.tls = None
        if parts.scheme == "https":
            self.tls = ssl.create_default_context(cafile=authority)
            self.tls.check_hostname = False

    def connection(self):
        if self.open is None:
            self.open = (http.client.HTTPSConnection(self.address, context=self.tls, timeout=TIMEOUT_SECONDS)
                         if self.tls else http.client.HTTPConnection(self.address, timeout=TIMEOUT_SECONDS))
        return self.open

    def ask(self, verb, path, body, content, accept):
        """(status, headers, text)"""
        headers = {"Accept": accept, "User-Agent": "parity/1"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if body is not None and content:
            headers["Content-Type"] = content
        for attempt in (0, 1):
            try:
                self.connection().request(verb, path, body, headers)
                response = self.open.getresponse()
                text = response.read()
                if response.will_close:
                    self.close()
                return response.status, response.getheaders(), text
            except TimeoutError:
                self.close()
                return 0, [], b"no end within %d s" % TIMEOUT_SECONDS
            except (http.client.HTTPException, ConnectionError):
                self.close()
                if attempt:
                    raise
        return None

    def close(self):
        if self.open:
            self.open.close()
        self.open = None

    def fetch(self, path):
        return json.loads(self.ask("GET", path, None, None, "application/json")[2])


class Normaliser(record.Normaliser):
    """A fresh one for each answer: identities are compared by where they stand."""

    def __init__(self):
        super().__init__()
        self.given = GIVEN

    def value(self, value, key="", parent="", loose=False):
        if key in ALLOCATED and value:
            return ALLOCATED[key]
        if key == "clusterIPs" and value:
            return ["<ip>" for _ in value]
        return super().value(value, key, parent, loose)

    def text(self, text):
        return GENERATED.sub(r"\1<gen>", NUMBER_OF_VERSION.sub("<rv>", super().text(text)))


def parsed(text):
    """Of a watch: its events."""
    lines = text.split(b"\n")
    if len(lines) > 2 and all(line.startswith(b'{"type":') for line in lines if line):
        return {"events": [json.loads(line) for line in lines if line]}
    return record.parse(text)


def of_later_release(warning):
    """The rig's programs have no version, so they warn of what later releases deprecate."""
    found = record.NOT_YET.search(warning)
    return found and int(found[1]) > record.RELEASE


def normalised(status, headers, text):
    normaliser = Normaliser()
    body = parsed(text) if text else None
    normaliser.learn(body)
    kept = sorted((name.lower(), normaliser.text(value)) for name, value in headers
                  if name.lower() in HEADERS and not of_later_release(value))
    return {"status": status, "headers": kept, "body": record.sort_managers(normaliser.value(body))}


def outcome(answer):
    """The code, and what a refusal says."""
    body = answer["body"]
    said = body.get("message") or body.get("<text>", "") if isinstance(body, dict) else ""
    return "%d %s" % (answer["status"], said)


def differences(want, got):
    """Where the code differs, the rest follows from it."""
    if want["status"] != got["status"]:
        return [("code", outcome(want), outcome(got))]
    return list(compare.differences(want, got))


class Side:
    """A server, and what requests of a chapter have to know of its answers."""

    def __init__(self, server):
        self.server = server
        self.seen, self.known = None, {"first": "", "continue": "", "rv": "", "uid": ""}

    def play(self, request):
        path = request.path
        for name, value in self.known.items():
            path = path.replace("{%s}" % name, urllib.parse.quote(value))
        body = request.body(self.seen or {}) if callable(request.body) else request.body
        if body is not None and not isinstance(body, str):
            body = json.dumps(body, separators=(",", ":"))  # bytes of RawExtensions are stored as they are
        status, headers, text = self.server.ask(request.verb, path, body and body.encode(), request.content,
                                                request.accept)
        self.learn(request, status, text)
        return status, headers, text

    def learn(self, request, status, text):
        if not (request.keeps or "page" in request.label) or status >= 300:
            return
        answer = json.loads(text)
        metadata = answer.get("metadata", {})
        self.known["continue"] = metadata.get("continue", "")
        if request.keeps:
            self.seen = answer
            self.known.update(rv=metadata.get("resourceVersion", ""), uid=metadata.get("uid", ""))
        if request.first:
            self.known["first"] = metadata.get("resourceVersion", "")


class Tally:
    """What a chapter found: requests, and for each different one (request, its lines)."""

    def __init__(self, name):
        self.name, self.requests, self.different = name, 0, []

    def play(self, requests, real, ours):
        sides = Side(real), Side(ours)
        for request in requests:
            answers = [side.play(request) for side in sides]
            self.requests += 1
            if answers[0] == answers[1]:
                continue
            want, got = (normalised(*answer) for answer in answers)
            found = differences(want, got)
            if found:
                self.different.append((request, reasons.lines_of(self.name, request.label, found)))
        return self


class Table:
    """The chapters, played by a few threads with connections of their own."""

    def __init__(self, make_real, make_ours):
        self.make = make_real, make_ours
        real, ours = make_real(), make_ours()
        self.schemas = changes.Schemas(real.fetch)
        of_ours = {kind.label for kind in plan.kinds_of(ours.fetch)}
        self.kinds = [kind for kind in plan.kinds_of(real.fetch)
                      if kind.label in of_ours and seeds.seed_of(kind.group, kind.version,
                                                                 kind.plural) is not None
                      and (not CHAPTERS or any(word in kind.label for word in CHAPTERS))]
        for kind in self.kinds:  # before the threads: the documents are shared
            self.schemas.document(kind.group, kind.version)

    def chapter(self, kind):
        real, ours = (make() for make in self.make)
        try:
            return Tally(kind.label).play(plan.Chapter(kind, self.schemas, SEED).requests(), real, ours)
        finally:
            real.close()
            ours.close()

    def ways(self):
        real, ours = (make() for make in self.make)
        return Tally("ways").play(plan.ways(), real, ours)

    def play(self):
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            order = sorted(self.kinds, key=lambda kind: -plan.LARGE.get(kind.plural, 1))
            tallies = list(pool.map(self.chapter, order))
        if not CHAPTERS or "ways" in CHAPTERS:
            tallies.append(self.ways())
        return tallies


def judge(tallies):
    """(requests, differences, requests that nothing excuses); counts each reason."""
    known = reasons.load()
    unlisted = []
    for tally in tallies:
        for request, lines in tally.different:
            reason = reasons.excuse(known, lines)
            if reason:
                reason.found += 1
            else:
                unlisted.append((request, lines))
    return known, unlisted


def write_every(tallies):
    name = os.environ.get("ALL_DIFFERENCES")
    if name:
        every = [line for tally in tallies for _, lines in tally.different for line in lines]
        pathlib.Path(name).write_text("\n".join(every) + "\n", encoding="utf-8")


def answers_are_equal(make_real, make_ours):
    table = Table(make_real, make_ours)
    real, ours = make_real(), make_ours()
    for server in (real, ours):
        server.ask("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": plan.SPACE}}).encode(),
                   plan.JSON, plan.JSON)
    tallies = table.play()
    write_every(tallies)
    known, unlisted = judge(tallies)
    requests = sum(tally.requests for tally in tallies)
    different = sum(len(tally.different) for tally in tallies)
    print("      %d kinds, %d requests, %d equal, %d different, %d of them unlisted" % (
        len(table.kinds), requests, requests - different, different, len(unlisted)))
    for reason in known:
        print("      %-28s %5d of %d%s" % (reason.key, reason.found, reason.most,
                                           ": lower the count" if reason.found < reason.most else ""))
    too_many = ["%s: %d differ, %d are allowed" % (reason.key, reason.found, reason.most)
                for reason in known if reason.found > reason.most]
    few = ["%d requests, not %d" % (requests,
                                    REQUESTS_MIN)] if requests < REQUESTS_MIN and not CHAPTERS else []
    if unlisted or too_many or few:
        raise Failure("\n".join(too_many + few + [
            "%s %s %s" % (request.verb, request.path, "\n  ".join(lines[:6])) for request,
            lines in unlisted[:SHOWN]]))
