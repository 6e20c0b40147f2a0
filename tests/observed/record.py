#!/usr/bin/env python3
"""Run case files against a Kubernetes API server and write down the normalised answers.

A case file is JSON lines; a line is one step. Keys of a step:
  case, step     names; (case, step) is unique in a file. Variables and placeholders live as long as the case.
  note           one line: what the step is about
  method, path   HTTP method, path with query. method WATCH = GET that reads a stream of events, SLEEP = wait `seconds`
  headers, body  body is sent as JSON. `raw` = text sent as it is. Default Content-Type application/json
  capture        {"name": "metadata.uid"}: keeps a value of the answer; `${name}` works in path, headers, body, raw
  record         false = only needed as preparation, its answer is not kept
  keep           ["managedFields"] = keep what is dropped otherwise
  pick           ["status", "items[].metadata.name"]: keep only these parts of the body
  where          {"items[].metadata.name": ["a", "b"]}: keep only list entries whose value is one of these
  unique         ["items"]: drop repeated entries of this list and sort it (events)
  strip          ["description"]: drop these keys at any depth
  until          {"status.phase": "Bound"}: repeat the request until the body matches (kinds below), `seconds` at most
  gone           true = repeat until the status code is 404
  events         WATCH: stop after this many events; `seconds` = stop then at the latest
Values in `until` and in paths: "a.b[0].c", "conditions[type=Ready].status", "items[].x" (any); "*" = present.
"""
import argparse, http.client, json, os, re, socket, ssl, sys, time, urllib.parse

USER_AGENT = "parity/1"
UNTIL_SECONDS_MAX = 5  # what the server does by itself is done by then
HEADERS = ("content-type", "warning", "retry-after", "allow", "location", "vary")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)(?!\d\d:)")
GOTIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4} [A-Z]+( m=[+-][\d.]+)?")
EVENT_NAME = re.compile(r"\.[0-9a-f]{16}\b")
RV_TEXT = re.compile(r"(resource version: |current: |ResourceVersion in precondition: |ResourceVersion in object meta: |resourceVersion=|"
                     r"too old resource version: <rv> \()(\d+)")
RV_IN_RECORD = re.compile(r"(ResourceVersion in (?:record|the precondition) \(|\\?\"resourceVersion\\?\":\\?\")(\d+)")
NOT_YET, RELEASE = re.compile(r"is deprecated in v1\.(\d+)\+"), 37
GENERATED = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}$")
HASH = re.compile(r"(?<=-)(?=[a-z]*\d)(?=\d*[a-z])[bcdfghjklmnpqrstvwxz2456789]{8,10}\b")
AGE = re.compile(r"^(\d+[smhdy]){1,2}$")
POINTER = re.compile(r"0x[0-9a-f]{6,}")


def tokens(path):
    out = []
    for part in filter(None, re.split(r"\.(?![^\[]*\])", path)):
        m = re.match(r"^([^\[]*)((?:\[[^\]]*\])*)$", part)
        if m.group(1):
            out.append(m.group(1))
        out += ["[" + x + "]" for x in re.findall(r"\[([^\]]*)\]", m.group(2))]
    return out


def select(value, toks):
    """All values the tokens reach."""
    if not toks:
        return [value]
    head, rest = toks[0], toks[1:]
    if head.startswith("["):
        inner = head[1:-1]
        if isinstance(value, dict):
            return select(value[inner], rest) if inner in value else []
        if not isinstance(value, list):
            return []
        if inner == "":
            return [y for x in value for y in select(x, rest)]
        if "=" in inner:
            k, v = inner.split("=", 1)
            return [y for x in value if isinstance(x, dict) and str(x.get(k)) == v for y in select(x, rest)]
        i = int(inner)
        return select(value[i], rest) if -len(value) <= i < len(value) else []
    if isinstance(value, dict) and head in value:
        return select(value[head], rest)
    return []


def keep_only(value, paths):
    """Copy of value that has only what the paths (token lists) reach."""
    if any(not p for p in paths):
        return value
    if isinstance(value, list):
        return [keep_only(x, [p[1:] for p in paths if p[0] == "[]"]) for x in value]
    if isinstance(value, dict):
        out = {}
        for k in value:
            sub = [p[1:] for p in paths if p[0] in (k, "[" + k + "]")]
            if sub:
                out[k] = keep_only(value[k], sub)
        return out
    return value


def where(value, toks, allowed):
    i = toks.index("[]")
    for holder in select(value, toks[:i - 1]) if i > 1 else [value]:
        if isinstance(holder, dict) and isinstance(holder.get(toks[i - 1]), list):
            holder[toks[i - 1]] = [x for x in holder[toks[i - 1]]
                                   if any(v in allowed for v in (select(x, toks[i + 1:]) or [None]))]


