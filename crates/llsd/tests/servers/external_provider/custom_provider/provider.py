"""What the server asks a package for: the provider it brings."""

try:
    from ogx_api import Api, RemoteProviderSpec
except ImportError:
    try:
        from llama_stack_api import Api, RemoteProviderSpec
    except ImportError:  # up to 0.3 part of the server's own package
        from llama_stack.providers.datatypes import Api, RemoteProviderSpec


def get_provider_spec():
    return RemoteProviderSpec(
        api=Api.inference,
        provider_type="remote::custom",
        adapter_type="custom",
        module="custom_provider",
        config_class="custom_provider.config.CustomConfig",
        pip_packages=[],
    )
