"""Several workers, which start one after the other. Those that start at the same time on a new database make the same
tables there: all but one fail, and take the server down, a minute after it began to serve. uvicorn then ends as if all
were well.

Worker processes import what they serve, so launch.py copies this file to a folder where they can write, as a module.
Environment: LLS_SERVER_MODULE, the module with the server's application; LLS_EVENT_LOOPS, set where event_loops.py is
needed, which is copied beside this file.
"""

import contextlib
import fcntl
import importlib
import os
import sys
from typing import TextIO


def starts() -> TextIO:
    """A line for each worker that began to start, and one for each that serves."""
    return open(os.path.join(os.path.dirname(__file__), "starts"), "a+", buffering=1)


def create_app():
    """The server's application, in a worker whose turn it is."""
    turn = starts()
    turn.write("begun\n")
    if os.environ.get("LLS_EVENT_LOOPS"):
        import operator_event_loops

        operator_event_loops.mend()
    server = importlib.import_module(os.environ["LLS_SERVER_MODULE"])
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
