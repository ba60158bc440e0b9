"""Asks the installed release which paths it serves: those of the routers of all its APIs, whatever is configured.

Standard input: anything. Standard output: [path, …].
"""

import importlib
import importlib.util
import json
import logging
import sys
from unittest.mock import MagicMock

# The release and its libraries print what they like; the answer must stay readable.
answer_to, sys.stdout = sys.stdout, sys.stderr
logging.disable(logging.CRITICAL)

PACKAGE = "ogx" if importlib.util.find_spec("ogx") else "llama_stack"
registry = importlib.import_module(f"{PACKAGE}.core.server.fastapi_router_registry")
apis = importlib.import_module(f"{PACKAGE}_api").Api

paths = set()
for name in registry._ROUTER_FACTORIES:
    router = registry.build_fastapi_router(apis(name), MagicMock())
    collect = getattr(registry, "collect_api_routes", None)
    paths.update(route.path for route in (collect(router.routes) if collect else registry.get_router_routes(router)))
# Before 0.7 some APIs have no router.
others = getattr(importlib.import_module(f"{PACKAGE}.core.server.routes"), "get_all_api_routes", dict)()
for api, routes in others.items():
    if api.value not in registry._ROUTER_FACTORIES:
        paths.update(route.path for route, _ in routes)
json.dump(sorted(paths), answer_to)
