"""Starts the server of this image the way the operator's resource asks.

Runs as `python3 <this file>` in the server's container and becomes the server by exec, so that signals reach it.

Environment: LLAMA_STACK_CONFIG (the file; without it the image's own, which RUN_CONFIG_PATH and DISTRO_NAME of the
image name), LLS_PORT, LLS_WORKERS, LLS_TLS_CERT_FILE and LLS_TLS_KEY_FILE (where the file has none), LLS_HOST
(optional; by default every address). Where the resource has access: see access.py.
Arguments are passed on to the server.
Only counts and ids are printed, for the resolved configuration and the store hold secrets.
"""

import contextlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import registrations
from installed import (
    OGX,
    START_RECORD,
    Release,
    config_file,
    every_address,
    fail,
    installed_release,
    prepare_ogx,
    read,
    reference,
    resolved,
    say,
    server_module,
)

ENTRYPOINTS = ("llama-stack-entrypoint.sh", "ogx-entrypoint.sh", "/opt/app-root/entrypoint.sh")  # of published images
FAILED_START_SECONDS = 900  # one that ran for longer had started
PREFLIGHT_SECONDS = 60
OWN_LOOP = (1, 2, 0)  # since then it is initialized where it serves; 0.2.16 to 0.2.22 were, too, and take no harm


def run_as_it_is(release: Release) -> None:
    """Starts the server as the image would, where its configuration is nowhere to be found: by its entrypoint, if it
    is one that is known, else by the server's own command."""
    asked = {"LLS_TLS_CERT_FILE": "networking.tls", "LLS_WORKERS": "workload.workers"}
    lost = [field for name, field in asked.items() if os.environ.get(name) not in (None, "", "1")]
    effect = f": {' and '.join(lost)} without effect" if lost else ""
    say(f"the image's own configuration is not found, so it runs as it is{effect}")
    entrypoint = next(filter(shutil.which, ENTRYPOINTS), None)
    if entrypoint:
        become([entrypoint, *sys.argv[1:]])
    port = os.environ.get("LLS_PORT") or "8321"
    name = os.environ.get("DISTRO_NAME") or "starter"
    command = ["ogx", "run"] if release >= OGX else ["llama", "stack", "run"]
    become([*with_telemetry(), *command, name, "--port", port, *sys.argv[1:]])


