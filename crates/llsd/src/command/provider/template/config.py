"""What `config` of the resource may say."""

from pydantic import BaseModel


class GreetingConfig(BaseModel):
    greeting: str = "Hello"
