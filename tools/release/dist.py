#!/usr/bin/env python3
"""Makes what a release consists of, from a program that is linked already: `make dist` runs this.

A tarball, a Debian package, a container image (an OCI layout, as a folder and as a tar), and their checksums.
The same program and the same SOURCE_DATE_EPOCH (the commit's date, where it is not set) give the same bytes.
"""
import argparse
import hashlib
import os
import pathlib
import shutil
import sys
import time

import archives
import debian
import oci
import program

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def git(*words):
    return program.output("git", "-C", ROOT, *words).strip()


def copyright_of(build):
    packages = [name for name in program.packages_of(program.build_inputs(build))
                if name not in program.HEADERS_ALONE]
    own = (ROOT / "LICENSE").read_text().strip("\n")
    return ("Berth is under the Apache License, Version 2.0, below. The program also holds code of the\n"
            "Debian source packages that follow, under the terms of their own copyright files.\n\n%s\n\n%s"
            % (own, program.licences(packages)))


def tarball(version, binary, copyright_text, epoch):
    name = "berth-%s-linux-amd64" % version
    entries = [archives.copied(name + "/berth", binary, 0o755),
               archives.copied(name + "/LICENSE", ROOT / "LICENSE"),
               archives.file(name + "/THIRD-PARTY", copyright_text)]
    return name + ".tar.gz", archives.gzipped(archives.tar(entries, epoch))


def write_image(entries, version, epoch, out):
    name = "berth-%s-oci" % version
    (out / name).mkdir()
    archives.write_tree(entries, out / name, epoch)
    (out / (name + ".tar")).write_bytes(archives.tar(entries, epoch))


def replaceable(out):
    """Whether the folder is an earlier release, or nothing that anybody would miss."""
    return not out.exists() or not any(out.iterdir()) or (out / "SHA256SUMS").is_file()


def make(build, out, epoch, revision):
    binary = build / "berth"
    program.check_needed(binary)
    version = program.version_of(binary)
    copyright_text = copyright_of(build)
    shutil.copy2(binary, out / "berth")
    name, content = tarball(version, binary, copyright_text, epoch)
    (out / name).write_bytes(content)
    debian.build(version, binary, copyright_text, epoch, out)
    write_image(oci.layout(version, revision, binary, copyright_text, epoch), version, epoch, out)
    sums = "".join("%s  %s\n" % (hashlib.sha256(path.read_bytes()).hexdigest(), path.name)
                   for path in sorted(out.iterdir()) if path.is_file())
    (out / "SHA256SUMS").write_text(sums)


def replace(out, build, epoch, revision):
    """The folder is the earlier release until the new one is whole."""
    if not replaceable(out):
        raise program.Trouble("--out %s: is no earlier release, nor empty — name another folder" % out)
    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    make(build, part, epoch, revision)
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "static")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "dist")
    parser.add_argument("--revision", help="named in the image (the commit, -dirty where files differ)")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))
        revision = options.revision or git("describe", "--always", "--abbrev=40", "--dirty", "--exclude=*")
        replace(options.out.resolve(), options.build.resolve(), epoch, revision)
    except program.Trouble as trouble:
        print("dist: %s" % trouble, file=sys.stderr)
        return 1
    for path in sorted(options.out.iterdir()):
        size = "%9.1f MB" % (path.stat().st_size / 1e6) if path.is_file() else "   folder   "
        print("%s  %s" % (size, path))
    print("dist: %.1f s" % (time.monotonic() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
