"""A `berth apiserver` or `berth up` for a suite: empty, on plain HTTP, every request an administrator's."""
import json
import pathlib
import re
import signal
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

    def __init__(self, berth, part, gates, more_flags=()):
        self.scratch = tempfile.TemporaryDirectory(prefix="berth-served-")
        kubeconfig = pathlib.Path(self.scratch.name, "kubeconfig")
        self.log = open(pathlib.Path(self.scratch.name, "log"), "w+")
        # On disk: a store in memory begins above the version that the recordings take for one of the future.
        data = pathlib.Path(self.scratch.name, "data")
        command = [str(berth), part, "--data-dir", str(data), "--insecure", "--listen", "127.0.0.1:0",
                   "--kubeconfig", str(kubeconfig), *more_flags]
        if gates:
            command += ["--feature-gates", ",".join(gate + "=true" for gate in gates)]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        limit = time.monotonic() + START_SECONDS_MAX
        while not kubeconfig.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                self.log.seek(0)
                text = self.log.read()
                self.close()
                raise RuntimeError("berth apiserver did not start: " + text[-500:])
            time.sleep(0.02)
        self.url = re.search(r"server: \"?(http[^\s\"]+)", kubeconfig.read_text())[1]

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.scratch.cleanup()

    def alive(self):
        return self.process.poll() is None
