"""What the installed release of the server finds in one configuration file, by its own code.

Used by `preflight.py`, which is a program; this is not. The file is loaded as that release does: variables, the model of the
file, the registry of providers, each provider's own model, and how they come together. Nothing is started.
"""

import asyncio
import contextlib
import importlib
import importlib.util
import inspect
import os
import re
import warnings

TEXT = 300  # characters of a message
WARNINGS = ("dropped", "mismatch")  # kinds of problems with which the server starts
NEEDED_STORES = ("metadata", "conversations")  # a server with a storage section does not start without them


class Refused(Exception):
    """What depends on the part that was refused is not checked."""


class NotChecked(Exception):
    """The image is not one whose configuration can be checked; says why."""


class Server:
    """The code of the installed release, which moved over the years."""

    def __init__(self):
        self.datatypes, self.stack, self.distribution, self.resolver = map(
            self.core, ("datatypes", "stack", "distribution", "resolver")
        )
        self.class_of = self.core("utils.dynamic").instantiate_class_type
        self.storage = self.core("storage.datatypes", required=False)
        self.model = getattr(self.datatypes, "StackConfig", None) or self.datatypes.StackRunConfig
        names = ("cast_distro_name_to_string", "cast_image_name_to_string")
        self.name_as_text = next(filter(None, (getattr(self.stack, name, None) for name in names)), dict)
        routed = self.distribution.builtin_automatically_routed_apis()
        self.routers = {pair.routing_table_api: pair.router_api for pair in routed}
        self.Api = type(next(iter(self.routers)))
        self.internal = getattr(self.distribution, "INTERNAL_APIS", {self.Api("inspect"), self.Api("providers")})
        self.is_ogx = self.datatypes.__name__.startswith("ogx.")
        # Up to 0.2.12 the only provider of an API takes a resource that names none.
        self.needs_provider = "__disabled__" in inspect.getsource(self.stack.register_resources)

    @staticmethod
    def core(module: str, required: bool = True):
        for package in ("llama_stack.core", "llama_stack.distribution", "ogx.core"):
            with contextlib.suppress(ModuleNotFoundError):
                found = importlib.util.find_spec(f"{package}.{module}")
                if found:
                    return importlib.import_module(f"{package}.{module}")
        if required:
            raise NotChecked(f"the server has no module {module}")
        return None


