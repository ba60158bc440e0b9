"""Starts the server of this image as the operator's resource asks.

Runs as `python3 -c <this text>` in the server's container and becomes the server (exec), so that signals reach it.
Before that it lets the server forget what an earlier configuration registered: the server refuses to start when its
metadata store remembers a model, shield or tool group otherwise than the file now says.

Environment: LLAMA_STACK_CONFIG (the file), LLS_PORT, LLS_WORKERS, LLS_HOST (optional; by default every address).
Only counts and ids are ever printed: the resolved configuration and the store hold secrets.
The kubelet expands a dollar sign before a parenthesis or another dollar sign in this text: write neither.
"""

import importlib.metadata
import inspect
import json
import os
import re
import shutil
import socket
import sqlite3
import sys
import threading

import yaml

CONFIG_FILE = os.environ.setdefault("LLAMA_STACK_CONFIG", "/etc/llama-stack/config.yaml")
STORE_SECONDS = 10  # for all work on the store; a server that starts late is better than one that hangs
NEWEST = (99, 0, 0)
REGISTRY = "distributions:registry:"  # then v9 (0.2) or v10 (0.3 and later), "::", kind, ":", id
RECORD = re.compile(re.escape(REGISTRY) + r"v\d+::([a-z_]+):(.+)", re.DOTALL)
MEMORY = "llama-stack-operator:registered-by-configuration"  # outside every range of keys that a server reads
# Section of the configuration -> field that holds the id, kind of the records in the store.
RESOURCES = {
    "models": ("model_id", "model"),
    "shields": ("shield_id", "shield"),
    "tool_groups": ("toolgroup_id", "tool_group"),
    "scoring_fns": ("scoring_fn_id", "scoring_function"),
    "benchmarks": ("benchmark_id", "benchmark"),
    "datasets": ("dataset_id", "dataset"),
    "vector_stores": ("vector_store_id", "vector_store"),
}
KINDS_WITH_DATA = {"dataset", "vector_store"}  # records of these lead to what users stored


def say(message: str) -> None:
    print(f"start: {message}", file=sys.stderr, flush=True)


def fail(message: str) -> None:
    say(f"error: {message}")
    sys.exit(1)


def installed_release() -> tuple[int, int, int]:
    """0.3.0rc1, 0.3.0.dev7 and 0.3.0+vendor.1 all behave as 0.3.0; a build that has no number as the newest."""
    try:
        number = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", importlib.metadata.version("llama_stack"))
    except importlib.metadata.PackageNotFoundError:
        number = None
    release = tuple(int(part or 0) for part in number.groups()) if number else NEWEST
    return NEWEST if release[:2] == (0, 0) else release


def resolved(node, release):
    """The value with its environment references replaced as the server does; what is not set becomes None.
    The server's own function would do, but importing it costs as much time as half a start."""
    if isinstance(node, dict):
        return {key: resolved(value, release) for key, value in node.items()}
    if isinstance(node, list):
        return [resolved(value, release) for value in node]
    if not isinstance(node, str):
        return node

    def value_of(reference: re.Match) -> str:
        name, operator, text = reference.groups()
        value = os.environ.get(name, "")
        if operator == "+":
            value = text if value else ""
        elif operator:
            value = value or text
        return os.path.expanduser(value)

    operators = "[:+]" if release < (0, 2, 13) else ":[=+]"
    reference = r"\$\{env\.([A-Z0-9_]+)(?:" + operators.replace("[", "([").replace("]", "])") + r"([^}]*))?\}"
    result = re.sub(reference, value_of, node)
    return node if result == node else result or None


# --- what configuration registers, and which records of the store therefore go ---


def provider_ids(config: dict, api: str) -> set[str]:
    return {entry.get("provider_id") for entry in (config.get("providers") or {}).get(api) or []}


def registered_ids(config: dict, release) -> dict[str, set[str]]:
    """The ids under which the store will hold what the configuration registers, by kind."""
    found: dict[str, set[str]] = {kind: set() for _, kind in RESOURCES.values()}
    sections = config if release < (0, 3) else config.get("registered_resources") or {}
    for section, (id_field, kind) in RESOURCES.items():
        for entry in sections.get(section) or []:
            name, provider = entry.get(id_field), entry.get("provider_id")
            if not name or provider == "__disabled__":
                continue
            if kind == "model":
                found[kind].add(f"{provider}/{entry.get('provider_model_id') or name}")
            if kind != "model" or release < (0, 3):  # 0.2 knows aliases, and before 0.2.16 nothing else
                found[kind].add(name)
    if release < (0, 4):  # 0.3 has the section but does not read it: nothing would come back
        found["vector_store"].clear()
    return found


