"""`berth up` as other people's programs meet it, over TLS and on disk, and those programs as processes."""
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent)]
from control_plane import CACHE
from suite import Failure, Skip, eventually

START_SECONDS_MAX = 60
COMMAND_SECONDS_MAX = 120
MEMORY_KIB = re.compile(r"VmRSS:\s+(\d+) kB")


def program(name):
    """A program that was built for this suite, or of the rig."""
    path = CACHE / name
    if not path.exists():
        raise Skip("not built (tests/cluster/run.py --build): %s" % path)
    return path


def list_of(objects):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


class Server:
    """A `berth up` (or another part) in a folder; it can be killed and started again."""

    def __init__(self, berth, folder, *flags, part="up"):
        self.folder, self.processes = folder, []
        self.kubeconfig = folder / "kubeconfig"
        self.log = folder / "berth.log"
        self.command = [str(berth), part, "--data-dir", str(folder / "data"), "--kubeconfig",
                        str(self.kubeconfig), *flags]
        self.started_seconds = self.start()

    def start(self):
        """Returns the seconds until it was ready."""
        self.kubeconfig.unlink(missing_ok=True)
        began = time.monotonic()
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        limit = began + START_SECONDS_MAX
        while not self.kubeconfig.exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise Failure("berth did not start: " + self.log.read_text()[-1000:])
            time.sleep(0.01)
        return time.monotonic() - began

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()

    def close(self):
        for process in self.processes:
            process.close()
        self.process.kill()
        self.process.wait()

    def memory_mib(self):
        status = pathlib.Path("/proc/%d/status" % self.process.pid).read_text()
        return int(MEMORY_KIB.search(status)[1]) // 1024

    def cpu_seconds(self):
        fields = pathlib.Path("/proc/%d/stat" % self.process.pid).read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def environment(self):
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def run(self, *command, good=True, text=None, **variables):
        """What a command prints, its errors too; `good` None takes any end."""
        done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True,
                              check=False, timeout=COMMAND_SECONDS_MAX,
                              env={**self.environment(), **variables})
        if good is not None and (done.returncode == 0) != good:
            raise Failure("%s ended with %d:\n%s%s" % (" ".join(map(str, command)), done.returncode,
                                                       done.stdout[-3000:], done.stderr[-3000:]))
        return done.stdout + done.stderr

    def kubectl(self, *arguments, **options):
        return self.run("kubectl", *arguments, **options)

    def get(self, *arguments):
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def create(self, *objects):
        self.kubectl("create", "-f", "-", text=list_of(objects))

    def spawn(self, *command):
        process = Process(command, self.environment(), self.folder / (pathlib.Path(command[0]).name + ".log"))
        self.processes.append(process)
        return process


class Process:
    """A program that prints JSON objects, a line each, and is asked by lines."""

    def __init__(self, command, environment, log):
        self.log = log
        with open(log, "a", encoding="utf-8") as errors:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, env=environment)
        self.text = b""

    def line(self, seconds=120):
        """The next object."""
        limit = time.monotonic() + seconds
        while b"\n" not in self.text:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, limit - time.monotonic()))
            read = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not read:
                raise Failure("%s said nothing more: %s" % (self.log.name, self.log.read_text()[-2000:]))
            self.text += read
        first, _, self.text = self.text.partition(b"\n")
        return json.loads(first)

    def ask(self, seconds=120):
        self.process.stdin.write(b"?\n")
        self.process.stdin.flush()
        return self.line(seconds)

    def close(self):
        self.process.kill()
        self.process.wait()




__all__ = ["HERE", "Failure", "Process", "Server", "Skip", "eventually", "list_of", "program"]
