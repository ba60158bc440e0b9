"""A provider of the API `tool_runtime` for every release: it has the methods that the server's own protocol asks for."""

import functools
import inspect

try:
    from ogx_api import ToolRuntime
except ImportError:
    try:
        from llama_stack_api import ToolRuntime
    except ImportError:  # up to 0.3 part of the server's own package
        from llama_stack.apis.tools import ToolRuntime


class Tool:
    async def initialize(self):
        pass

    async def shutdown(self):
        pass


def refusing(method):
    @functools.wraps(method)
    async def refuse(self, *arguments, **named):
        raise NotImplementedError

    return refuse


for name, method in inspect.getmembers(ToolRuntime, inspect.isfunction):
    if not name.startswith("_"):
        setattr(Tool, name, refusing(method))


async def get_provider_impl(config, deps):
    return Tool()
