"""What `config` of the resource may say."""

from pydantic import BaseModel


class PROVIDER_CLASSConfig(BaseModel):
    greeting: str = "Hello"