def strip(value, keys):
    if isinstance(value, dict):
        return {k: strip(v, keys) for k, v in value.items() if k not in keys}
    if isinstance(value, list):
        return [strip(x, keys) for x in value]
    return value


def sort_managers(value):
    """Entries of managedFields are kept in order of time, which has a grain of a second: put them in a fixed order."""
    if isinstance(value, dict):
        return {k: sorted(v, key=lambda e: [str(e.get(x, "")) for x in ("operation", "manager", "apiVersion", "subresource")])
                if k == "managedFields" and isinstance(v, list) else sort_managers(v) for k, v in value.items()}
    return [sort_managers(x) for x in value] if isinstance(value, list) else value


def matches(body, wanted):
    for path, want in wanted.items():
        got = select(body, tokens(path))
        if want == "*":
            if not got:
                return False
        elif want not in got:
            return False
    return True


class Normaliser:
    """Replaces what differs from run to run by placeholders, numbered in order of appearance within one case."""

    def __init__(self, steps=()):
        """steps: the steps of the case; times and uids written there are kept as they are."""
        self.uids, self.rvs, self.names = {}, {}, {}
        written = json.dumps(steps)
        self.given_numbers = set(re.findall(r'"resourceVersion": "(\d+)"', written))
        self.given = {m.group(0) for m in UUID.finditer(written)} | {m.group(0) for m in TIME.finditer(written)}

    def rv(self, text):
        if text in ("", "0"):
            return text
        return "<rv:%d>" % self.rvs.setdefault(text, len(self.rvs) + 1)

    def uid(self, m):
        return m.group(0) if m.group(0) in self.given else "<uid:%d>" % self.uids.setdefault(m.group(0), len(self.uids) + 1)

    def time(self, m):
        return m.group(0) if m.group(0) in self.given else "<microtime>" if m.group(1) else "<time>"

    def text(self, s):
        if "pod updates may not change fields other than" in s and "\n" in s:
            s = s[:s.index("\n")] + "\n<diff>"  # a dump of internal structures follows
        for real, mark in self.names.items():
            s = s.replace(real, mark)
        s = UUID.sub(self.uid, s)
        s = GOTIME.sub("<time>", TIME.sub(self.time, s))
        s = HASH.sub("<hash>", s)
        s = EVENT_NAME.sub(".<event>", s)
        s = re.sub(r"too old resource version: \d+ \(\d+\)", "too old resource version: <rv> (<rv>)", s)
        s = RV_TEXT.sub(lambda m: m.group(1) + "<rv>", s)
        s = RV_IN_RECORD.sub(lambda m: m.group(0) if m.group(2) in self.given_numbers else m.group(1) + "<rv>", s)
        return POINTER.sub("<pointer>", s)

    def learn(self, v):
        if isinstance(v, dict):
            m = v.get("metadata")
            if isinstance(m, dict) and isinstance(m.get("generateName"), str) and isinstance(m.get("name"), str):
                g, n = m["generateName"], m["name"]
                if n.startswith(g) and len(n) > len(g) and n not in self.names:
                    self.names[n] = "%s<gen:%d>" % (g, len(self.names) + 1)
            if isinstance(v.get("resourceClaimName"), str) and GENERATED.search(v["resourceClaimName"]) and v["resourceClaimName"] not in self.names:
                n = v["resourceClaimName"]
                self.names[n] = "%s-<gen:%d>" % (n[:-6], len(self.names) + 1)
            for x in v.values():
                self.learn(x)
        elif isinstance(v, list):
            for x in v:
                self.learn(x)

    def value(self, v, key="", parent="", loose=False):
        """loose: resource versions of lists and bookmarks follow the whole server, so they get no number."""
        if isinstance(v, dict):
            bookmark = v.get("type") == "BOOKMARK"
            listing = isinstance(v.get("items"), list) or isinstance(v.get("rows"), list) or str(v.get("kind", "")).endswith("List")
            out = {}
            for k, x in v.items():
                if k == "resourceVersion" and isinstance(x, str):
                    out[k] = ("<rv>" if x else "") if loose else self.rv(x)
                elif k == "continue" and isinstance(x, str) and x:
                    out[k] = "<continue>"
                else:
                    out[k] = self.value(x, k, key, loose or bookmark or (listing and k == "metadata"))
            return out
        if isinstance(v, list):
            return [self.value(x, key, parent, loose) for x in v]
        if key == "cells" and isinstance(v, str):
            v = "<age>" if AGE.match(v) else re.sub(r"\((\d+[smhdy])+ ago\)", "(<age> ago)", v)
        return self.text(v) if isinstance(v, str) else v


