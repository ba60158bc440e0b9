"""Connections for a server that is initialized in one event loop and serves in another. Its application runs its
initialization in a loop of its own, which is closed before the first request, and a connection belongs to the loop that
opened it: the first requests of every process that use one again fail with "Event loop is closed", and the server stands
still while it writes that down. Here every loop gets connections of its own: to Redis, and, in OGX 1.0 and 1.1, to
inference backends. And tables, which are made with the first row that is stored, are waited for by the second.

Runs as `python3 <this file> MODULE [ARGUMENT...]` in the place of `python3 -m MODULE [ARGUMENT...]`. Workers import what
they serve, so workers.py calls `mend` in each of them.
"""

import asyncio
import importlib.abc
import importlib.machinery
import os
import runpy
import sys


class OnePerLoop:
    """In the place of a client of Redis: one for each event loop that asks."""

    def __init__(self, kind: type, arguments: tuple, options: dict):
        self.make = lambda: kind.from_url(*arguments, **options)
        self.clients = {}

    def __getattr__(self, name: str):
        loop = asyncio.get_running_loop()
        if loop not in self.clients:
            # The sockets of a closed loop are closed with its client.
            self.clients = {other: client for other, client in self.clients.items() if not other.is_closed()}
            self.clients[loop] = self.make()
        return getattr(self.clients[loop], name)


class Clients:
    """In the place of the class of clients, of which the server calls nothing but `from_url`."""

    def __init__(self, kind: type):
        self.kind = kind

    def from_url(self, *arguments, **options) -> OnePerLoop:
        return OnePerLoop(self.kind, arguments, options)


def mend_redis(store) -> None:
    store.Redis = Clients(store.Redis)


def mend_backends(mixin) -> None:
    """OGX keeps the client of a backend. It is made again for another loop."""
    kept, left = mixin.OpenAIMixin.client, []

    def client(self):
        loop = asyncio.get_running_loop()
        before = self._cached_client
        if before is not None and getattr(before, "operator_loop", loop) is not loop:
            left.append(before)  # at its end it would be closed in this loop, which fails
            self._cached_client = None
        found = kept.fget(self)
        found.operator_loop = loop
        return found

    mixin.OpenAIMixin.client = property(client)


def mend_tables(store) -> None:
    """The server takes tables for made once it has begun to make them, and a row that comes meanwhile fails."""
    kind = store.SqlAlchemySqlStoreImpl
    ensure = getattr(kind, "_ensure_engine", None)
    if ensure is None:  # makes its tables when it is initialized
        return

    async def ensure_one_at_a_time(self) -> None:
        async with self.__dict__.setdefault("operator_turn", asyncio.Lock()):
            await ensure(self)

    kind._ensure_engine = ensure_one_at_a_time


MENDED = {
    "ogx.core.storage.sqlstore.sqlalchemy_sqlstore": mend_tables,
    "llama_stack.core.storage.sqlstore.sqlalchemy_sqlstore": mend_tables,
    "ogx.core.storage.kvstore.redis.redis": mend_redis,
    "llama_stack.core.storage.kvstore.redis.redis": mend_redis,  # since 0.4
    "llama_stack.providers.utils.kvstore.redis.redis": mend_redis,
    "ogx.providers.utils.inference.openai_mixin": mend_backends,
}


class Finder(importlib.abc.MetaPathFinder):
    """Mends a module when the server imports it. An import of it here would come before the server has set up its log."""

    def find_spec(self, name, path, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name in MENDED else None
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_mend(module) -> None:
                execute(module)
                try:
                    MENDED[name](module)
                except AttributeError as error:  # of a build that has it otherwise
                    print(f"start: first requests may fail: {error}", file=sys.stderr, flush=True)

            spec.loader.exec_module = execute_and_mend
        return spec


def mend() -> None:
    sys.meta_path.insert(0, Finder())


def main() -> None:
    folder = os.path.dirname(os.path.realpath(__file__))
    if sys.path and os.path.realpath(sys.path[0]) == folder:
        sys.path[0] = os.getcwd()  # as with `-m`; the names of the programs beside this one are those of other packages, too
    mend()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
