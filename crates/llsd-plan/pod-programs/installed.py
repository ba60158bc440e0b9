"""The server that this image has installed, llama-stack or its successor OGX, and the file that it starts with."""

import importlib.metadata
import importlib.util
import os
import re
import socket
import sys

import yaml

MOUNTED_FILE = "/etc/llama-stack/config.yaml"
# Of images that name no distribution.
OWN_FILES = [f"{folder}/{file}" for folder in ("/app", "/opt/app-root") for file in ("config.yaml", "run.yaml")]
START_RECORD = "/run/llama-stack-start"  # a folder that lives as long as the pod
Release = tuple[int, int, int]
OGX = (1, 0, 0)  # llama-stack ended with 0.7
NEWEST = (0, 99, 0)
NEWEST_OGX = (99, 0, 0)


def say(message: str) -> None:
    print(f"start: {message}", file=sys.stderr, flush=True)


def fail(message: str) -> None:
    say(f"error: {message}")
    sys.exit(1)


def installed_release() -> Release:
    """0.3.0rc1, 0.3.0.dev7 and 0.3.0+vendor.1 behave as 0.3.0; a build without a number as the newest."""
    for package, newest in (("ogx", NEWEST_OGX), ("llama_stack", NEWEST)):
        try:
            number = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            continue
        release = tuple(int(part or 0) for part in number.groups()) if number else newest
        return newest if release[:2] == (0, 0) else release
    return NEWEST


def config_file(release: Release) -> str | None:
    """The file that is mounted; without one the image's own, which its entrypoint would start the server with."""
    given = os.environ.get("LLAMA_STACK_CONFIG")
    if given or os.path.exists(MOUNTED_FILE):
        return given or MOUNTED_FILE
    own = os.environ.get("RUN_CONFIG_PATH")
    name = os.environ.get("DISTRO_NAME") or ("starter" if release >= OGX else None)
    candidates = [own] if own else []
    candidates += packaged_files(name, release) if name else []
    candidates += OWN_FILES if not name else []
    return next((file for file in candidates if os.path.exists(file)), None)


def packaged_files(name: str, release: Release) -> list[str]:
    """Where the server's package has the configuration of a distribution; the names changed with releases."""
    found = importlib.util.find_spec("ogx" if release >= OGX else "llama_stack")
    if not found or not found.origin:
        return []
    package = os.path.dirname(found.origin)
    folders = ("distributions", "templates")
    return [os.path.join(package, folder, name, file) for folder in folders for file in ("config.yaml", "run.yaml")]


def server_module(release: Release) -> str:
    return f"{'ogx' if release >= OGX else 'llama_stack'}.core.server.server"


def prepare_ogx(file: str) -> None:
    """What it reads at its start. Without a folder of its own it would move what it finds in ~/.llama, also off the
    volume; HF_HOME is where the volume is mounted."""
    os.environ["OGX_CONFIG"] = file
    if not os.environ.get("OGX_CONFIG_DIR"):
        home = os.environ.get("HF_HOME") or os.path.expanduser("~")
        os.environ["OGX_CONFIG_DIR"] = os.path.join(home, ".ogx")
    if os.environ.get("OGX_METRICS_HOST") == "0.0.0.0":  # as planned; its one socket is like that of several workers
        os.environ["OGX_METRICS_HOST"] = every_address(workers=2)


def read(file: str) -> dict:
    try:
        with open(file) as opened:
            document = yaml.safe_load(opened)
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        fail(f"{file} cannot be read: {type(error).__name__}")
    return document if isinstance(document, dict) else fail(f"{file} is not a mapping")


def reference(release: Release) -> str:
    """How the release writes a variable."""
    operator = "([:+])" if release < (0, 2, 13) else ":([=+])"
    return r"\$\{env\.([A-Z0-9_]+)(?:" + operator + r"([^}]*))?\}"


def resolved(node, pattern: str):
    """The value with its environment references replaced as the server does it; what is not set becomes None.
    The server has a function for this, but importing it takes as long as half a start."""
    if isinstance(node, dict):
        return {key: resolved(value, pattern) for key, value in node.items()}
    if isinstance(node, list):
        return [resolved(value, pattern) for value in node]
    if not isinstance(node, str):
        return node

    def value_of(reference: re.Match) -> str:
        name, operator, text = reference.groups()
        value = os.environ.get(name, "")
        return os.path.expanduser((text if value else "") if operator == "+" else value or text or "")

    result = re.sub(pattern, value_of, node)
    return node if result == node else result or None


def every_address(workers: int) -> str:
    """The socket that several workers share takes both families as `::`; a single worker would take that for IPv6
    alone, and opens one socket for each family when the host is empty. Without IPv6 in the kernel neither works."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::", 0))
            both = not probe.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
    except OSError:
        return "0.0.0.0"
    return "" if workers == 1 else "::" if both else "0.0.0.0"
