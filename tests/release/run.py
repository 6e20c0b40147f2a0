#!/usr/bin/env python3
"""What `make dist` made: the program's needs, the image as a runtime unpacks it, the packages, equal bytes.

Only the standard library, dpkg-deb and binutils. Cases of build/dist are skipped by name where that was not
made; those of the writer itself run everywhere, with /bin/true in berth's place. The closing line is
"N passed, M failed, K skipped".
"""
import contextlib
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent.parent / "tools" / "release"))
import suite
import archives
import oci
import program
from suite import Failure, eventually

DIST = suite.ROOT / "build" / "dist"
STATIC = suite.ROOT / "build" / "static"
EPOCH = 1_700_000_000
GLIBC_MAX = (2, 36)  # docs/install.md promises it
STAND_IN = pathlib.Path("/bin/true")
SECONDS_MAX = 60


def run(*command, seconds=SECONDS_MAX, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds,
                          **options)


def sha256(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def files_of(tar):
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        return {info.name: archive.extractfile(info).read() for info in archive if info.isfile()}


class Image:
    """A layout by the specification alone: index, manifest, config, layers."""

    def __init__(self, files):
        self.files = files
        self.used = {"index.json", "oci-layout"}
        self.index = json.loads(files["index.json"])
        self.manifest = json.loads(self.blob(self.index["manifests"][0]))
        self.config = json.loads(self.blob(self.manifest["config"]))
        compressed = [self.blob(layer) for layer in self.manifest["layers"]]
        self.layers = [subprocess.run(["gzip", "-dc"], input=blob, capture_output=True, check=True).stdout
                       for blob in compressed]

    def blob(self, descriptor):
        path = "blobs/" + descriptor["digest"].replace(":", "/")
        self.used.add(path)
        content = self.files[path]
        assert sha256(content) == descriptor["digest"], path
        assert len(content) == descriptor["size"], path
        return content


def check_image(image):
    assert json.loads(image.files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    assert image.used == set(image.files), image.used ^ set(image.files)
    assert [sha256(layer) for layer in image.layers] == image.config["rootfs"]["diff_ids"]
    settings = image.config["config"]
    assert settings["Entrypoint"] == ["berth"] and settings["User"] == "65532:65532", settings
    made = image.config["created"]
    paths = set()
    for layer in image.layers:
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            infos = archive.getmembers()
        assert [info.name for info in infos] == sorted(info.name for info in infos)
        assert {(info.uid, info.gid) for info in infos} == {(0, 0)}
        assert len({info.mtime for info in infos}) == 1, made
        paths |= {info.name for info in infos}
    assert {"usr/bin/berth", "tmp", "etc/passwd", "etc/group", "etc/ssl/certs/ca-certificates.crt",
            "usr/share/zoneinfo/Europe/Berlin"} <= paths
    shells = {path for path in paths if re.search(r"(^|/)(sh|bash|dash|busybox|apt|dpkg)$", path)}
    assert not shells, shells


def the_writer_makes_a_whole_image_and_the_same_one_twice():
    entries = [oci.layout("1.2.3", "0123", STAND_IN, "terms\n", EPOCH) for _ in range(2)]
    assert entries[0] == entries[1]
    check_image(Image(files_of(archives.tar(entries[0], EPOCH))))
    other = oci.layout("1.2.3", "0123", STAND_IN, "terms\n", EPOCH + 1)
    assert other != entries[0], "the date is in the image"


def a_stand_in_runs_out_of_the_image():
    image = Image(files_of(archives.tar(oci.layout("1.2.3", "0123", STAND_IN, "terms\n", EPOCH), EPOCH)))
    with unpacked(image) as root:
        done = run(*inside(root))
        assert done.returncode == 0, done.stderr


def a_program_with_other_libraries_is_refused():
    said = ""
    try:
        program.check_needed(pathlib.Path(sys.executable).resolve())
        program.check_needed(shutil.which("git"))
    except program.Trouble as trouble:
        said = str(trouble)
    assert "link the archives" in said, said


@contextlib.contextmanager
def unpacked(image):
    """The layers, one over the other, and a folder /data for a volume."""
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch, "root")
        root.mkdir(mode=0o755)
        for layer in image.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                archive.extractall(root)
        (root / "data").mkdir()
        pathlib.Path(scratch).chmod(0o755)
        (pathlib.Path(scratch, "data")).mkdir()
        (pathlib.Path(scratch, "data")).chmod(0o777)
        yield root


# As a runtime: a mount namespace, the root read-only, one volume. Not as root: a user namespace, too.
RUNTIME = """set -e
mount --bind "$0" "$0"
mount --bind "$0/../data" "$0/data"
mount -o remount,ro,bind "$0"
root=$0
user=$1
shift
exec chroot $user "$root" "$@"
"""


def inside(root, *arguments):
    """The command that runs the entry point as a runtime does."""
    as_root = os.geteuid() == 0
    namespace = ["unshare", "--mount"] if as_root else ["unshare", "--map-root-user", "--mount"]
    user = "--userspec=65532:65532" if as_root else "--userspec=0:0"
    return [*namespace, "sh", "-c", RUNTIME, str(root), user, "/usr/bin/berth", *arguments]


def has_namespaces():
    return run("unshare", "--mount", "true").returncode == 0 or \
        run("unshare", "--map-root-user", "--mount", "true").returncode == 0


def by_loader(root, *arguments):
    return [root / "lib64/ld-linux-x86-64.so.2", "--library-path", root / "lib/x86_64-linux-gnu",
            root / "usr/bin/berth", *arguments]


def dist_image():
    (layout,) = [path for path in DIST.glob("berth-*-oci") if path.is_dir()]
    return Image({str(path.relative_to(layout)): path.read_bytes()
                  for path in layout.rglob("*") if path.is_file()})


def the_program_needs_glibc_alone():
    binary = DIST / "berth"
    program.check_needed(binary)
    dynamic = run("readelf", "-dW", binary).stdout
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic, dynamic
    assert program.glibc_wanted(binary) <= GLIBC_MAX, program.glibc_wanted(binary)
    assert str(suite.ROOT).encode() not in binary.read_bytes(), "the program names the folder of the checkout"


def checksums_are_those_of_the_files():
    lines = (DIST / "SHA256SUMS").read_text().splitlines()
    files = {path.name for path in DIST.iterdir() if path.is_file()} - {"SHA256SUMS"}
    assert {line.split("  ")[1] for line in lines} == files
    for line in lines:
        digest, name = line.split("  ")
        assert sha256((DIST / name).read_bytes()) == "sha256:" + digest, name


def the_image_is_whole():
    image = dist_image()
    check_image(image)
    (tar,) = DIST.glob("berth-*-oci.tar")
    assert files_of(tar.read_bytes()) == image.files, "the tar of the layout is another image"
    assert files_of(image.layers[1])["usr/bin/berth"] == (DIST / "berth").read_bytes()


def the_image_is_what_the_manifests_run():
    settings = dist_image().config["config"]
    manifests = run(DIST / "berth", "install", "--dry-run").stdout
    user = re.search(r"runAsUser: (\d+)\n +runAsGroup: (\d+)", manifests)
    assert settings["User"] == "%s:%s" % user.groups(), settings["User"]
    assert "command:" not in manifests, "a manifest has its own entry point"
    assert re.search(r"args:\n *- scheduler\n", manifests)


def the_image_has_what_its_loader_asks_for():
    with unpacked(dist_image()) as root:
        version = run(*by_loader(root, "version"), env={})
        assert version.returncode == 0 and version.stdout.startswith("berth "), version.stderr
        listed = run(*by_loader(root), env={"LD_TRACE_LOADED_OBJECTS": "1"}).stdout
        loaded = re.findall(r"=> (/\S+)", listed)
        assert loaded and all(path.startswith(str(root)) for path in loaded), loaded


def the_image_runs_on_a_read_only_root():
    with unpacked(dist_image()) as root:
        version = run(*inside(root, "version"))
        assert version.returncode == 0 and version.stdout.startswith("berth "), version.stderr
        assert "scheduler" in run(*inside(root, "--help")).stdout
        before = sorted(str(path) for path in root.rglob("*"))
        log = root.parent / "log"
        with open(log, "wb") as stream:
            process = subprocess.Popen(
                [str(word) for word in inside(root, "up", "--data-dir", "/data/state", "--nodes", "2",
                                              "--kubeconfig", "/data/kubeconfig")],
                stdout=stream, stderr=subprocess.STDOUT)
        try:
            ready = root.parent / "data" / "kubeconfig"
            eventually("berth up writes its kubeconfig",
                       lambda: process.poll() is not None or ready.exists(), SECONDS_MAX)
            assert process.poll() is None, log.read_text()
            # Its own HTTP client, over TLS: curl and OpenSSL are inside, too.
            told = run(*inside(root, "doctor", "--kubeconfig", "/data/kubeconfig"))
            assert told.returncode == 0 and told.stdout.startswith("Berth can schedule on https://"), told
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(SECONDS_MAX)
        assert code == 0, log.read_text()
        assert sorted(str(path) for path in root.rglob("*")) == before, "something was written to the root"


def the_tarball_runs():
    (tar,) = DIST.glob("berth-*-linux-amd64.tar.gz")
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(tar) as archive:
        archive.extractall(scratch)
        (binary,) = pathlib.Path(scratch).glob("*/berth")
        assert run(binary, "version", env={}).returncode == 0
        terms = (binary.parent / "THIRD-PARTY").read_text()
        for source in "abseil curl fmtlib grpc nghttp2 openssl protobuf simdjson spdlog sqlite3".split():
            assert "==== %s " % source in terms, source


def the_debian_package_is_sound():
    (package,) = DIST.glob("berth_*.deb")
    fields = run("dpkg-deb", "--field", package).stdout
    assert re.search(r"^Depends: libc6 \(>= 2\.\d+\)$", fields, re.M), fields
    assert re.search(r"^Recommends: ca-certificates, tzdata$", fields, re.M), fields
    version = run(DIST / "berth", "version").stdout.split()[1]
    assert "Version: %s\n" % version in fields, fields
    assert run("dpkg-deb", "--info", package).returncode == 0
    listed = run("dpkg-deb", "--contents", package).stdout.splitlines()
    assert all(" root/root " in line for line in listed), listed
    with tempfile.TemporaryDirectory() as scratch:
        assert run("dpkg-deb", "--extract", package, scratch).returncode == 0
        assert pathlib.Path(scratch, "usr/bin/berth").read_bytes() == (DIST / "berth").read_bytes()
        assert pathlib.Path(scratch, "usr/share/doc/berth/copyright").is_file()


def a_second_release_has_the_same_bytes():
    if not (STATIC / "berth").is_file():
        raise Failure("build/static/berth is gone since `make dist`")
    linked = (STATIC / "berth").read_bytes()
    assert linked == (DIST / "berth").read_bytes(), "build/static has a newer program: run `make dist`"
    settings = dist_image().config
    revision = settings["config"]["Labels"]["org.opencontainers.image.revision"]
    made_at = run("date", "-d", settings["created"], "+%s").stdout.strip()
    with tempfile.TemporaryDirectory() as scratch:
        done = run(sys.executable, suite.ROOT / "tools/release/dist.py", "--revision", revision,
                   "--out", pathlib.Path(scratch, "out"), seconds=3 * SECONDS_MAX,
                   env=dict(os.environ, SOURCE_DATE_EPOCH=made_at))
        assert done.returncode == 0, done.stderr
        assert pathlib.Path(scratch, "out/SHA256SUMS").read_text() == (DIST / "SHA256SUMS").read_text()


WRITER = [the_writer_makes_a_whole_image_and_the_same_one_twice, a_stand_in_runs_out_of_the_image,
          a_program_with_other_libraries_is_refused]
RELEASE = [the_program_needs_glibc_alone, checksums_are_those_of_the_files, the_image_is_whole,
           the_image_is_what_the_manifests_run, the_image_has_what_its_loader_asks_for,
           the_image_runs_on_a_read_only_root, the_tarball_runs, the_debian_package_is_sound,
           a_second_release_has_the_same_bytes]
IN_NAMESPACES = [a_stand_in_runs_out_of_the_image, the_image_runs_on_a_read_only_root]


def reason_to_skip(case):
    if case in RELEASE and not (DIST / "SHA256SUMS").is_file():
        return "there is no build/dist: run `make dist`"
    if case in WRITER and not oci.CERTIFICATES.is_dir():
        return "there is no %s: run `tools/setup.sh dist`" % oci.CERTIFICATES
    if case in IN_NAMESPACES and not has_namespaces():
        return "this machine lets nobody make a mount namespace"
    return None


def main():
    words = suite.options(__doc__).words
    tally = suite.Tally()
    skipped = 0
    for case in WRITER + RELEASE:
        if words and not any(word in case.__name__ for word in words):
            continue
        if reason := reason_to_skip(case):
            print("SKIP %s: %s" % (case.__name__, reason))
            skipped += 1
        else:
            tally.attempt(case)
    return tally.close(skipped)


if __name__ == "__main__":
    sys.exit(main())
