"""A provider of the API tool_runtime that greets: the start of one of your own."""

from .config import GreetingConfig


async def get_provider_impl(config: GreetingConfig, deps):
    from .greeting import Greeting

    return Greeting(config)
