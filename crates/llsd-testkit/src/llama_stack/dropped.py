"""Finds what was written and is not in the model that was built from it.

Comparing with the instance instead of with the declared types needs no guess about which member
of a union a value became, and also sees what a validator emptied.
"""

from pydantic import AliasChoices, BaseModel


def dropped(given, built, path=""):
    """The paths of all that is in `given` and not in `built`."""
    if isinstance(built, BaseModel) and isinstance(given, dict):
        fields = fields_by_key(type(built))
        for key, value in given.items():
            if key in fields:
                # Not `getattr`, which warns of every deprecated field.
                yield from dropped(value, built.__dict__.get(fields[key]), join(path, key))
            elif key not in (built.model_extra or {}):
                yield join(path, key)
    elif isinstance(built, dict) and isinstance(given, dict):
        for key, value in given.items():
            yield from dropped(value, built.get(key), join(path, key))
    elif isinstance(built, list) and isinstance(given, list):
        if len(built) == len(given):
            for index, value in enumerate(given):
                yield from dropped(value, built[index], join(path, index))
        else:
            yield from (join(path, index) for index in range(len(built), len(given)))
    elif given and built is None:
        yield path


def fields_by_key(model):
    """How each field may be written, to its name."""
    keys = {}
    for name, field in model.model_fields.items():
        alias = field.validation_alias or field.alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        spellings = [choice for choice in choices if isinstance(choice, str)]
        if not spellings or model.model_config.get("populate_by_name"):
            spellings.append(name)
        keys.update(dict.fromkeys(spellings, name))
    return keys


def join(path, *steps):
    """`a`, `b`, 0, `c` as `a.b[0].c`."""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else str(step)
    return path
