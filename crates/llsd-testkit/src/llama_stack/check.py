"""Judges configurations with the models and the wiring of the installed release, without booting.

Standard input: a JSON list of {"name", "text", "env"}. Standard output: a JSON list, in the same
order, of {"errors", "dropped", "deprecated", "unjudged"}, all of them lists of strings.

errors      what makes this release refuse to start
dropped     paths of what it reads and then ignores without a word
deprecated  what it warns of
unjudged    providers whose own code needs a package that is not installed here

One process judges all of them: importing the release takes seconds, a configuration milliseconds.
"""

import asyncio
import importlib
import inspect
import json
import logging
import os
import sys
import warnings

# The release and its libraries print what they like; the answer must stay readable.
answer_to, sys.stdout = sys.stdout, sys.stderr
logging.disable(logging.CRITICAL)

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.warnings import PydanticDeprecationWarning

from dropped import dropped, join


def core(module):
    """A module of the server, which moved twice over the years."""
    for package in ("llama_stack.core", "llama_stack.distribution", "ogx.core"):
        try:
            return importlib.import_module(f"{package}.{module}")
        except ModuleNotFoundError as error:
            # A missing dependency of the server is not a missing server.
            if not f"{package}.{module}".startswith(error.name):
                raise
    return None


datatypes, stack, distribution, resolver = map(core, ("datatypes", "stack", "distribution", "resolver"))
instantiate_class_type = core("utils.dynamic").instantiate_class_type
storage = core("storage.datatypes")

StackConfig = getattr(datatypes, "StackConfig", None) or datatypes.StackRunConfig
name_as_text = getattr(stack, "cast_distro_name_to_string", None) or getattr(
    stack, "cast_image_name_to_string", lambda config: config
)
ROUTERS = {pair.routing_table_api: pair.router_api for pair in distribution.builtin_automatically_routed_apis()}
Api = type(next(iter(ROUTERS)))
INTERNAL = getattr(distribution, "INTERNAL_APIS", {Api("inspect"), Api("providers")})
OGX = datatypes.__name__.startswith("ogx.")
REFERENCES = (storage.KVStoreReference, storage.SqlStoreReference) if storage else ()
# Up to 0.2.12 the only provider of an API takes a resource that names none.
SKIPS_WITHOUT_PROVIDER = "__disabled__" in inspect.getsource(stack.register_resources)


class Refused(Exception):
    """Nothing further can be judged."""


