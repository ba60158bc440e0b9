"""Starts the server of this image the way the operator's resource asks.

Runs as `python3 <this file>` in the server's container and becomes the server by exec, so that signals reach it.
Before that it forgets what an earlier configuration registered: the server does not start when its metadata store
remembers a model, shield or tool group otherwise than the file says now. What users registered stays.

The server is llama-stack, or OGX, its successor, whichever the image has installed.

Environment: LLAMA_STACK_CONFIG (the file; without it the image's own, which RUN_CONFIG_PATH and DISTRO_NAME of the
image name), LLS_PORT, LLS_WORKERS, LLS_TLS_CERT_FILE and LLS_TLS_KEY_FILE (where the file has none), LLS_HOST
(optional; by default every address).
Arguments are passed on to the server. Of several workers each imports a copy of this file, as a module.
Only counts and ids are printed, for the resolved configuration and the store hold secrets.
"""

import asyncio
import contextlib
import fcntl
import importlib.metadata
import importlib.util
import inspect
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from typing import TextIO

import yaml

MOUNTED_FILE = "/etc/llama-stack/config.yaml"
# Of images that name no distribution, and what published images start with.
OWN_FILES = [f"{folder}/{file}" for folder in ("/app", "/opt/app-root") for file in ("config.yaml", "run.yaml")]
ENTRYPOINTS = ("llama-stack-entrypoint.sh", "ogx-entrypoint.sh", "/opt/app-root/entrypoint.sh")
STORE_SECONDS = 10
START_RECORD = "/run/llama-stack-start"  # a folder that lives as long as the pod
FAILED_START_SECONDS = 900  # one that ran for longer had started
JUDGE_SECONDS = 60
Release = tuple[int, int, int]
OGX = (1, 0, 0)  # llama-stack ended with 0.7
NEWEST = (0, 99, 0)
NEWEST_OGX = (99, 0, 0)
REGISTRY = "distributions:registry:"
RECORD = re.compile(REGISTRY + r"v\d+::([a-z_]+):(.+)", re.DOTALL)  # v9 in 0.2, v10 since 0.3
MEMORY = "llama-stack-operator:registered-by-configuration"  # in no range of keys that a server reads
# Section of the configuration -> the field of its id, the kind of its records in the store.
RESOURCES = {
    "models": ("model_id", "model"),
    "shields": ("shield_id", "shield"),
    "tool_groups": ("toolgroup_id", "tool_group"),
    "scoring_fns": ("scoring_fn_id", "scoring_function"),
    "benchmarks": ("benchmark_id", "benchmark"),
    "datasets": ("dataset_id", "dataset"),
    "vector_stores": ("vector_store_id", "vector_store"),
}
WITH_DATA = ("dataset", "vector_store")  # users stored something there: taken out of the file, they stay


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


# A start that failed


