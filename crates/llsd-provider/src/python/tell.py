"""Says what the server is that runs this Python: for it, providers' wheels are chosen and judged.

To the file that it is called with, else to stdout.
"""

import glob
import json
import platform
import re
import subprocess
import sys
from importlib import metadata


def libc():
    name, version = platform.libc_ver()
    if name:
        return f"{name} {version}"
    for loader in glob.glob("/lib/ld-musl-*.so.1"):
        said = subprocess.run([loader], capture_output=True, text=True).stderr
        found = re.search(r"Version (\d+\.\d+)", said)
        if found:
            return f"musl {found[1]}"
    return None


# Not what lies in the folder that this was called in, where an author may build a provider.
sys.path = [path for path in sys.path if path]
# The first on the path is the one that is imported.
packages = {}
for distribution in metadata.distributions():
    name = distribution.metadata["Name"]
    if name:
        packages.setdefault(name, distribution.version)
facts = {"python": platform.python_version(), "machine": platform.machine(), "packages": packages}
facts["libc"] = libc()
text = json.dumps(facts, indent=1, sort_keys=True)
if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as file:
        file.write(text)
else:
    print(text)
