"""A webhook server over TLS whose answers a test chooses by path. Only the standard library and openssl."""
import base64
import http.server
import json
import pathlib
import ssl
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from self_signed import make_certificate

FLOOD_BYTES = 100 << 20  # more than any server should read


def patch_of(operations):
    return base64.b64encode(json.dumps(operations).encode()).decode()


def allowed(review, **more):
    return {"uid": review["request"]["uid"], "allowed": True, **more}


def patched(review, operations, **more):
    return allowed(review, patchType="JSONPatch", patch=patch_of(operations), **more)


def denied(review, **status):
    return {"uid": review["request"]["uid"], "allowed": False, "status": status}


def answer(review, response):
    return {"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        with self.server.lock:
            self.server.asked.append((path, review))
            self.server.queries.append(self.path)
            act = self.server.acts.get(path, allowed)
        made = act(review)
        if made == "close":
            self.close_connection = True
            self.connection.close()
            return
        if made == "flood":
            return self.flood()
        status, body = made if isinstance(made, tuple) else (200, json.dumps(answer(review, made)))
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def flood(self):
        self.send_response(200)
        self.send_header("Content-Length", str(FLOOD_BYTES))
        self.end_headers()
        piece = b"x" * (1 << 20)
        for _ in range(FLOOD_BYTES // len(piece)):
            self.wfile.write(piece)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        pass  # a peer that closes is no error of the test


class Webhook:
    """A server on loopback; `acts` has the answer of each path: a function of the review."""

    def __init__(self, folder, names="IP:127.0.0.1"):
        self.certificate = make_certificate(folder, names)
        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert", folder / "key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                 do_handshake_on_connect=False)
        self.server.lock = threading.Lock()
        self.server.asked, self.server.queries, self.server.acts = [], [], {}
        self.url = "https://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def act(self, path, act):
        with self.server.lock:
            self.server.acts[path] = act

    def asked(self, path=None):
        """The reviews so far, of one path or of all."""
        with self.server.lock:
            return [review for at, review in self.server.asked if path in (None, at)]

    def paths(self):
        with self.server.lock:
            return [at for at, _ in self.server.asked]

    def queries(self):
        with self.server.lock:
            return list(self.server.queries)

    def forget(self):
        with self.server.lock:
            self.server.asked.clear()
            self.server.queries.clear()
            self.server.acts.clear()

    def client(self, path):
        return {"url": self.url + path, "caBundle": base64.b64encode(self.certificate.encode()).decode()}

    def service(self, path, name="hook", namespace="hooks"):
        return {"service": {"name": name, "namespace": namespace, "path": path},
                "caBundle": base64.b64encode(self.certificate.encode()).decode()}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def hang(seconds):
    def act(review):
        time.sleep(seconds)
        return allowed(review)
    return act
