"""Reads YAML the way the server does, with PyYAML's safe loader.

Standard input: a JSON list of texts. Standard output: a JSON list, in the same order, of
{"value": …} or {"error": "…"}.

What JSON cannot say becomes {"!<type>": …}, so that a date, a number as a key or a float that is
not a number is never taken for the string that was meant.
"""

import json
import math
import sys

import yaml


def as_json(value):
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: as_json(inner) for key, inner in value.items()}
        return {"!dict": [[as_json(key), as_json(inner)] for key, inner in value.items()]}
    if isinstance(value, list):
        return [as_json(inner) for inner in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return value
    return {f"!{type(value).__name__}": str(value)}


def read(text):
    try:
        return {"value": as_json(yaml.safe_load(text))}
    except yaml.YAMLError as error:
        return {"error": str(error)}


json.dump([read(text) for text in json.load(sys.stdin)], sys.stdout)
