"""An HTTP/1.1 proxy that spoils chosen requests: proxy.py PORT UPSTREAM_PORT CONTROL_PORT RECORD

Orders come as one JSON line per connection to the control port; the answer is "ok".
  {"method", "path", "body", "action", "arg", "count", "skip"}   a rule: regular expressions (method whole,
      path and body anywhere; body optional); the first `skip` matches pass, the next `count` get the action
      (-1: all)
  {"clear": true}                  forgets all rules and releases held watches
  {"cut": PATH}                    ends the open watches whose path matches
  {"hold": PATH, "seconds": S}     forwards nothing on those watches for so long
Actions:
  status       answers with code `arg` (and `reason`), the request is not carried out
  drop         closes the connection, the request is not carried out
  reset        the same with a TCP reset
  drop_after   carries the request out and closes the connection without an answer
  lost_late    closes the connection at once and carries the request out `arg` seconds later
  delay        carries the request out `arg` seconds later and passes the answer on
RECORD gets one line for each request that is not a watch.
"""

import asyncio
import json
import re
import socket
import struct
import sys
import time

HEAD_END = b"\r\n\r\n"
CHUNK = 65536


class Rule:
    def __init__(self, order):
        self.method = re.compile(order.get("method", ".*"))
        self.path = re.compile(order.get("path", ""))
        self.body = re.compile(order.get("body", ""))
        self.action = order["action"]
        self.arg = order.get("arg", 0)
        self.reason = order.get("reason", "")
        self.count = order.get("count", -1)
        self.skip = order.get("skip", 0)

    def takes(self, method, path, body):
        """Whether this request gets the action; counts it."""
        if self.count == 0 or not self.method.fullmatch(method) or not self.path.search(path):
            return False
        if not self.body.search(body.decode(errors="replace")):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.count -= 1
        return True


class Request:
    """One request, with a head that asks the server to close the connection after its answer."""

    def __init__(self, head, body):
        lines = head.split(b"\r\n")
        self.method, self.path, _ = lines[0].decode().split(" ", 2)
        kept = [line for line in lines[1:] if line.split(b":")[0].lower() != b"connection"]
        self.bytes = b"\r\n".join([lines[0], *kept, b"Connection: close"]) + HEAD_END + body
        self.body = body

    @property
    def is_watch(self):
        return "watch=" in self.path


class Proxy:
    def __init__(self, upstream, record):
        self.upstream = upstream
        self.record = record
        self.rules = []
        self.watches = {}  # path -> writers of open watches
        self.holds = []  # (path, until)

    def note(self, text):
        self.record.write(f"{time.time():.3f} {text}\n")

    def rule_for(self, request):
        return next((r for r in self.rules if r.takes(request.method, request.path, request.body)), None)

    async def ask(self, request):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        writer.write(request.bytes)
        await writer.drain()
        return reader, writer

    async def whole_answer(self, request):
        reader, writer = await self.ask(request)
        answer = await reader.read()
        writer.close()
        return answer

    async def carry_out_late(self, seconds, request):
        await asyncio.sleep(seconds)
        answer = await self.whole_answer(request)
        self.note(f"LATE {request.method} {request.path} {answer[:40]!r}")

    async def serve(self, reader, writer):
        try:
            carry = b""
            while True:
                head, body, carry = await read_request(reader, carry)
                if head is None:
                    return
                if not await self.handle(Request(head, body), writer):
                    return
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            self.note(f"ENDED {error!r}")
        finally:
            writer.close()

    async def handle(self, request, writer):
        """Whether the connection stays open."""
        rule = self.rule_for(request)
        action = rule.action if rule else ""
        if rule or not request.is_watch:
            self.note(f"{request.method} {request.path} {action} {request.body[:400]!r}")
        if action == "status":
            writer.write(refusal(rule.arg, rule.reason))
            await writer.drain()
            return True
        if action == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            return False
        if action == "lost_late":
            asyncio.get_running_loop().create_task(self.carry_out_late(rule.arg, request))
        if action == "drop_after":
            await self.whole_answer(request)
        if action in ("drop", "drop_after", "lost_late"):
            return False
        if action == "delay":
            await asyncio.sleep(rule.arg)
        if request.is_watch:
            await self.pass_watch_on(request, writer)
            return False
        writer.write(with_length(await self.whole_answer(request)))
        await writer.drain()
        return True

    async def pass_watch_on(self, request, writer):
        reader, up = await self.ask(request)
        writers = self.watches.setdefault(request.path, set())
        writers.add(writer)
        try:
            while data := await reader.read(CHUNK):
                while (wait_s := self.held_for(request.path)) > 0:
                    await asyncio.sleep(min(wait_s, 0.1))
                writer.write(data)
                await writer.drain()
        finally:
            writers.discard(writer)
            up.close()

    def held_for(self, path):
        now = time.monotonic()
        return max((until - now for held, until in self.holds if re.search(held, path)), default=0)

    async def order(self, reader, writer):
        order = json.loads(await reader.readline())
        if "clear" in order:
            self.rules.clear()
            self.holds.clear()
        elif "cut" in order:
            for path, writers in self.watches.items():
                for open_watch in list(writers) if re.search(order["cut"], path) else []:
                    open_watch.transport.abort()
        elif "hold" in order:
            self.holds.append((order["hold"], time.monotonic() + order["seconds"]))
        else:
            self.rules.append(Rule(order))
        writer.write(b"ok\n")
        await writer.drain()
        writer.close()


async def read_request(reader, data):
    """Head, body, and what was read beyond them; no head at the end of the connection."""
    while HEAD_END not in data:
        more = await reader.read(CHUNK)
        if not more:
            return None, b"", b""
        data += more
    head, rest = data.split(HEAD_END, 1)
    length = re.search(rb"(?im)^content-length:\s*(\d+)", head)
    missing = (int(length.group(1)) if length else 0) - len(rest)
    if missing > 0:
        rest += await reader.readexactly(missing)
        return head, rest, b""
    size = len(rest) + missing
    return head, rest[:size], rest[size:]


def refusal(code, reason):
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    status |= {"code": code, "reason": reason, "message": "injected by the test"}
    body = json.dumps(status).encode()
    head = f"HTTP/1.1 {code} Injected\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + HEAD_END + body


def with_length(answer):
    """The answer with a Content-Length, so that the client's connection can stay open."""
    if HEAD_END not in answer:
        raise ValueError("the server gave no answer")
    head, body = answer.split(HEAD_END, 1)
    if re.search(rb"(?im)^transfer-encoding:\s*chunked", head):
        body = b"".join(chunks_of(body))
    dropped = (b"connection", b"transfer-encoding", b"content-length")
    kept = [line for line in head.split(b"\r\n") if line.split(b":")[0].lower() not in dropped]
    return b"\r\n".join([*kept, b"Content-Length: " + str(len(body)).encode()]) + HEAD_END + body


def chunks_of(body):
    while body:
        size, body = body.split(b"\r\n", 1)
        length = int(size, 16)
        if length == 0:
            return
        yield body[:length]
        body = body[length + 2 :]


async def main():
    port, upstream, control = (int(word) for word in sys.argv[1:4])
    with open(sys.argv[4], "w", buffering=1) as record:
        proxy = Proxy(upstream, record)
        served = await asyncio.start_server(proxy.serve, "127.0.0.1", port, limit=2**24)
        ordered = await asyncio.start_server(proxy.order, "127.0.0.1", control)
        print("listening", flush=True)
        await asyncio.gather(served.serve_forever(), ordered.serve_forever())


asyncio.run(main())