def judge_after_a_failed_start() -> None:
    """Where this pod has tried to start a moment ago, the server ended. Then its file is judged before the next try, and
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
    program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "judge.py")
    words = os.environ | {"LLS_JUDGE_SECONDS": str(JUDGE_SECONDS), "LLS_TERMINATION_LOG": os.devnull}
    try:
        done = subprocess.run([sys.executable, program], env=words, capture_output=True, timeout=JUDGE_SECONDS + 10)
        problems = [one for one in json.loads(done.stdout)["problems"] if one["kind"] != "dropped"]
    except (OSError, ValueError, KeyError, subprocess.SubprocessError):
        return
    if not problems:
        return
    found = "; ".join(f"{one['path']}: {one['message']}".removeprefix(": ") for one in problems)
    say(f"error: {found}")
    with contextlib.suppress(OSError), open(os.environ.get("LLS_TERMINATION_LOG") or "/dev/termination-log", "w") as log:
        log.write(f"start: error: {found}\n")


# Which records came from configuration


def registered_ids(config: dict, release: Release) -> dict[str, set[str]]:
    """The ids under which the store will hold what this configuration registers, by kind."""
    ids = {kind: set() for _, kind in RESOURCES.values()}
    sections = config if release < (0, 3) else config.get("registered_resources") or {}
    for section, (id_field, kind) in RESOURCES.items():
        for entry in sections.get(section) or []:
            name, provider = entry.get(id_field), entry.get("provider_id")
            if not name or provider in (None, "__disabled__"):  # the server leaves it out without a word
                continue
            if kind == "model":
                # From 0.3 to 0.7 the provider's own name counts; OGX has aliases, and does not repeat the provider.
                own = name if release >= OGX else entry.get("provider_model_id") or name
                repeated = release >= OGX and own.startswith(f"{provider}/")
                ids[kind].add(own if repeated else f"{provider}/{own}")
            # 0.2 also has models under their bare names, and OGX those of every provider.
            if kind != "model" or release < (0, 3) or provider == "all":
                ids[kind].add(name)
    if release < (0, 4):  # there the section is never read, so nothing would come back
        ids["vector_store"].clear()
    return ids


def revise(records: dict[str, str], config: dict, release: Release) -> tuple[list[str], str]:
    """From the records of the store: the keys to forget, and the memory to keep for the next start."""
    now = registered_ids(config, release)
    before = json.loads(records.get(MEMORY, "{}"))
    providers = {
        api: {entry.get("provider_id") for entry in entries or []}
        for api, entries in (config.get("providers") or {}).items()
    }
    going, other_shields = {}, {}
    for key, text in records.items():
        record = RECORD.fullmatch(key)
        if not record:
            continue
        kind, name = record.groups()
        value = json.loads(text) if text.startswith("{") else {}
        # Nobody takes models off the list of a provider that is gone; those of the others are listed afresh.
        ghost = kind == "model" and value.get("source") == "listed_from_provider"
        ghost = ghost and value.get("provider_id") not in providers.get("inference", ())
        # 0.7 registers tool groups by itself, not for users, and stumbles over one whose provider is gone.
        orphan = kind == "tool_group" and release >= (0, 7)
        orphan = orphan and value.get("provider_id") not in providers.get("tool_runtime", ())
        if ghost or orphan or name in now.get(kind, ()) or name in before.get(kind, ()):
            going[key] = f"{kind} {name}"
        elif kind == "shield":
            other_shields[key] = f"{kind} {name}"
    # The server stops when it knows shields but not the default one. Where nothing is remembered yet, they are of an
    # operator's earlier file, and go; later they are users' own, and stay.
    default = (config.get("safety") or {}).get("default_shield_id")
    if default and default not in now["shield"] and f"shield {default}" not in other_shields.values():
        if MEMORY not in records:
            going.update(other_shields)
        elif other_shields:
            say(f"no shield is called {default}, as safety.default_shield_id says: the server will not start")
    if going:
        names = ", ".join(sorted(set(going.values())))
        say(f"{len(going)} registrations that came from configuration forgotten, what it still has follows: {names}")
    return list(going), json.dumps({kind: sorted(ids) for kind, ids in now.items() if kind not in WITH_DATA})


# The store


def metadata_store(config: dict, release: Release) -> dict:
    state = os.environ.get("LLAMA_STACK_CONFIG_DIR") or os.path.expanduser("~/.llama")
    folder = os.path.join(os.environ["OGX_CONFIG_DIR"] if release >= OGX else state, "distributions")
    if release < (0, 3):
        path = os.path.join(folder, str(config.get("image_name")), "kvstore.db")
        return config.get("metadata_store") or {"type": "sqlite", "db_path": path}
    storage = config.get("storage") or {}
    reference = (storage.get("stores") or {}).get("metadata") or {"backend": "kv_default", "namespace": "registry"}
    path = os.path.join(os.environ.get("SQLITE_STORE_DIR") or folder, "kvstore.db")
    backends = storage.get("backends") or {"kv_default": {"type": "kv_sqlite", "db_path": path}}
    store = {**backends[reference["backend"]], "namespace": reference.get("namespace")}
    if release < OGX and store.get("type") == "kv_sqlite":
        store["namespace"] = None  # there the server prefixes nothing
    return store


def revise_table(cursor, table: str, mark: str, prefix: str, revision) -> None:
    """Within one transaction, so that another pod that starts now sees all of it or nothing."""
    columns = "(key TEXT PRIMARY KEY, value TEXT, expiration TIMESTAMP)"  # as the server makes it
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} {columns}")
    cursor.execute(
        f"SELECT key, value FROM {table} WHERE substr(key, 1, {len(prefix + REGISTRY)}) = {mark} OR key = {mark}",
        (prefix + REGISTRY, prefix + MEMORY),
    )
    going, memory = revision({key[len(prefix) :]: value for key, value in cursor.fetchall()})
    for key in [*going, MEMORY]:
        cursor.execute(f"DELETE FROM {table} WHERE key = {mark}", (prefix + key,))
    cursor.execute(f"INSERT INTO {table} (key, value) VALUES ({mark}, {mark})", (prefix + MEMORY, memory))


def revise_sqlite(store: dict, prefix: str, revision) -> None:
    os.makedirs(os.path.dirname(store["db_path"]) or ".", exist_ok=True)
    database = sqlite3.connect(store["db_path"], timeout=STORE_SECONDS, isolation_level=None)
    cursor = database.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    revise_table(cursor, "kvstore", "?", prefix, revision)
    cursor.execute("COMMIT")


def revise_postgres(store: dict, prefix: str, revision) -> None:
    import psycopg2

    names = {"host": "host", "port": "port", "db": "dbname", "user": "user", "password": "password"}
    names |= {"ssl_mode": "sslmode", "ca_cert_path": "sslrootcert"}
    settings = {"host": "localhost", "dbname": "llamastack", "connect_timeout": STORE_SECONDS}
    settings |= {name: store[key] for key, name in names.items() if store.get(key) is not None}
    with psycopg2.connect(**settings) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (MEMORY,))  # two pods, and no table yet
        revise_table(cursor, store.get("table_name") or "llamastack_kvstore", "%s", prefix, revision)


def revise_postgres_of_ogx(store: dict, prefix: str, revision) -> None:
    """The only driver in an image of OGX is an asynchronous one."""
    import asyncpg

    table = store.get("table_name") or "ogx_kvstore"
    if store.get("connection_string"):
        settings = {"dsn": store["connection_string"]}
    else:
        names = {"host": "host", "port": "port", "db": "database", "user": "user", "password": "password"}
        settings = {"host": "localhost", "database": "ogx"}
        settings |= {name: store[key] for key, name in names.items() if store.get(key) is not None}
        settings |= {name: str(settings[name]) for name in ("user", "password", "database") if name in settings}
        settings |= {"port": int(settings.get("port") or 5432)}
    if store.get("ssl_mode") not in (None, "disable"):
        settings["ssl"] = store["ssl_mode"]

    async def work() -> None:
        connection = await asyncpg.connect(**settings, timeout=STORE_SECONDS)
        try:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock(hashtext($1))", MEMORY)
                columns = "(key TEXT PRIMARY KEY, value TEXT, expiration TIMESTAMPTZ)"  # as the server makes it
                await connection.execute(f"CREATE TABLE IF NOT EXISTS {table} {columns}")
                found = f"SELECT key, value FROM {table} WHERE starts_with(key, $1) OR key = $2"
                rows = await connection.fetch(found, prefix + REGISTRY, prefix + MEMORY)
                going, memory = revision({row["key"][len(prefix) :]: row["value"] for row in rows})
                keys = [prefix + key for key in [*going, MEMORY]]
                await connection.execute(f"DELETE FROM {table} WHERE key = ANY($1::text[])", keys)
                added = f"INSERT INTO {table} (key, value) VALUES ($1, $2)"
                await connection.execute(added, prefix + MEMORY, memory)
        finally:
            await connection.close()

    asyncio.run(work())


def revise_redis(store: dict, prefix: str, revision) -> None:
    import redis

    url = f"redis://{store.get('host') or 'localhost'}:{store.get('port') or 6379}"
    client = redis.Redis.from_url(url, decode_responses=True, socket_timeout=STORE_SECONDS)
    pattern = re.sub(r"([*?\[\]\\])", r"\\\1", prefix + REGISTRY) + "*"
    keys = [*client.scan_iter(match=pattern, count=1000), prefix + MEMORY]
    values = zip(keys, client.mget(keys))
    going, memory = revision({key[len(prefix) :]: value for key, value in values if value is not None})
    with client.pipeline(transaction=True) as change:
        for key in going:
            change.delete(prefix + key)
        change.set(prefix + MEMORY, memory)
        change.execute()


def forget_configuration(config: dict, release: Release) -> None:
    """Never stops the start: of a store that cannot be used, the server itself says more."""
    try:
        store = metadata_store(config, release)
        kind = str(store.get("type")).removeprefix("kv_")
        postgres = revise_postgres_of_ogx if release >= OGX else revise_postgres
        work = {"sqlite": revise_sqlite, "redis": revise_redis, "postgres": postgres}.get(kind)
        if not work:
            return say(f"the registry is left as it is, in a store of type {kind}: changed registrations may clash")
        prefix = f"{store['namespace']}:" if store.get("namespace") else ""
        work(store, prefix, lambda records: revise(records, config, release))
    except Exception as error:  # whose text may quote a connection string
        say(f"the registry is left as it is: {type(error).__name__} from the metadata store")


# The server


def make_database_folders(config: dict) -> None:
    """OGX opens its SQL database before anything has made the folder, which only its key-value store does. Where that
    is in Redis or Postgres it would not start on a new volume. Of a folder that cannot be made it says more itself."""
    for backend in ((config.get("storage") or {}).get("backends") or {}).values():
        if str((backend or {}).get("type")).endswith("sqlite") and backend.get("db_path"):
            with contextlib.suppress(OSError):
                folder = os.path.dirname(os.path.expanduser(str(backend["db_path"])))
                os.makedirs(folder or ".", exist_ok=True)


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


def server_module(release: Release) -> str:
    return f"{'ogx' if release >= OGX else 'llama_stack'}.core.server.server"


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
    python = [sys.executable, "-m"]
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
    command = with_turns() if workers > 1 else None
    command = command or [*python, "uvicorn", f"{server_module(release)}:create_app"]
    command += ["--factory", "--host", os.environ.get("LLS_HOST") or every_address(workers)]
    command += ["--port", str(port), "--workers", str(workers)]
    if certificate:
        command += ["--ssl-certfile", certificate, "--ssl-keyfile", key]
        command += ["--ssl-ca-certs", authority, "--ssl-cert-reqs", "2"] if authority else []
    if workers > 1:
        import uvicorn

        if "timeout_worker_healthcheck" in inspect.signature(uvicorn.Config).parameters:
            command += ["--timeout-worker-healthcheck", "60"]  # 5 s are too few for the imports of a worker
    return command


# Several workers. Those that start at the same time on a new database make the same tables there: all but one fail, and
# take the server down, a minute after it began to serve. uvicorn then ends as if all were well.


def with_turns() -> list[str] | None:
    """The command whose workers start one after the other. Worker processes import what they serve, so this file
    becomes a module, in a folder where they can write."""
    try:
        folder = tempfile.mkdtemp()
        shutil.copyfile(__file__, os.path.join(folder, "operator_workers.py"))
    except OSError as error:
        return say(f"workers start at the same time, for temporary files have no place: {error.strerror}")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    program = "import operator_workers; operator_workers.serve()"
    return [sys.executable, "-c", program, "operator_workers:create_app"]


def starts() -> TextIO:
    """A line for each worker that began to start, and one for each that serves."""
    return open(os.path.join(os.path.dirname(__file__), "starts"), "a+", buffering=1)


def create_app():
    """The server's application, in a worker whose turn it is."""
    turn = starts()
    turn.write("begun\n")
    server = importlib.import_module(server_module(installed_release()))
    fcntl.flock(turn, fcntl.LOCK_EX)
    app = server.create_app()
    start = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(app):
        async with start(app) as state:
            turn.write("serves\n")
            fcntl.flock(turn, fcntl.LOCK_UN)
            yield state

    app.router.lifespan_context = lifespan
    return app


def serve() -> None:
    """uvicorn's command line, which fails when a worker did not come to serve."""
    import uvicorn

    try:
        uvicorn.main()
    finally:
        with starts() as file:
            file.seek(0)
            lines = file.read().split()
        if lines.count("begun") > lines.count("serves"):
            sys.exit(1)


def main() -> None:
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
    judge_after_a_failed_start()
    config = resolved(read(file), reference(release))
    if os.environ.get("LLS_ACCESS"):
        import access

        config = access.prepare(config, release)
    command = server_command(config, release, file) + sys.argv[1:]  # the resource's `args`
    make_database_folders(config)
    work = threading.Thread(target=forget_configuration, args=(config, release), daemon=True)
    work.start()
    work.join(STORE_SECONDS)
    if work.is_alive():
        say(f"the registry is left as it is: no answer from the metadata store in {STORE_SECONDS} s")
    become([*with_telemetry(), *command])


if __name__ == "__main__":
    main()
