"""The configuration that the provider takes."""

from pydantic import BaseModel


class CustomConfig(BaseModel):
    url: str = "http://localhost"
    timeout: int = 10
