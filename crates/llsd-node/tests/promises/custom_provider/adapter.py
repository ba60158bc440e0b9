"""The provider itself."""

from llama_stack.providers.utils.inference.openai_mixin import OpenAIMixin

from .config import CustomConfig


class CustomAdapter(OpenAIMixin):
    config: CustomConfig

    def get_api_key(self):
        return self.config.token

    def get_base_url(self):
        return f"{self.config.url}/v1"

    def get_extra_client_params(self):
        return {"timeout": self.config.timeout}