class Server:
    def __init__(self, url, token, insecure, ca):
        u = urllib.parse.urlsplit(url)
        self.tls, self.host, self.port, self.prefix = u.scheme == "https", u.hostname, u.port, u.path.rstrip("/")
        self.token = token
        self.ctx = ssl.create_default_context(cafile=ca) if self.tls else None
        if insecure and self.ctx:
            self.ctx.check_hostname, self.ctx.verify_mode = False, ssl.CERT_NONE
        self.conn = None

    def connect(self, timeout):
        c = http.client.HTTPSConnection(self.host, self.port, context=self.ctx, timeout=timeout) if self.tls else \
            http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        return c

    def request(self, method, path, headers, data, timeout=15, stream=False):
        h = {"User-Agent": USER_AGENT, "Accept": "application/json"}
        if self.token:
            h["Authorization"] = "Bearer " + self.token
        for k, v in headers.items():
            if v is None:
                h.pop(k, None)
            else:
                h[k] = v
        for attempt in (0, 1):
            conn = self.connect(timeout) if stream else (self.conn or self.connect(timeout))
            try:
                conn.putrequest(method, self.prefix + path, skip_accept_encoding=True)
                for k, v in h.items():
                    conn.putheader(k, v)
                if data is not None:
                    conn.putheader("Content-Length", str(len(data)))
                conn.endheaders(data)
                res = conn.getresponse()
                if stream:
                    return conn, res
                text = res.read()
                self.conn = None if res.will_close else conn
                return res, text
            except (http.client.HTTPException, ConnectionError, BrokenPipeError):
                self.conn = None
                conn.close()
                if attempt or stream:
                    raise


def fill(v, variables):
    if isinstance(v, str):
        m = re.fullmatch(r"\$\{(\w+)\}", v)
        if m and m.group(1) in variables:
            return variables[m.group(1)]
        return re.sub(r"\$\{(\w+)\}", lambda m: str(variables.get(m.group(1), m.group(0))), v)
    if isinstance(v, dict):
        return {fill(k, variables): fill(x, variables) for k, x in v.items()}
    if isinstance(v, list):
        return [fill(x, variables) for x in v]
    return v


def parse(text):
    try:
        return json.loads(text)
    except ValueError:
        try:
            t = text.decode()
        except UnicodeDecodeError:
            t = "<%d bytes, not text>" % len(text)
        return {"<text>": t}


def watch(server, step, path, headers):
    conn, res = server.request("GET", path, headers, None, timeout=step.get("seconds", 5), stream=True)
    if res.status != 200:
        text = res.read()
        conn.close()
        return res, parse(text), None
    events, end = [], "closed by server"
    limit = time.time() + step.get("seconds", 5)
    try:
        while True:
            if step.get("events") and len(events) >= step["events"]:
                end = "enough events"
                break
            if time.time() > limit:
                end = "time is up"
                break
            line = res.readline()
            if not line:
                break
            if line.strip():
                events.append(parse(line))
    except (socket.timeout, TimeoutError):
        end = "time is up"
    conn.close()
    return res, {"events": events, "end": end}, None


def run_step(server, step, variables):
    s = fill({k: v for k, v in step.items() if k in ("path", "headers", "body", "raw")}, variables)
    if step["method"] == "SLEEP":
        time.sleep(step["seconds"])
        return None
    headers = dict(s.get("headers") or {})
    data = None
    if "raw" in s:
        data = s["raw"].encode()
    elif "body" in s:
        data = json.dumps(s["body"]).encode()
    if data is not None and not any(k.lower() == "content-type" for k in headers):
        headers["Content-Type"] = "application/json"
    # a continue token or name can hold characters that a path may not
    path = urllib.parse.quote(s["path"], safe="/?&=:,%+@!()~*'$;.-_")
    if step["method"] == "WATCH":
        res, body, _ = watch(server, step, path, headers)
        return res.status, res.getheaders(), body
    limit = time.time() + min(step.get("seconds", 20), UNTIL_SECONDS_MAX)
    while True:
        try:
            res, text = server.request(step["method"], path, headers, data)
        except (socket.timeout, TimeoutError):
            server.conn = None
            return 0, [], {"<text>": "no answer"}
        body = parse(text) if text else None
        if "until" in step:
            ok = matches(body, fill(step["until"], variables))
        elif step.get("gone"):
            ok = res.status == 404
        else:
            ok = True
        if ok or time.time() > limit:
            break
        time.sleep(0.2)
    if not ok:
        print("      %s/%s: waited in vain" % (step["case"], step["step"]), file=sys.stderr)
    return res.status, res.getheaders(), body


