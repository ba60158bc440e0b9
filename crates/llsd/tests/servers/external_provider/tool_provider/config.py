"""The configuration that the provider takes."""

from pydantic import BaseModel


class ToolConfig(BaseModel):
    word: str = "never"
