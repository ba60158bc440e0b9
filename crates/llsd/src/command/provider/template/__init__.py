"""A provider of the API tool_runtime that greets: the start of one of your own."""

from .config import PROVIDER_CLASSConfig


async def get_provider_impl(config: PROVIDER_CLASSConfig, deps):
    from .tools import PROVIDER_CLASSTools

    return PROVIDER_CLASSTools(config)