class Judgement:
    def __init__(self):
        self.errors, self.dropped, self.deprecated, self.unjudged = [], [], [], []

    def judge(self, text):
        try:
            given = self.substituted(text)
            config = self.built(StackConfig, name_as_text(dict(given)), "")
            self.dropped.extend(dropped(given, config))
            providers = self.providers(config)
            self.references(config, config, "")
            served = self.wiring(config, providers)
            self.resources(config, served)
            self.defaults(config, served)
        except Refused:
            pass

    def refuse(self, message):
        self.errors.append(message)
        raise Refused

    def substituted(self, text):
        try:
            given = yaml.safe_load(text)
        except yaml.YAMLError as error:
            self.refuse(f"not YAML: {error}")
        if not isinstance(given, dict):
            self.refuse("not a mapping")
        try:
            return stack.replace_env_vars(given)
        except Exception as error:
            self.refuse(str(error))

    def built(self, model, values, path):
        """An instance of the model, as the server makes it."""
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                instance = model(**values)
        except ValidationError as error:
            for one in error.errors():
                where = join(path, *one["loc"])
                self.errors.append(f"{where}: {one['msg']}" if where else one["msg"])
            raise Refused from None
        except Exception as error:
            self.refuse(f"{path or 'the configuration'}: {error}")
        for warning in caught:
            # Pydantic's own warnings are about the server's code, and the bare word comes from a
            # validator that looks at a deprecated field whether it was given or not.
            ours = not issubclass(warning.category, PydanticDeprecationWarning)
            if issubclass(warning.category, DeprecationWarning) and ours and str(warning.message) != "deprecated":
                self.deprecated.append(str(warning.message))
        return instance

    def providers(self, config):
        """The providers that are switched on, by API, and what is wrong with each."""
        try:
            registry = distribution.get_provider_registry(config)
        except Exception as error:
            self.refuse(f"external providers: {error}")
        enabled, wrong = {}, len(self.errors)
        for name, entries in config.providers.items():
            api = self.api(name, join("providers", name))
            if api in ROUTERS:
                self.errors.append(f"providers.{name}: the server provides it by itself")
            elif api and api not in registry:
                self.errors.append(f"providers.{name}: this API takes no providers")
            elif api:
                enabled[api] = {}
                for index, entry in enumerate(entries):
                    if entry.provider_id and entry.provider_id != "__disabled__":
                        path = join("providers", name, index)
                        if entry.provider_id in enabled[api]:
                            # The later one takes the place of the earlier one in silence.
                            self.dropped.append(enabled[api][entry.provider_id])
                        enabled[api][entry.provider_id] = path
                        self.provider(entry, api, registry, config, path)
        if len(self.errors) > wrong:
            raise Refused
        return enabled

    def provider(self, entry, api, registry, config, path):
        try:
            resolver.validate_provider(entry, api, registry)
        except Exception as error:
            self.errors.append(f"{path}.provider_type: {error}")
            return
        spec = registry[api][entry.provider_type]
        if spec.deprecation_warning:
            self.deprecated.append(f"{path}.provider_type: {spec.deprecation_warning}")
        try:
            model = instantiate_class_type(spec.config_class)
        except ImportError as error:
            self.unjudged.append(f"{path}: {error}")
            return
        except Exception as error:
            self.errors.append(f"{path}: {error}")
            return
        try:
            instance = self.built(model, entry.config, join(path, "config"))
        except Refused:
            return  # the other providers can be judged all the same
        self.dropped.extend(dropped(entry.config, instance, join(path, "config")))
        self.references(config, instance, join(path, "config"))

    def api(self, name, path):
        try:
            return Api(name)
        except ValueError as error:
            self.errors.append(f"{path}: {error}")
            return None

    def references(self, config, value, path):
        """Stores that a configuration refers to by the name of their backend (from 0.3)."""
        if REFERENCES and isinstance(value, REFERENCES):
            backend = config.storage.backends.get(value.backend)
            family = "kv_" if isinstance(value, storage.KVStoreReference) else "sql_"
            if backend is None:
                self.errors.append(f"{path}.backend: no backend is called {value.backend!r}")
            elif not backend.type.value.startswith(family):
                self.errors.append(f"{path}.backend: {value.backend!r} is a {backend.type.value}, not a {family}*")
        elif isinstance(value, BaseModel):
            for key, inner in value.__dict__.items():
                self.references(config, inner, join(path, key))

    def wiring(self, config, providers):
        """The APIs that come to life, found by the release's own resolution with providers that
        are never made."""

        async def made(*_):
            return object()

        resolver.instantiate_provider = made
        arguments = [config, distribution.get_provider_registry(config), None, []]
        if "internal_impls" in inspect.signature(resolver.resolve_impls).parameters:
            arguments.append({api: object() for api in INTERNAL})
        try:
            served = set(asyncio.run(resolver.resolve_impls(*arguments)))
        except KeyError as error:
            self.refuse(f"apis: {error.args[0]} is needed and not there")
        except Exception as error:
            self.refuse(str(error))
        for index, name in enumerate(config.apis or []):
            api = self.api(name, join("apis", index))
            if api and api not in served | INTERNAL:
                self.errors.append(f"{join('apis', index)}: {name} has no provider")
        return {api: providers.get(ROUTERS.get(api, api), {}) for api in served}

    def resources(self, config, served):
        nested = hasattr(config, "registered_resources")
        holder = config.registered_resources if nested else config
        prefix = "registered_resources" if nested else ""
        registered = {kind: api for kind, api, *_ in stack.RESOURCES}
        kinds = list(type(holder).model_fields) if nested else list(registered)
        for kind in kinds:
            if kind == "connectors":
                continue  # they belong to no provider
            for index, entry in enumerate(holder.__dict__[kind]):
                path, api = join(prefix, kind, index), registered.get(kind)
                provider = getattr(entry, "provider_id", None)
                # A provider that a variable left empty was switched off on purpose.
                skipped = SKIPS_WITHOUT_PROVIDER and "provider_id" not in entry.model_fields_set
                if api not in served or skipped:
                    self.dropped.append(path)
                elif provider == "all" and kind == "models" and OGX:
                    pass  # whichever inference provider comes first
                elif provider and provider != "__disabled__" and provider not in served[api]:
                    self.errors.append(f"{path}.provider_id: {ROUTERS[api].value} has no provider {provider!r}")
                if kind == "models" and entry.model_type == "embedding" and "embedding_dimension" not in entry.metadata:
                    self.errors.append(f"{path}.metadata: an embedding model needs embedding_dimension")

    def defaults(self, config, served):
        """What the server looks for when everything else is up."""
        if storage:
            for name in ("metadata", "conversations"):
                if getattr(config.storage.stores, name) is None:
                    self.errors.append(f"storage.stores.{name}: the server does not start without it")
        vectors = getattr(config, "vector_stores", None)
        rewrite = getattr(vectors, "rewrite_query_params", None)
        for path, model in (
            ("default_embedding_model", getattr(vectors, "default_embedding_model", None)),
            ("default_reranker_model", getattr(vectors, "default_reranker_model", None)),
            ("rewrite_query_params.model", getattr(rewrite, "model", None)),
        ):
            # Which models a provider lists is known only to the provider.
            if model and model.provider_id not in served.get(Api("models"), {}):
                self.errors.append(f"vector_stores.{path}: inference has no provider {model.provider_id!r}")
        shield = getattr(getattr(config, "safety", None), "default_shield_id", None)
        if shield:
            shields = [one.shield_id for one in config.registered_resources.shields if one.provider_id]
            if Api("shields") not in served:
                self.errors.append("safety.default_shield_id: the safety API is not served")
            elif shields and shield not in shields:
                self.errors.append(f"safety.default_shield_id: no shield is called {shield!r}")


def judge(candidate, environment, import_path):
    os.environ.clear()
    os.environ.update(environment | candidate["env"])
    # Where external providers are looked for.
    extra = candidate["env"].get("PYTHONPATH", "")
    sys.path[:] = [*filter(None, extra.split(":")), *import_path]
    judgement = Judgement()
    judgement.judge(candidate["text"])
    return {key: list(dict.fromkeys(lines)) for key, lines in vars(judgement).items()}


def main():
    environment, import_path = dict(os.environ), list(sys.path)
    candidates = json.load(sys.stdin)
    json.dump([judge(one, environment, import_path) for one in candidates], answer_to)


main()
