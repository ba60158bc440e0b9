"""The provider types of the installed release, by its own registry, with values that its own models take.

Standard input: anything. Standard output: a JSON list of {"api", "type", "fields": [{"name", "required", "values"}],
"open", "builds"}. `values` are some that the release accepts for the field; `open` says that it takes any other field,
too, and `builds` that the required fields with the first of their values make a configuration.
"""

import itertools
import json
import logging
import sys
import warnings

# The release and its libraries print what they like; the answer must stay readable.
answer_to, sys.stdout = sys.stdout, sys.stderr
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

from preflight_checks import Server, dropped

URL = "http://backend.example.com:8000"
KEPT = 4  # values of a field
DEPTH = 4


def values(schema: dict, defs: dict, depth: int = DEPTH, within: str = "") -> list:
    """Some values that a JSON schema may accept."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return values(defs.get(name, {}), defs, depth - 1, name) if depth else []
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return schema["enum"][:KEPT]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return [value for member in schema[key] for value in values(member, defs, depth, within)]
    kind = schema.get("type")
    if kind == "string":
        return ["a-value", URL, "/tmp/a-folder", "localhost"]
    if kind in ("integer", "number"):
        lowest = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        return [max(1, lowest), 7, 0.5][: 3 if kind == "number" else 2]
    if kind == "boolean":
        return [True, False]
    if kind == "array":
        return [[value] for value in values(schema.get("items", {}), defs, depth - 1)[:2]] if depth else []
    return objects(schema, defs, depth, within) if kind == "object" and depth else []


def objects(schema: dict, defs: dict, depth: int, within: str) -> list:
    properties = schema.get("properties")
    if not properties:
        inner = schema.get("additionalProperties")
        return [{"key": value} for value in values(inner, defs, depth - 1)[:1]] if isinstance(inner, dict) else [{}]
    known = {name: values(one, defs, depth - 1) for name, one in properties.items()}
    if "backend" in known:  # a store: the backends that distributions have
        known["backend"] = ["kv_default" if within.startswith("KV") else "sql_default"]
    required = {name: known[name][0] for name in schema.get("required", ()) if known.get(name)}
    whole = {name: found[0] for name, found in known.items() if found}
    return [required, whole] if required != whole else [required]


def accepts(model, config: dict) -> bool:
    try:
        return not list(dropped(config, model(**config)))
    except Exception:
        return False


def buildable(model, possible: dict) -> dict | None:
    """The required fields with values that go together."""
    for chosen in itertools.islice(itertools.product(*possible.values()), 200):
        config = dict(zip(possible, chosen))
        if accepts(model, config):
            return config
    return None


def described(model) -> dict:
    try:
        schema = model.model_json_schema()
    except Exception:
        schema = {}
    defs, properties = schema.get("$defs", {}), schema.get("properties", {})
    possible = {name: values(one, defs) for name, one in properties.items()}
    required = [name for name in schema.get("required", ()) if name in possible]
    config = buildable(model, {name: possible[name] for name in required})
    fields = []
    for name, found in possible.items():
        taken = []
        for value in found:
            if value not in taken and config is not None and accepts(model, config | {name: value}):
                taken.append(value)
        if name in required and config:
            taken = [config[name], *(value for value in taken if value != config[name])]
        fields.append({"name": name, "required": name in required, "values": taken[:KEPT]})
    is_open = model.model_config.get("extra") == "allow"
    return {"fields": fields, "open": is_open, "builds": config is not None}


def main():
    server = Server()
    registry = server.distribution.get_provider_registry()
    answer = []
    for api, specs in registry.items():
        for name, spec in specs.items():
            try:
                model = server.class_of(spec.config_class)
            except Exception:  # its packages are not installed here
                continue
            answer.append({"api": api.value, "type": name} | described(model))
    json.dump(answer, answer_to)


main()