def headers_of(pairs):
    out = {}
    for k, v in pairs:
        early = NOT_YET.search(v) if k.lower() == "warning" else None
        if early and int(early.group(1)) > RELEASE:
            continue  # a build without version stamps warns of deprecations to come; a release build does not
        if k.lower() in HEADERS:
            out.setdefault(k.title(), []).append(v)
    return {k: v[0] if len(v) == 1 else v for k, v in sorted(out.items())}


def answer(step, status, pairs, body, norm):
    if isinstance(body, (dict, list)):
        body = json.loads(json.dumps(body))
        for path, allowed in (step.get("where") or {}).items():
            where(body, tokens(path), allowed)
        if step.get("pick") and status < 300:
            body = keep_only(body, [tokens(p.replace("[]", ".[]")) for p in step["pick"]])
        drop = set(step.get("strip") or [])
        if "managedFields" not in (step.get("keep") or []):
            drop.add("managedFields")
        body = sort_managers(strip(body, drop))
        meta = (step.get("body") or {}).get("metadata") if isinstance(step.get("body"), dict) else None
        if status >= 400 and isinstance(meta, dict) and meta.get("generateName") and not meta.get("name"):
            stem = meta["generateName"][:58]
            body = json.loads(re.sub(re.escape(stem) + r"[bcdfghjklmnpqrstvwxz2456789]{5}\b", stem + "<gen>", json.dumps(body)))
        norm.learn(body)
        body = norm.value(body)
        for path in step.get("unique") or []:
            toks = tokens(path)
            for holder in select(body, toks[:-1]) if len(toks) > 1 else [body]:
                if isinstance(holder, dict) and isinstance(holder.get(toks[-1]), list):
                    seen = {json.dumps(x, sort_keys=True): x for x in holder[toks[-1]]}
                    holder[toks[-1]] = [seen[k] for k in sorted(seen)]
    h = {k: ([norm.text(x) for x in v] if isinstance(v, list) else norm.text(v)) for k, v in headers_of(pairs).items()}
    return {"case": step["case"], "step": step["step"], "status": status, "headers": h, "body": body}


def load(path):
    steps = []
    with open(path) as f:
        for n, line in enumerate(f, 1):
            if line.strip() and not line.startswith("#"):
                try:
                    steps.append(json.loads(line))
                except ValueError as e:
                    sys.exit("%s:%d: %s" % (path, n, e))
    return steps


def run_file(server, path, on_answer=lambda step, got: None):
    """Runs every step; yields (step, answer) for the recorded ones."""
    case, variables, norm, steps = None, {}, None, load(path)
    for step in steps:
        if step["case"] != case:
            case, variables = step["case"], {}
            norm = Normaliser([s for s in steps if s["case"] == case])
        result = run_step(server, step, variables)
        if result is None:
            continue
        status, pairs, body = result
        for name, p in (step.get("capture") or {}).items():
            got = select(body, tokens(p))
            if got:
                variables[name] = got[0]
        if step.get("record", True):
            yield step, answer(step, status, pairs, body, norm)
        elif status >= 400 and status != 404 and not step.get("may_fail"):
            print("      preparation %s/%s answered %s: %s" % (step["case"], step["step"], status, json.dumps(body)[:300]), file=sys.stderr)


def arguments(description):
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--server", required=True, help="for example https://127.0.0.1:6443")
    p.add_argument("--token", default=os.environ.get("PARITY_TOKEN", ""))
    p.add_argument("--insecure", action="store_true", help="do not check the server certificate")
    p.add_argument("--ca", help="file with the certificate authority")
    p.add_argument("--cases", default=os.path.join(here, "cases"), help="folder with case files")
    p.add_argument("--observed", default=os.path.join(here, "observed"), help="folder with recorded answers")
    p.add_argument("--only", action="append", help="run only files whose name contains this (repeatable)")
    return p


def files(args):
    names = sorted(n for n in os.listdir(args.cases) if n.endswith(".jsonl"))
    return [n for n in names if not args.only or any(o in n for o in args.only)]


def main():
    args = arguments("Record answers of a real server.").parse_args()
    server = Server(args.server, args.token, args.insecure, args.ca)
    os.makedirs(args.observed, exist_ok=True)
    for name in files(args):
        lines = [json.dumps(got, ensure_ascii=False) for _, got in run_file(server, os.path.join(args.cases, name))]
        with open(os.path.join(args.observed, name), "w") as f:
            f.write("\n".join(lines) + "\n")
        print("%5d  %s" % (len(lines), name))


if __name__ == "__main__":
    main()
