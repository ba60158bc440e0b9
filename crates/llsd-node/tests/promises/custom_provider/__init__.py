"""Models of a server with OpenAI's interface, as a provider that is not part of llama-stack."""


async def get_adapter_impl(config, deps):
    from .adapter import CustomAdapter

    return CustomAdapter(config=config)
