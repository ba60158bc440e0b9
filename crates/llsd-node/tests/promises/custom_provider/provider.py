"""What the server asks a package for: the provider that it brings."""

from llama_stack_api import Api, RemoteProviderSpec


def get_provider_spec():
    return RemoteProviderSpec(
        api=Api.inference,
        provider_type="remote::custom",
        adapter_type="custom",
        module="custom_provider",
        config_class="custom_provider.config.CustomConfig",
        pip_packages=[],
    )
