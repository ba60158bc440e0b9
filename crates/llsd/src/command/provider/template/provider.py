"""What the server asks a package for: the provider that it brings."""

try:
    from ogx_api import Api, InlineProviderSpec
except ImportError:
    from llama_stack_api import Api, InlineProviderSpec


def get_provider_spec():
    return InlineProviderSpec(
        api=Api.tool_runtime,
        provider_type="inline::greeting",
        module="greeting_provider",
        config_class="greeting_provider.config.GreetingConfig",
        pip_packages=[],
    )
