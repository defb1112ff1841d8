"""The manifests of the npm packages, from the table of platforms.

    manifest.py main VERSION > package.json
    manifest.py platform VERSION TARGET > package.json
"""

import json
import pathlib
import sys

PLATFORMS = pathlib.Path(__file__).parent.parent / "platforms.tsv"
COMMON = {
    "license": "MIT",
    "repository": {"type": "git", "url": "git+https://github.com/dialectic-cli/dialectic.git"},
}


def platforms():
    """Each platform: target, os, cpu."""
    for line in PLATFORMS.read_text().splitlines():
        if line and not line.startswith("#"):
            target, _checked, _runner, _tags, os, cpu = line.split("\t")
            yield target, os, cpu


def main(version):
    """The package that people install. npm adds the one for their platform."""
    packages = sorted((f"@dialectic-cli/{os}-{cpu}", version) for _, os, cpu in platforms())
    return {
        "name": "dialectic-cli",
        "version": version,
        "description": "Language-model agents debate a problem in your terminal and a judge hands back one answer",
        **COMMON,
        "bin": {"dialectic": "bin/dialectic.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": dict(packages),
    }


def platform(version, target):
    """The package with the program for one platform."""
    os, cpu = next((os, cpu) for known, os, cpu in platforms() if known == target)
    return {
        "name": f"@dialectic-cli/{os}-{cpu}",
        "version": version,
        "description": f"The program of dialectic-cli for {target}",
        **COMMON,
        "os": [os],
        "cpu": [cpu],
        "preferUnplugged": True,
    }


what, *arguments = sys.argv[1:]
print(json.dumps({"main": main, "platform": platform}[what](*arguments), indent=2))