def with_telemetry() -> list[str]:
    """What the server is started through where telemetry is asked for: somewhere to send it to, or another way to
    export it. Any other variable of OpenTelemetry only says how."""
    signals = ("TRACES", "METRICS", "LOGS")
    places = ["OTEL_EXPORTER_OTLP_ENDPOINT", *(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT" for signal in signals)]
    exporters = [os.environ.get(f"OTEL_{signal}_EXPORTER") or "none" for signal in signals]
    asked = any(os.environ.get(name) for name in places) or any(name != "none" for name in exporters)
    disabled = (os.environ.get("OTEL_SDK_DISABLED") or "").strip().lower() == "true"
    program = "opentelemetry-instrument"
    return [program] if asked and not disabled and shutil.which(program) else []


def become(command: list[str]) -> None:
    try:
        os.execvp(command[0], command)
    except OSError as error:
        fail(f"{command[0]} cannot be run: {error.strerror}")


def check_after_a_failed_start() -> None:
    """Where this pod has tried to start a moment ago, the server ended. Then its file is checked before the next try, and
    what is found becomes the container's last words, in place of the server's, which hide the cause and quote values.
    A first start is not slowed."""
    folder = os.environ.get("LLS_START_RECORD") or START_RECORD
    record = os.path.join(folder, "started")
    try:
        failed = os.path.exists(record) and time.time() - os.path.getmtime(record) < FAILED_START_SECONDS
        with open(record, "w"):
            pass
    except OSError:
        return
    if not failed:
        return
    words = os.environ | {"LLS_PREFLIGHT_SECONDS": str(PREFLIGHT_SECONDS), "LLS_TERMINATION_LOG": os.devnull}
    try:
        done = subprocess.run([sys.executable, beside("preflight.py")], env=words, capture_output=True, timeout=PREFLIGHT_SECONDS + 10)
        problems = [one for one in json.loads(done.stdout)["problems"] if one["kind"] != "dropped"]
    except (OSError, ValueError, KeyError, subprocess.SubprocessError):
        return
    if not problems:
        return
    found = "; ".join(f"{one['path']}: {one['message']}".removeprefix(": ") for one in problems)
    say(f"error: {found}")
    with contextlib.suppress(OSError), open(os.environ.get("LLS_TERMINATION_LOG") or "/dev/termination-log", "w") as log:
        log.write(f"start: error: {found}\n")


def mappings(node) -> Iterator[dict]:
    """Every mapping of the configuration: each layout has its stores somewhere else."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    for value in node if isinstance(node, list) else ():
        yield from mappings(value)


def uses_redis(config: dict) -> bool:
    return any(store.get("type") in ("redis", "kv_redis") for store in mappings(config))


def make_database_folders(config: dict) -> None:
    """OGX and 0.2 open their SQL database before anything has made the folder, which only their key-value store does.
    Where that is in Redis or Postgres they would not start on a new volume. Of a folder that cannot be made they say
    more themselves."""
    for store in mappings(config):
        if str(store.get("type")).endswith("sqlite") and store.get("db_path"):
            with contextlib.suppress(OSError):
                folder = os.path.dirname(os.path.expanduser(str(store["db_path"])))
                os.makedirs(folder or ".", exist_ok=True)


def number(name: str, configured, default: int) -> int:
    text = str(os.environ.get(name) or configured or default)
    return int(text) if text.isdecimal() and int(text) else fail(f"{name} is no positive number: {text}")


def server_command(config: dict, release: Release, file: str) -> list[str]:
    server = config.get("server") or {}
    port = number("LLS_PORT", server.get("port"), 8321)
    workers = number("LLS_WORKERS", server.get("workers"), 1)
    certificate, key, authority = (server.get(f"tls_{name}file") for name in ("cert", "key", "ca"))
    if bool(certificate) != bool(key):  # the server would speak plain HTTP without a word
        fail("server.tls_certfile and server.tls_keyfile need each other")
    asked = os.environ.get("LLS_TLS_CERT_FILE"), os.environ.get("LLS_TLS_KEY_FILE")
    mended = release < OWN_LOOP and (release >= OGX or uses_redis(config))
    python = [sys.executable, beside("event_loops.py") if mended else "-m"]
    if release < (0, 3):  # reads TLS from the file, but not the port, and knows no workers
        if all(asked) and not certificate:
            fail("this release serves TLS only where its file says server.tls_certfile and server.tls_keyfile")
        if workers > 1:
            say(f"this release of the server knows no workers: 1 instead of {workers}")
        if release < (0, 2, 17):
            return [*python, "llama_stack.distribution.server.server", "--config", file, "--port", str(port)]
        return [*python, "llama_stack.core.server.server", file, "--port", str(port)]
    if server.get("host") and not os.environ.get("LLS_HOST"):
        say("server.host is not used: probes and Service need the pod's own addresses; LLS_HOST decides otherwise")
    if all(asked) and not certificate:  # a file of the user's own need not speak of it
        certificate, key = asked
    # `llama stack run` kills and restarts slow workers for ever, so uvicorn itself, which does not read the file. `ogx
    # run` ends with success when the server does not start, replaces variables in secrets, and leaves a copy of them.
    command = with_turns(release, mended) if workers > 1 else None
    command = command or [*python, "uvicorn", f"{server_module(release)}:create_app"]
    command += ["--factory", "--host", os.environ.get("LLS_HOST") or every_address(workers)]
    command += ["--port", str(port), "--workers", str(workers)]
    if certificate:
        command += ["--ssl-certfile", certificate, "--ssl-keyfile", key]
        command += ["--ssl-ca-certs", authority, "--ssl-cert-reqs", "2"] if authority else []
    if os.environ.get("LLS_ACCESS"):
        command += ["--no-proxy-headers"]  # a caller's word for its address would be taken from loopback
    if workers > 1:
        import uvicorn

        if "timeout_worker_healthcheck" in inspect.signature(uvicorn.Config).parameters:
            command += ["--timeout-worker-healthcheck", "60"]  # 5 s are too few for the imports of a worker
    return command


def with_turns(release: Release, mended: bool) -> list[str] | None:
    """The command whose workers start one after the other, see workers.py."""
    try:
        folder = tempfile.mkdtemp()
        for program in ("workers", "event_loops"):
            shutil.copyfile(beside(f"{program}.py"), os.path.join(folder, f"operator_{program}.py"))
    except OSError as error:
        return say(f"workers start at the same time, for temporary files have no place: {error.strerror}")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    os.environ["LLS_SERVER_MODULE"] = server_module(release)
    os.environ["LLS_EVENT_LOOPS"] = "mended" if mended else ""
    program = "import operator_workers; operator_workers.serve()"
    return [sys.executable, "-c", program, "operator_workers:create_app"]


def beside(file: str) -> str:
    return os.path.join(os.path.dirname(os.path.realpath(__file__)), file)


def main() -> None:
    if os.environ.get("LLS_ACCESS"):
        import access

        access.forget_other_variables()
    release = installed_release()
    file = config_file(release)
    if not file and os.environ.get("LLS_ACCESS"):
        fail("the resource has access, and its configuration is nowhere to be found")
    if not file:
        return run_as_it_is(release)
    if release >= OGX:
        prepare_ogx(file)
    else:
        os.environ["LLAMA_STACK_CONFIG"] = file
    check_after_a_failed_start()
    config = resolved(read(file), reference(release))
    if os.environ.get("LLS_ACCESS"):
        config = access.prepare(config, release)
    command = server_command(config, release, file) + sys.argv[1:]  # the resource's `args`
    make_database_folders(config)
    registrations.forget_in_time(config, release)
    become([*with_telemetry(), *command])


if __name__ == "__main__":
    main()
