"""Forgets what an earlier configuration registered: the server does not start when its metadata store remembers a model,
shield or tool group otherwise than the file says now. What users registered stays.
"""

import asyncio
import json
import os
import re
import sqlite3
import threading

from installed import OGX, Release, say

STORE_SECONDS = 10
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


def forget_in_time(config: dict, release: Release) -> None:
    """Never holds up the start for long."""
    work = threading.Thread(target=forget, args=(config, release), daemon=True)
    work.start()
    work.join(STORE_SECONDS)
    if work.is_alive():
        say(f"the registry is left as it is: no answer from the metadata store in {STORE_SECONDS} s")


def forget(config: dict, release: Release) -> None:
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
