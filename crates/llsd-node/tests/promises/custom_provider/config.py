"""What `config` of the resource may say."""

from llama_stack.providers.utils.inference.model_registry import RemoteInferenceProviderConfig


class CustomConfig(RemoteInferenceProviderConfig):
    url: str
    timeout: int = 10
    token: str = "none"