class ConfigCheck:
    """What one release finds in one file."""

    def __init__(self, server: Server):
        self.server, self.problems, self.deprecated, self.made = server, [], [], []
        self.positions, self.values, self.enabled, self.resolved = {}, [], {}, {}

    # What is found

    def problem(self, kind: str, path: str, message: str) -> None:
        one = {"kind": kind, "path": self.in_the_file(path), "message": self.without_values(message)}
        if one not in self.problems:
            self.problems.append(one)

    def refuse(self, kind: str, path: str, message: str) -> None:
        self.problem(kind, path, message)
        raise Refused

    def in_the_file(self, path: str) -> str:
        """Entries that a variable switches off are gone before the server counts."""
        found = re.match(r"([^\[]+)\[(\d+)\]", path)
        kept = self.positions.get(found.group(1)) if found else None
        if not kept or int(found.group(2)) >= len(kept):
            return path
        return f"{found.group(1)}[{kept[int(found.group(2))]}]{path[found.end():]}"

    def without_values(self, text: str) -> str:
        for value in self.values:
            text = text.replace(value, "…")
        text = " ".join(text.split())
        return text if len(text) <= TEXT else text[: TEXT - 1] + "…"

    # The file

    def run(self, text: str) -> None:
        with contextlib.suppress(Refused):
            given = self.substituted(text)
            config = self.built(self.server.model, self.server.name_as_text(dict(given)), given, "")
            self.ignored(given, config, "")
            providers = self.providers(config)
            self.references(config, config, "")
            served = self.wiring(config, providers)
            self.resources(config, served)
            self.defaults(config, served)

    def substituted(self, text: str) -> dict:
        import yaml

        try:
            given = yaml.safe_load(text)
        except yaml.YAMLError as error:
            line = getattr(getattr(error, "problem_mark", None), "line", None)
            where = "" if line is None else f" (line {line + 1})"
            self.refuse("schema", "", f"not YAML: {getattr(error, 'problem', None) or 'unreadable'}{where}")
        if not isinstance(given, dict):
            self.refuse("schema", "", "not a mapping")
        variables = set(re.findall(r"\$\{env\.([A-Z0-9_]+)", text))
        values = {os.environ.get(name, "") for name in variables}
        self.values = sorted((value for value in values if len(value) > 2), key=len, reverse=True)
        try:
            resolved = self.server.stack.replace_env_vars(given)
        except Exception as error:
            self.refuse("schema", getattr(error, "path", ""), str(error))
        self.count(given)
        self.resolved = resolved
        return resolved

    def count(self, given: dict) -> None:
        """Which entries of each list are left once variables are replaced."""
        sections = [("", given), *((f"{key}.", given.get(key)) for key in ("providers", "registered_resources"))]
        for prefix, section in sections:
            for key, entries in section.items() if isinstance(section, dict) else ():
                if isinstance(entries, list):
                    self.positions[f"{prefix}{key}"] = [n for n, entry in enumerate(entries) if self.stays(entry)]

    def stays(self, entry) -> bool:
        try:
            return bool(self.server.stack.replace_env_vars([entry]))
        except Exception:
            return True

    def built(self, model, values: dict, given, path: str):
        """An instance of the model, as the server makes it."""
        from pydantic import ValidationError
        from pydantic.warnings import PydanticDeprecationWarning

        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                instance = model(**values)
        except ValidationError as error:
            for one in error.errors(include_url=False, include_context=False):
                message = one["msg"]
                for value in leaves(one.get("input")):
                    message = message.replace(value, "…")
                self.problem("schema", join(path, *steps(one["loc"], given)), message)
            raise Refused from None
        except Exception as error:
            self.refuse("schema", path, str(error) or type(error).__name__)
        for warning in caught:
            # Pydantic's own warnings are about the server's code, and the bare word comes from a validator that looks
            # at a deprecated field whether it was given or not.
            ours = not issubclass(warning.category, PydanticDeprecationWarning)
            if issubclass(warning.category, DeprecationWarning) and ours and str(warning.message) != "deprecated":
                self.deprecated.append(str(warning.message))
        return instance

    def ignored(self, given, built, path: str) -> None:
        for place in dropped(given, built, path):
            self.problem("dropped", place, "this release of the server ignores it")

    # Providers

    def providers(self, config) -> dict:
        """The providers that are switched on, by API, and what is wrong with each."""
        wrong = len(self.refusals())
        self.modules(config)
        if len(self.refusals()) > wrong:
            raise Refused
        try:
            registry = self.server.distribution.get_provider_registry(config)
        except Exception as error:
            cause = error
            while cause.__cause__ or cause.__context__:
                cause = cause.__cause__ or cause.__context__
            missing = isinstance(cause, ImportError)
            self.refuse("package" if missing else "provider", "providers", f"external providers: {cause if missing else error}")
        enabled, wrong = self.enabled, len(self.refusals())
        for name, entries in config.providers.items():
            api = self.api(name, join("providers", name), "provider")
            if api in self.server.routers:
                self.problem("provider", f"providers.{name}", "the server provides this API by itself")
            elif api and api not in registry:
                self.problem("provider", f"providers.{name}", "this API takes no providers")
            elif api:
                enabled[api] = {}
                for index, entry in enumerate(entries):
                    if entry.provider_id and entry.provider_id != "__disabled__":
                        path = join("providers", name, index)
                        if entry.provider_id in enabled[api]:
                            earlier = enabled[api][entry.provider_id]
                            self.problem("dropped", earlier, "a later provider of the same id takes its place")
                        enabled[api][entry.provider_id] = path
                        self.provider(entry, api, registry, config, path)
        if len(self.refusals()) > wrong:
            raise Refused
        return enabled

    def modules(self, config) -> None:
        """What each external package says of itself. The server's own words for it leave out what is missing, and of a
        list without the type it says nothing at all."""
        for name, entries in config.providers.items():
            for index, entry in enumerate(entries):
                if entry.provider_id and getattr(entry, "module", None):
                    self.module(name, entry, join("providers", name, index, "module"))

    def module(self, api: str, entry, path: str) -> None:
        package = entry.module.split("==")[0]
        try:
            given = importlib.import_module(f"{package}.provider").get_provider_spec()
        except ModuleNotFoundError as error:
            own = error.name and f"{package}.provider".startswith(error.name)
            what = f"there is no module {error.name}" if own else f"{package} needs {error.name}, which is not installed"
            return self.problem("package", path, what)
        except ImportError as error:
            return self.problem("package", path, str(error))
        except AttributeError:
            return self.problem("package", path, f"{package}.provider has no get_provider_spec() that works")
        except Exception as error:  # whose text may quote anything
            return self.problem("package", path, f"get_provider_spec() fails: {type(error).__name__}")
        specs = given if isinstance(given, list) else [given]
        types = [str(getattr(spec, "provider_type", None)) for spec in specs]
        if isinstance(given, list) and entry.provider_type not in types:
            listed = ", ".join(types) or "nothing"
            self.problem("provider", path, f"get_provider_spec() gives {listed}, not {entry.provider_type}")
            return None
        spec = specs[types.index(entry.provider_type)] if entry.provider_type in types else specs[0]
        provided = getattr(getattr(spec, "api", None), "value", None)
        if entry.provider_type not in types:
            self.problem("mismatch", path, f"get_provider_spec() says {types[0]}, not {entry.provider_type}")
        elif provided and provided != api:
            self.problem("mismatch", path, f"get_provider_spec() says the API {provided}, not {api}")
        return None

    def refusals(self) -> list:
        return [one for one in self.problems if one["kind"] not in WARNINGS]

    def provider(self, entry, api, registry, config, path: str) -> None:
        try:
            self.server.resolver.validate_provider(entry, api, registry)
        except Exception as error:
            return self.problem("provider", f"{path}.provider_type", str(error))
        spec = registry[api][entry.provider_type]
        if spec.deprecation_warning:
            self.deprecated.append(f"{path}.provider_type: {spec.deprecation_warning}")
        try:
            model = self.server.class_of(spec.config_class)
        except ImportError as error:
            return self.problem("package", f"{path}.provider_type", str(error))
        except Exception as error:
            return self.problem("provider", f"{path}.provider_type", str(error))
        with contextlib.suppress(Refused):  # the other providers can be checked all the same
            instance = self.built(model, entry.config, entry.config, join(path, "config"))
            self.ignored(entry.config, instance, join(path, "config"))
            self.references(config, instance, join(path, "config"))

    def api(self, name: str, path: str, kind: str):
        try:
            return self.server.Api(name)
        except ValueError as error:
            self.problem(kind, path, str(error))
            return None

    def references(self, config, value, path: str) -> None:
        """Stores that a configuration refers to by the name of their backend (from 0.3)."""
        from pydantic import BaseModel

        storage = self.server.storage
        if storage and isinstance(value, (storage.KVStoreReference, storage.SqlStoreReference)):
            backend = config.storage.backends.get(value.backend)
            family = "kv_" if isinstance(value, storage.KVStoreReference) else "sql_"
            if backend is None:
                self.problem("schema", f"{path}.backend", f"no backend is called {value.backend!r}")
            elif not backend.type.value.startswith(family):
                message = f"{value.backend!r} is a {backend.type.value}, not a {family}*"
                self.problem("schema", f"{path}.backend", message)
        elif isinstance(value, BaseModel):
            for key, inner in value.__dict__.items():
                self.references(config, inner, join(path, key))

    def wiring(self, config, providers: dict) -> dict:
        """The APIs that come to life, found by the release's own resolution with providers that are never made."""

        async def made(provider, *_):
            self.made.append(provider)
            return object()

        server = self.server
        server.resolver.instantiate_provider = made
        arguments = [config, server.distribution.get_provider_registry(config), None, []]
        if "internal_impls" in inspect.signature(server.resolver.resolve_impls).parameters:
            arguments.append({api: object() for api in server.internal})
        try:
            served = set(asyncio.run(server.resolver.resolve_impls(*arguments)))
        except KeyError as error:
            self.refuse("provider", "apis", f"{error.args[0]} is needed and not there")
        except (AttributeError, TypeError) as error:
            raise NotChecked(f"{type(error).__name__} where the server puts its providers together") from error
        except Exception as error:
            self.refuse("provider", "providers", str(error))
        for index, name in enumerate(config.apis or []):
            api = self.api(name, join("apis", index), "schema")
            if api and api not in served | server.internal:
                self.problem("provider", join("apis", index), f"{name} has no provider")
        return {api: providers.get(server.routers.get(api, api), {}) for api in served}

    # Resources

    def resources(self, config, served: dict) -> None:
        nested = hasattr(config, "registered_resources")
        holder = config.registered_resources if nested else config
        prefix = "registered_resources" if nested else ""
        registered = {kind: api for kind, api, *_ in self.server.stack.RESOURCES}
        for kind in list(type(holder).model_fields) if nested else list(registered):
            if kind == "connectors":
                continue  # they belong to no provider
            for index, entry in enumerate(holder.__dict__[kind]):
                self.resource(kind, entry, join(prefix, kind, index), registered.get(kind), served)

    def resource(self, kind: str, entry, path: str, api, served: dict) -> None:
        provider = getattr(entry, "provider_id", None)
        # A provider that a variable left empty was switched off on purpose.
        skipped = self.server.needs_provider and "provider_id" not in entry.model_fields_set
        if api not in served or skipped:
            self.problem("dropped", path, "the server does not register it: it has no provider")
        elif provider == "all" and kind == "models" and self.server.is_ogx:
            pass  # whichever inference provider comes first
        elif provider and provider != "__disabled__" and provider not in served[api]:
            router = self.server.routers[api].value
            self.problem("schema", f"{path}.provider_id", f"{router} has no provider {provider!r}")
        if kind == "models" and entry.model_type == "embedding" and "embedding_dimension" not in entry.metadata:
            self.problem("schema", f"{path}.metadata", "an embedding model needs embedding_dimension")

    def defaults(self, config, served: dict) -> None:
        """What the server looks for when everything else is up."""
        for name in NEEDED_STORES if self.server.storage else ():
            if getattr(config.storage.stores, name) is None:
                self.problem("schema", f"storage.stores.{name}", "the server does not start without it")
        vectors = getattr(config, "vector_stores", None)
        rewrite = getattr(vectors, "rewrite_query_params", None)
        for path, model in (
            ("default_embedding_model", getattr(vectors, "default_embedding_model", None)),
            ("default_reranker_model", getattr(vectors, "default_reranker_model", None)),
            ("rewrite_query_params.model", getattr(rewrite, "model", None)),
        ):
            # Which models a provider lists is known only to the provider.
            if model and model.provider_id not in served.get(self.server.Api("models"), {}):
                self.problem("schema", f"vector_stores.{path}", f"inference has no provider {model.provider_id!r}")
        shield = getattr(getattr(config, "safety", None), "default_shield_id", None)
        if shield:
            shields = [one.shield_id for one in config.registered_resources.shields if one.provider_id]
            if self.server.Api("shields") not in served:
                self.problem("schema", "safety.default_shield_id", "the safety API is not served")
            elif shields and shield not in shields:
                self.problem("schema", "safety.default_shield_id", f"no shield is called {shield!r}")


