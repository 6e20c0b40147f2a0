"""A `berth apiserver` or `berth up` for a suite: empty; on plain HTTP every request is an administrator's."""
import base64
import json
import pathlib
import re
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

START_SECONDS_MAX = 20


def call(url, method, body=None, content="application/json"):
    """The decoded answer of one request; of a refusal its Status."""
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"Content-Type": content}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        return json.load(refused)


class Served:
    """An empty `berth apiserver` or `berth up`, ended on exit."""

    def __init__(self, berth, part, gates, more_flags=(), secure=False):
        self.scratch = tempfile.TemporaryDirectory(prefix="berth-served-")
        kubeconfig = pathlib.Path(self.scratch.name, "kubeconfig")
        self.log = open(pathlib.Path(self.scratch.name, "log"), "w+")
        # On disk: a store in memory begins above the version that the recordings take for one of the future.
        data = pathlib.Path(self.scratch.name, "data")
        command = [str(berth), part, "--data-dir", str(data), "--listen", "127.0.0.1:0",
                   "--kubeconfig", str(kubeconfig), *([] if secure else ["--insecure"]), *more_flags]
        if gates:
            command += ["--feature-gates", ",".join(gate + "=true" for gate in gates)]
        self.command = command
        self.starts = 0
        self.start(kubeconfig)

    def start(self, kubeconfig):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        self.starts += 1
        limit = time.monotonic() + START_SECONDS_MAX
        while not kubeconfig.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                self.log.seek(0)
                text = self.log.read()
                self.close()
                raise RuntimeError("berth apiserver did not start: " + text[-500:])
            time.sleep(0.02)
        self.access = kubeconfig.read_text()
        self.url = re.search(r"server: \"?(http[^\s\"]+)", self.access)[1]

    def tls(self, administrator):
        """The context of a client that trusts the server; with the administrator's certificate, or none."""
        files = {}
        for key in ("certificate-authority", "client-certificate", "client-key"):
            files[key] = pathlib.Path(self.scratch.name, key)
            files[key].write_bytes(base64.b64decode(re.search(key + r"-data: (\S+)", self.access)[1]))
        context = ssl.create_default_context(cafile=files["certificate-authority"])
        if administrator:
            context.load_cert_chain(files["client-certificate"], files["client-key"])
        return context

    def restart(self):
        """Ends the process and begins one with its data; it has another address."""
        self.stop()
        kubeconfig = pathlib.Path(self.scratch.name, "kubeconfig")
        kubeconfig.unlink()
        self.start(kubeconfig)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def close(self):
        self.stop()
        self.log.close()
        self.scratch.cleanup()

    def alive(self):
        return self.process.poll() is None