def revise(records: dict[str, str], config: dict, release) -> tuple[list[str], str]:
    """From the records of the store: the keys to forget, and what to remember for the next start."""
    now = registered_ids(config, release)
    first_start = MEMORY not in records
    before = {} if first_start else json.loads(records[MEMORY])
    going: dict[str, str] = {}
    shields: dict[str, str] = {}
    for key, text in records.items():
        record = RECORD.fullmatch(key)
        if not record:
            continue
        kind, name = record.groups()
        value = json.loads(text)
        # What only a provider of an earlier configuration listed is on no provider's list to be taken off again.
        ghost = (
            kind == "model"
            and value.get("source") == "listed_from_provider"
            and value.get("provider_id") not in provider_ids(config, "inference")
        )
        # 0.7 registers tool groups of its own accord, none by API, and stumbles over one whose provider went.
        orphan = (
            kind == "tool_group"
            and release >= (0, 7)
            and value.get("provider_id") not in provider_ids(config, "tool_runtime")
        )
        if ghost or orphan or name in now.get(kind, ()) or name in before.get(kind, ()):
            going[key] = f"{kind} {name}"
        elif kind == "shield":
            shields[key] = f"{kind} {name}"
    # The server stops when there are shields but not the default one. On a store of an operator that remembered
    # nothing they are most likely shields of an earlier file; later they are users' own, and stay.
    default = (config.get("safety") or {}).get("default_shield_id")
    if default and shields and default not in now["shield"] and f"shield {default}" not in shields.values():
        if first_start:
            going.update(shields)
        else:
            say(f"safety.default_shield_id names {default}, which nothing registers: expect the server to refuse it")
    if going:
        say(f"{len(going)} registrations of configuration forgotten: {', '.join(sorted(set(going.values())))}")
    memory = {kind: sorted(ids) for kind, ids in now.items() if ids and kind not in KINDS_WITH_DATA}
    return list(going), json.dumps(memory)


# --- the store ---


def metadata_store(config: dict, release) -> dict:
    folder = os.path.join(os.environ.get("LLAMA_STACK_CONFIG_DIR") or os.path.expanduser("~/.llama"), "distributions")
    if release < (0, 3):
        path = os.path.join(folder, str(config.get("image_name")), "kvstore.db")
        return config.get("metadata_store") or {"type": "sqlite", "db_path": path}
    storage = config.get("storage") or {}
    reference = (storage.get("stores") or {}).get("metadata") or {"backend": "kv_default", "namespace": "registry"}
    path = os.path.join(os.environ.get("SQLITE_STORE_DIR") or folder, "kvstore.db")
    backends = storage.get("backends") or {"kv_default": {"type": "kv_sqlite", "db_path": path}}
    return {**backends[reference["backend"]], "namespace": reference.get("namespace")}


def revise_table(cursor, table: str, mark: str, prefix: str, revision) -> None:
    """One transaction of the caller: another pod that starts now sees all of it or nothing."""
    columns = "(key TEXT PRIMARY KEY, value TEXT, expiration TIMESTAMP)"  # as the server creates it
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} {columns}")
    cursor.execute(
        f"SELECT key, value FROM {table} WHERE substr(key, 1, {len(prefix + REGISTRY)}) = {mark} OR key = {mark}",
        (prefix + REGISTRY, prefix + MEMORY),
    )
    going, memory = revision({key[len(prefix) :]: value for key, value in cursor.fetchall()})
    for key in [*going, MEMORY]:
        cursor.execute(f"DELETE FROM {table} WHERE key = {mark}", (prefix + key,))
    cursor.execute(f"INSERT INTO {table} (key, value) VALUES ({mark}, {mark})", (prefix + MEMORY, memory))


def revise_sqlite(store: dict, _prefix: str, revision) -> None:
    os.makedirs(os.path.dirname(store["db_path"]) or ".", exist_ok=True)
    database = sqlite3.connect(store["db_path"], timeout=STORE_SECONDS, isolation_level=None)
    cursor = database.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    revise_table(cursor, "kvstore", "?", "", revision)  # no prefix: the server has none here either
    cursor.execute("COMMIT")
    database.close()