# Between what was written and what was built


def dropped(given, built, path: str = ""):
    """The paths of all that is in `given` and not in `built`. Comparing with the instance instead of with the declared
    types needs no guess about which member of a union a value became, and also sees what a validator emptied."""
    from pydantic import BaseModel

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


def fields_by_key(model) -> dict[str, str]:
    """How each field may be written, to its name."""
    from pydantic import AliasChoices

    keys = {}
    for name, field in model.model_fields.items():
        alias = field.validation_alias or field.alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        spellings = [choice for choice in choices if isinstance(choice, str)]
        if not spellings or model.model_config.get("populate_by_name"):
            spellings.append(name)
        keys.update(dict.fromkeys(spellings, name))
    return keys


def join(path: str, *steps) -> str:
    """`a`, `b`, 0, `c` as `a.b[0].c`."""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else str(step)
    return path


def steps(location: tuple, given):
    """The way to an error in the file; the model's own names for the members of a union are no part of it."""
    for number, step in enumerate(location):
        if isinstance(given, dict) and step in given or isinstance(given, list) and step in range(len(given)):
            given = given[step]
            yield step
        elif isinstance(given, dict) and number + 1 == len(location) and isinstance(step, str) and step.isidentifier():
            yield step  # a field that is missing


def leaves(value):
    """The texts and numbers of an input, which a message may quote."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for inner in value:
            yield from leaves(inner)
    elif value is not None and not isinstance(value, bool) and len(str(value)) > 2:
        yield str(value)
