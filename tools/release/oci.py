"""The container image, as an OCI image layout: a folder and a tar of it. No container engine takes part.

Two layers: what any program linked to glibc needs (loader, libraries, users, CA certificates, time zones),
and berth with its licences. There is no shell and no package manager. Source: OCI image specification 1.1.
"""
import datetime
import hashlib
import json
import os
import pathlib

import archives
import program

NONROOT = 65532  # as install/workloads.cc and deploy/helm/berth run it
REFERENCE = "org.opencontainers.image."
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CERTIFICATES = pathlib.Path("/usr/share/ca-certificates/mozilla")
ZONES = pathlib.Path("/usr/share/zoneinfo")

PASSWD = """root:x:0:0:root:/:/sbin/nologin
nonroot:x:%d:%d:nonroot:/:/sbin/nologin
""" % (NONROOT, NONROOT)
GROUP = """root:x:0:
nonroot:x:%d:
""" % NONROOT
# glibc's own default asks DNS before /etc/hosts.
NSSWITCH = """passwd: files
group: files
hosts: files dns
"""


def certificates():
    """Mozilla's, from the package: what an administrator added to this machine stays here."""
    files = sorted(CERTIFICATES.glob("*.crt"))
    if not files:
        raise program.Trouble("%s: has no certificates — run tools/setup.sh dist" % CERTIFICATES)
    return "".join(path.read_text().rstrip("\n") + "\n" for path in files)


def zones():
    """The time zones of the package, which CronJobs name; not their other forms, nor this machine's own."""
    names = sorted(path.relative_to(ZONES).as_posix() for path in ZONES.rglob("*") if path.is_file())
    kept = [name for name in names if not name.startswith(("posix/", "right/", "localtime"))
            and (ZONES / name).read_bytes().startswith(b"TZif")]
    if not kept:
        raise program.Trouble("%s: has no time zones — run tools/setup.sh dist" % ZONES)
    return kept


def base_layer(binary):
    loader = program.interpreter(binary)
    libraries = [name for name in program.needed(binary) if name != os.path.basename(loader)]
    return [
        archives.copied(loader.lstrip("/"), pathlib.Path(loader).resolve(), 0o755),
        *(archives.copied("lib/x86_64-linux-gnu/" + name, program.library_path(name), 0o755)
          for name in libraries),
        archives.file("etc/passwd", PASSWD),
        archives.file("etc/group", GROUP),
        archives.file("etc/nsswitch.conf", NSSWITCH),
        archives.file("etc/ssl/certs/ca-certificates.crt", certificates()),
        *(archives.file("usr/share/doc/%s/copyright" % package, program.licences([package]))
          for package in ("ca-certificates", "libc6", "tzdata")),
        *(archives.copied("usr/share/zoneinfo/" + name, (ZONES / name).resolve(), 0o644)
          for name in zones()),
        archives.folder("tmp", 0o1777),
    ]


def program_layer(binary, copyright_text):
    return [archives.copied("usr/bin/berth", binary, 0o755),
            archives.file("usr/share/doc/berth/copyright", copyright_text)]


def as_json(document):
    return json.dumps(document, indent=2, sort_keys=True).encode() + b"\n"


class Blobs:
    def __init__(self):
        self.by_digest = {}

    def add(self, media_type, content):
        """A descriptor of the content."""
        digest = hashlib.sha256(content).hexdigest()
        self.by_digest[digest] = content
        return {"mediaType": media_type, "digest": "sha256:" + digest, "size": len(content)}


def image_config(layers, created, labels):
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "config": {
            "User": "%d:%d" % (NONROOT, NONROOT),
            "Entrypoint": ["berth"],
            "Env": ["PATH=/usr/bin"],
            "WorkingDir": "/",
            "Labels": labels,
        },
        "rootfs": {"type": "layers",
                   "diff_ids": ["sha256:" + hashlib.sha256(tar).hexdigest() for _, tar in layers]},
        "history": [{"created": created, "created_by": title} for title, _ in layers],
    }


def layout(version, revision, binary, copyright_text, epoch):
    """The files of the layout, as entries of an archive."""
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {REFERENCE + "title": "berth", REFERENCE + "version": version,
              REFERENCE + "revision": revision, REFERENCE + "licenses": "Apache-2.0"}
    layers = [("glibc, users, CA certificates, time zones", archives.tar(base_layer(binary), epoch)),
              ("berth " + version, archives.tar(program_layer(binary, copyright_text), epoch))]
    blobs = Blobs()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blobs.add(CONFIG, as_json(image_config(layers, created, labels))),
        "layers": [blobs.add(LAYER, archives.gzipped(tar)) for _, tar in layers],
        "annotations": dict(labels, **{REFERENCE + "created": created}),
    }
    described = blobs.add(MANIFEST, as_json(manifest))
    described["annotations"] = {REFERENCE + "ref.name": version}
    described["platform"] = {"architecture": "amd64", "os": "linux"}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [described]}
    return [archives.file("index.json", as_json(index)),
            archives.file("oci-layout", as_json({"imageLayoutVersion": "1.0.0"})),
            *(archives.file("blobs/sha256/" + digest, content)
              for digest, content in blobs.by_digest.items())]
