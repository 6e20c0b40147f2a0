"""Operators of other people next to `berth up`: manifests, account, webhooks, certificates."""
import base64
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request

from programs import HERE, Failure, Process, Server, Skip, eventually, program

MODULES = HERE / "operators"
READY_SECONDS_MAX = 120
PROBE_SECONDS_MAX = 5
CERTIFICATE_DAYS = 30
TOKEN_LIFETIME = "24h"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def module(path):
    """The folder where Go keeps the sources of a module, in the version of operators/go.mod."""
    command = ["go", "list", "-C", str(MODULES), "-mod=readonly", "-m", "-f", "{{.Dir}}", path]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skip("no sources of %s: %s" % (path, error)) from error
    if not found:
        raise Skip("the sources of %s are not in Go's module cache" % path)
    return pathlib.Path(found)


class Operator:
    """One operator: its Deployment has no replica, and its program runs here as the Deployment's account."""

    name = module_path = namespace = service = account = ""
    webhooks = ()  # its admission configurations, where it does not write their caBundle itself
    secret = ""    # where it keeps the certificate that it makes itself
    probe_path = "/readyz"

    def __init__(self):
        self.program = program(self.name)
        self.source = module(self.module_path)
        self.port, self.probe_port = free_port(), free_port()

    def flags(self):
        """Where its Service is, for `berth up`."""
        place = (self.namespace, self.service, self.port)
        return ("--webhook-service=%s/%s=https://127.0.0.1:%d" % place,) if self.service else ()

    def kustomization(self, _folder):
        return self.source / "config" / "default"

    def arguments(self, folder, certificates):
        config = folder / "config.json"
        config.write_text(json.dumps(self.configuration(certificates)))
        return "--config", config

    def configuration(self, certificates):
        """What its --config file says."""
        raise NotImplementedError

    def common(self, certificates):
        """What the configuration files of all of them say alike."""
        return {"kind": "Configuration",
                "webhook": {"host": "127.0.0.1", "port": self.port, "certDir": str(certificates)},
                "health": {"healthProbeBindAddress": "127.0.0.1:%d" % self.probe_port},
                "metrics": {"bindAddress": "0"},
                "leaderElection": {"leaderElect": True, "resourceNamespace": self.namespace}}

    def start(self, server):
        folder = server.folder / self.name
        certificates = folder / "k8s-webhook-server" / "serving-certs"  # controller-runtime's, below TMPDIR
        certificates.mkdir(parents=True)
        self.install(server, folder)
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig(server, folder)),
                       "TMPDIR": str(folder)}
        if self.webhooks:
            self.certify(server, certificates)
        process = Process([self.program, *self.arguments(folder, certificates)], environment, folder / "log")
        server.processes.append(process)
        try:
            if self.secret:
                eventually("%s makes its certificate" % self.name, lambda: self.mount(server, certificates))
            eventually("%s is ready" % self.name, lambda: self.ready(process), READY_SECONDS_MAX)
        except Failure as failure:
            raise Failure("%s\n%s" % (failure, process.log.read_text()[-3000:])) from failure

    def install(self, server, folder):
        """Its definitions, roles and webhook configurations, as its release has them."""
        made = server.kubectl("kustomize", self.kustomization(folder))
        server.kubectl("apply", "--server-side", "-f", "-", text=made)
        server.kubectl("scale", "deployment", "--all", "--replicas=0", "-n", self.namespace)

    def kubeconfig(self, server, folder):
        """One for its account: what it may is what its roles say."""
        config = json.loads(server.kubectl("config", "view", "--raw", "-o", "json"))
        token = server.kubectl("create", "token", self.account, "-n", self.namespace,
                               "--duration=" + TOKEN_LIFETIME).strip()
        config["users"] = [{"name": self.name, "user": {"token": token}}]
        config["contexts"][0]["context"]["user"] = self.name
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def certify(self, server, folder):
        """A certificate in files, and its authority in the configurations, as cert-manager does it."""
        host = "%s.%s.svc" % (self.service, self.namespace)
        server.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                   "-nodes", "-days", CERTIFICATE_DAYS, "-subj", "/CN=" + host, "-addext",
                   "subjectAltName=DNS:" + host, "-keyout", folder / "tls.key", "-out", folder / "tls.crt")
        bundle = base64.b64encode((folder / "tls.crt").read_bytes()).decode()
        for configuration in self.webhooks:
            patch = [{"op": "add", "path": "/webhooks/%d/clientConfig/caBundle" % index, "value": bundle}
                     for index, _ in enumerate(server.get(configuration)["webhooks"])]
            server.kubectl("patch", configuration, "--type=json", "-p", json.dumps(patch))

    def mount(self, server, folder):
        """The Secret as files, as a kubelet mounts it."""
        found = server.get("secret", self.secret, "-n", self.namespace).get("data", {})
        for name, value in found.items():
            (folder / name).write_bytes(base64.b64decode(value))
        return "tls.crt" in found

    def ready(self, process):
        if process.process.poll() is not None:
            raise Failure("%s ended with %d" % (self.name, process.process.returncode))
        try:  # not each of them waits for its webhooks before it says that it is ready
            if self.service:
                socket.create_connection(("127.0.0.1", self.port), PROBE_SECONDS_MAX).close()
            with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.probe_port, self.probe_path),
                                        timeout=PROBE_SECONDS_MAX) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False


def with_operators(*kinds, flags=()):
    """Runs a case with a `berth up` of its own and these operators next to it."""
    def wrap(case):
        def run(berth):
            operators = [kind() for kind in kinds]
            with tempfile.TemporaryDirectory(prefix="berth-operators-") as folder:
                services = [flag for operator in operators for flag in operator.flags()]
                server = Server(berth, pathlib.Path(folder), *flags, *services)
                try:
                    for operator in operators:
                        operator.start(server)
                    case(server)
                finally:
                    server.close()
        run.__name__ = case.__name__
        return run
    return wrap
