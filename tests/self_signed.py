"""Self-signed certificates for the servers of a test. Only the standard library and openssl."""
import shutil
import subprocess

import suite


def make_certificate(folder, names="IP:127.0.0.1"):
    """One for these names ("IP:127.0.0.1,DNS:a.example.com") in the files cert and key; its PEM text."""
    if not shutil.which("openssl"):
        raise suite.Skip("openssl is missing")
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                           "-nodes", "-days", "1", "-subj", "/CN=test", "-addext", "subjectAltName=" + names,
                           "-keyout", str(folder / "key"), "-out", str(folder / "cert")],
                          capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    return (folder / "cert").read_text()
