"""Takes the directory that a wheel was built in out of its list of components, and writes the list beside it.

    wheel.py WHEEL ROOT LIST

`maturin` names local crates in it by their place on this machine. The wheel's own list of hashes is renewed.
"""

import base64
import hashlib
import pathlib
import sys
import zipfile

wheel, root, listed = sys.argv[1:]
with zipfile.ZipFile(wheel) as built:
    files = [(info, built.read(info)) for info in built.infolist()]
[(sbom, content)] = [(info.filename, data) for info, data in files if info.filename.endswith(".cyclonedx.json")]
content = content.replace(f"file://{root}".encode(), b"file:///dialectic")
assert root.encode() not in content, "the list of components still names the directory"
digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def renewed(name, data):
    if name == sbom:
        return content
    if name.endswith(".dist-info/RECORD"):
        lines = data.decode().splitlines()
        lines = [f"{sbom},sha256={digest},{len(content)}" if line.startswith(f"{sbom},") else line for line in lines]
        return "".join(f"{line}\n" for line in lines).encode()
    return data


with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
    for info, data in files:
        out.writestr(info, renewed(info.filename, data), zipfile.ZIP_DEFLATED)
pathlib.Path(listed).write_bytes(content)
