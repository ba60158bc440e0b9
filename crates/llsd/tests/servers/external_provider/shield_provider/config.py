"""The configuration that the provider takes."""

from pydantic import BaseModel


class ShieldConfig(BaseModel):
    word: str = "never"
