"""What the server asks a package for: the provider it brings."""

try:
    from ogx_api import Api, InlineProviderSpec
except ImportError:
    try:
        from llama_stack_api import Api, InlineProviderSpec
    except ImportError:  # up to 0.3 part of the server's own package
        from llama_stack.providers.datatypes import Api, InlineProviderSpec


def get_provider_spec():
    return InlineProviderSpec(
        api=Api.tool_runtime,
        provider_type="inline::tool",
        module="tool_provider",
        config_class="tool_provider.config.ToolConfig",
        pip_packages=[],
    )
