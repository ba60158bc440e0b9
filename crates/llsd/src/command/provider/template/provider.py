"""What the server asks a package for: the provider that it brings."""

try:
    from ogx_api import Api, InlineProviderSpec
except ImportError:
    from llama_stack_api import Api, InlineProviderSpec


def get_provider_spec():
    return InlineProviderSpec(
        api=Api.tool_runtime,
        provider_type="inline::PROVIDER_NAME",
        module="PROVIDER_MODULE",
        config_class="PROVIDER_MODULE.config.PROVIDER_CLASSConfig",
        pip_packages=[],
    )
