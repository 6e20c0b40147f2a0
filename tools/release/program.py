"""What the linked program is made of: its version, the shared libraries it needs, whose code is inside."""
import functools
import pathlib
import re
import subprocess

# Everything else is inside; all of these are glibc's (package libc6).
ALLOWED = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6")
# Their headers leave nothing in the program that glibc's own shared libraries do not have.
HEADERS_ALONE = ("libc6-dev", "linux-libc-dev")
COMMON_LICENCES = pathlib.Path("/usr/share/common-licenses")
PACKAGES_AT_ONCE = 500


class Trouble(Exception):
    """What stops a release, and what to do."""


def output(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Trouble("%s: %s" % (" ".join(str(word) for word in command[:4]), done.stderr.strip()))
    return done.stdout


def version_of(program):
    found = re.match(r"berth (\S+) ", output(program, "version"))
    if not found:
        raise Trouble("%s version: names no version" % program)
    return found[1]


def needed(program):
    """Names of shared libraries, as the loader will look for them."""
    return sorted(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-dW", program)))


def interpreter(program):
    found = re.search(r"Requesting program interpreter: (\S+)\]", output("readelf", "-lW", program))
    if not found:
        raise Trouble("%s: names no loader: it is linked wholly statically" % program)
    return found[1]


def glibc_wanted(program):
    """The newest version of glibc's symbols that it uses, as (2, 34)."""
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "-VW", program))
    return max((int(major), int(minor)) for major, minor in found)


def check_needed(program):
    extra = [name for name in needed(program) if name not in ALLOWED]
    if extra:
        raise Trouble("%s: needs %s — link the archives (cmake/static.cmake)" % (program, ", ".join(extra)))


@functools.cache
def shared_libraries():
    """Where this machine's loader finds each library."""
    return dict(re.findall(r"^\s*(\S+) \(libc6,x86-64.*\) => (\S+)$", output("/sbin/ldconfig", "-p"), re.M))


def library_path(name):
    if name not in shared_libraries():
        raise Trouble("%s: this machine's loader does not find it" % name)
    return pathlib.Path(shared_libraries()[name]).resolve()


def build_inputs(build):
    """Archives and headers of this machine that went into the program."""
    inputs = set(re.findall(r"^ {4}(/usr/\S+)$", output("ninja", "-C", build, "-t", "deps"), re.M))
    link = output("ninja", "-C", build, "-t", "commands", "-s", "berth")
    inputs |= set(re.findall(r"(/usr/\S+\.a)\b", link))
    return sorted({str(pathlib.Path(path).resolve()) for path in inputs})


def packages_of(paths):
    """The Debian packages that own the files, sorted."""
    packages = set()
    for begin in range(0, len(paths), PACKAGES_AT_ONCE):
        found = output("dpkg-query", "-S", *paths[begin:begin + PACKAGES_AT_ONCE])
        packages |= {name.strip().partition(":")[0] for line in found.splitlines()
                     for name in line.rpartition(": ")[0].split(",")}
    return sorted(packages)


def source_of(package):
    return output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package)


def licences(packages):
    """The copyright files of the packages, one for each source, and the licences that these only name."""
    texts, named = {}, set()
    for package in packages:
        text = pathlib.Path("/usr/share/doc", package, "copyright").read_text(errors="replace")
        texts.setdefault(source_of(package), text)
        named |= set(re.findall(r"/usr/share/common-licenses/([A-Za-z][\w.-]*\w)", text))
    parts = ["==== %s ====\n\n%s" % (source, texts[source].strip()) for source in sorted(texts)]
    for name in sorted(named):
        if (COMMON_LICENCES / name).is_file():
            parts.append("==== licence %s ====\n\n%s" % (name, (COMMON_LICENCES / name).read_text().rstrip()))
    return "\n\n".join(parts) + "\n"