def revise_postgres(store: dict, prefix: str, revision) -> None:
    import psycopg2

    names = {"host": "host", "port": "port", "db": "dbname", "user": "user", "password": "password"}
    names |= {"ssl_mode": "sslmode", "ca_cert_path": "sslrootcert"}
    settings = {name: store[key] for key, name in names.items() if store.get(key) is not None}
    defaults = {"host": "localhost", "dbname": "llamastack", "connect_timeout": STORE_SECONDS}
    with psycopg2.connect(**{**defaults, **settings}) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (MEMORY,))  # pods that create the table at once
        revise_table(cursor, store.get("table_name") or "llamastack_kvstore", "%s", prefix, revision)
    connection.close()


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


def forget_configuration(config: dict, release) -> None:
    """Never stops the start: where the store cannot be reached, the server itself says so better."""
    try:
        store = metadata_store(config, release)
        kind = str(store.get("type")).removeprefix("kv_")
        work = {"sqlite": revise_sqlite, "redis": revise_redis, "postgres": revise_postgres}.get(kind)
        if work is None:
            return say(f"the registry in a store of type {kind} is left as it is: changed registrations may clash")
        prefix = f"{store['namespace']}:" if store.get("namespace") else ""
        work(store, prefix, lambda records: revise(records, config, release))
    except Exception as error:  # its text could quote a connection string
        say(f"the registry was left as it is: {type(error).__name__} from the metadata store")


# --- the server ---


def every_address(workers: int) -> str:
    """One server socket for all workers can take both families by `::`, while a single worker, given that, would ask
    for IPv6 alone; an empty host makes it open a socket for each. Neither works where the kernel has no IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::", 0))
            both = not probe.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
    except OSError:
        return "0.0.0.0"
    return "" if workers == 1 else "::" if both else "0.0.0.0"


def whole_number(name: str, configured, default: int) -> int:
    text = str(os.environ.get(name) or configured or default)
    return int(text) if text.isdecimal() and int(text) > 0 else fail(f"{name} is no positive number: {text}")


def server_command(config: dict, release) -> list[str]:
    server = config.get("server") or {}
    port = whole_number("LLS_PORT", server.get("port"), 8321)
    workers = whole_number("LLS_WORKERS", server.get("workers"), 1)
    certificate, key, authority = (server.get(f"tls_{name}file") for name in ("cert", "key", "ca"))
    if bool(certificate) != bool(key):  # the server would quietly speak plain HTTP
        fail("server.tls_certfile and server.tls_keyfile need each other")
    python = [sys.executable, "-m"]
    if release < (0, 3):  # reads TLS from the file, ignores the port there, and has one worker only
        if workers > 1:
            say(f"this release of the server has no workers: 1 runs instead of {workers}")
        if release < (0, 2, 17):
            return [*python, "llama_stack.distribution.server.server", "--config", CONFIG_FILE, "--port", str(port)]
        return [*python, "llama_stack.core.server.server", CONFIG_FILE, "--port", str(port)]
    # From 0.3 on only uvicorn's own flags reach every worker; the server ignores these keys of its file.
    command = [*python, "uvicorn", "llama_stack.core.server.server:create_app", "--factory"]
    command += ["--host", os.environ.get("LLS_HOST") or every_address(workers)]
    command += ["--port", str(port), "--workers", str(workers)]
    if certificate:
        command += ["--ssl-certfile", certificate, "--ssl-keyfile", key]
        command += ["--ssl-ca-certs", authority, "--ssl-cert-reqs", "2"] if authority else []
    if workers > 1:
        import uvicorn  # a worker that imports for longer than 5 s would be killed and started again, for ever

        if "timeout_worker_healthcheck" in inspect.signature(uvicorn.Config).parameters:
            command += ["--timeout-worker-healthcheck", "60"]
    return command


def main() -> None:
    try:
        with open(CONFIG_FILE) as file:
            text = yaml.safe_load(file)
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        fail(f"{CONFIG_FILE} cannot be read: {type(error).__name__}")
    if not isinstance(text, dict):
        fail(f"{CONFIG_FILE} is not a mapping")
    release = installed_release()
    config = resolved(text, release)
    command = server_command(config, release)
    work = threading.Thread(target=forget_configuration, args=(config, release), daemon=True)
    work.start()
    work.join(STORE_SECONDS)
    if work.is_alive():
        say(f"the metadata store did not answer within {STORE_SECONDS} s: the registry was left as it is")
    if any(name.startswith("OTEL_") for name in os.environ) and shutil.which("opentelemetry-instrument"):
        command.insert(0, "opentelemetry-instrument")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        fail(f"{command[0]} cannot be run: {error.strerror}")


if __name__ == "__main__":
    main()
