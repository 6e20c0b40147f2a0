"""The Debian package: the program, its licences, and control data that dpkg derives from the program."""
import hashlib
import math
import os
import pathlib
import tempfile

import archives
import program

MAINTAINER = "The Berth maintainers <maintainers@berth.invalid>"
DESCRIPTION = """scheduler of accelerator workloads for Kubernetes
 Places pods and gangs that ask for devices (DRA) beside kube-scheduler, and
 binds them. The same program is an embedded control plane for trying things
 out (berth up), and installs itself on a cluster (berth install)."""


def depends(binary):
    """Of the symbols that the program uses, by dpkg-shlibdeps."""
    with tempfile.TemporaryDirectory() as scratch:
        pathlib.Path(scratch, "debian").mkdir()
        source = pathlib.Path(scratch, "debian", "control")
        source.write_text("Source: berth\n\nPackage: berth\nArchitecture: any\n")
        told = program.output("dpkg-shlibdeps", "-O", "-e" + str(binary), cwd=scratch)
    return told.partition("shlibs:Depends=")[2].strip()


def control(version, entries, binary):
    size = sum(math.ceil(len(entry.content) / 1024) for entry in archives.with_folders(entries))
    fields = [("Package", "berth"), ("Version", version),
              ("Architecture", program.output("dpkg", "--print-architecture").strip()),
              ("Maintainer", MAINTAINER), ("Installed-Size", str(size)), ("Depends", depends(binary)),
              ("Recommends", "ca-certificates, tzdata"), ("Section", "admin"), ("Priority", "optional"),
              ("Description", DESCRIPTION)]
    return "".join("%s: %s\n" % field for field in fields)


def build(version, binary, copyright_text, epoch, folder):
    """Writes berth_VERSION_ARCHITECTURE.deb into the folder and says its path."""
    entries = [archives.copied("usr/bin/berth", binary, 0o755),
               archives.file("usr/share/doc/berth/copyright", copyright_text)]
    sums = "".join("%s  %s\n" % (hashlib.md5(entry.content).hexdigest(), entry.path) for entry in entries)
    steering = [archives.file("DEBIAN/control", control(version, entries, binary)),
                archives.file("DEBIAN/md5sums", sums)]
    architecture = program.output("dpkg", "--print-architecture").strip()
    package = folder / ("berth_%s_%s.deb" % (version, architecture))
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch, "berth")
        root.mkdir()
        archives.write_tree(entries + steering, root, epoch)
        root.chmod(0o755)
        os.utime(root, (epoch, epoch))
        # One thread, as the number of threads decides where xz ends its blocks; level 6 takes three times as
        # long for a tenth less.
        program.output("dpkg-deb", "--root-owner-group", "-Zxz", "-z2", "--threads-max=1", "--build", root,
                       package, env=dict(os.environ, SOURCE_DATE_EPOCH=str(epoch)))
    return package
