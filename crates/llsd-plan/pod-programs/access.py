"""Sees before the start that the server will ask its callers who they are, and ends where it would not.

A server drops what it does not know of its file without a word, and then is open to everybody. So where the installed
release is none that is known to have everything that the resource asks for, the server's own models are asked. Where a
token provider is to say itself where its keys are, it is asked here too: the operator never calls an address that a
resource names.

Environment: LLS_ACCESS, the first and the last release that are known to have it all; LLS_JWKS_URI, where the provider
says where its keys are, which becomes the address of the keys.
"""

import json
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import installed

DISCOVERY = "/.well-known/openid-configuration"
ANSWER_SECONDS = 5
DISCOVERY_SECONDS = 60
LARGEST_ANSWER = 1 << 20
SECTIONS = ("auth", "tenancy")
PATTERN = "regex:"


def prepare(config: dict, release: installed.Release) -> dict:
    """The configuration with the address of the keys, for a server that is known to use it."""
    server = config.get("server") or {}
    if not server.get("auth"):
        installed.fail("the resource has access, but the configuration has no server.auth")
    pattern = next(filter(cannot_be_compiled, patterns(server["auth"])), None)
    if pattern:
        installed.fail(f"the server would pass over the pattern {pattern}, which its Python does not read: correct it")
    uri = os.environ.get("LLS_JWKS_URI") or ""
    if uri.endswith(DISCOVERY):
        provider = server["auth"]["provider_config"]
        provider["jwks"]["uri"] = os.environ["LLS_JWKS_URI"] = keys_of(uri, provider)
    if not is_known(release):
        lacking = what_it_lacks(server, release)
        if lacking:
            installed.fail(
                f"the installed server would ignore {lacking}, and be open to those whom it keeps out: use a release "
                "that has it, or take it out of access"
            )
    return config


def is_known(release: installed.Release) -> bool:
    """Another server has other numbers: those of OGX begin where those of llama-stack end."""
    first, last = (tuple(int(part) for part in number.split(".")) for number in os.environ["LLS_ACCESS"].split())
    return first <= release <= last


def patterns(auth: dict) -> list[str]:
    rules = [*(auth.get("route_policy") or []), *(auth.get("access_policy") or [])]
    scopes = [rule.get(effect) or {} for rule in rules for effect in ("permit", "forbid")]
    texts = [text for scope in scopes for text in [*listed(scope.get("paths")), *listed(scope.get("resource"))]]
    return [text for text in texts if text.startswith(PATTERN)]


def cannot_be_compiled(pattern: str) -> bool:
    """To a server nothing matches such a pattern, also where it forbids."""
    try:
        re.compile(pattern.removeprefix(PATTERN))
    except (re.error, OverflowError, RecursionError):
        return True
    return False


def listed(texts: str | list[str] | None) -> list[str]:
    return [texts] if isinstance(texts, str) else texts or []


# What the server knows


def what_it_lacks(server: dict, release: installed.Release) -> str | None:
    """The first part of the section that the server's own models refuse or drop."""
    package = "ogx" if release >= installed.OGX else "llama_stack"
    try:
        models = __import__(f"{package}.core.datatypes", fromlist=["ServerConfig"])
        asked = {name: server[name] for name in SECTIONS if server.get(name)}
        read = models.ServerConfig.model_validate(asked)
        kept = read.model_dump(mode="json")
    except Exception as error:  # of a release that has none of this, or has it otherwise
        installed.say(f"its models do not take server.auth: {type(error).__name__}")
        return "server.auth"
    for name in SECTIONS:
        lost = dropped(asked.get(name), kept.get(name), f"server.{name}")
        if lost:
            return lost
    # Before 0.6 a pattern is taken for a name, which nothing has.
    if patterns(server["auth"]) and not says(f"{package}.core.access_control.access_control", PATTERN):
        return f"what {PATTERN} means"
    # Before 0.3 nothing is open to the probes.
    return None if says(f"{package}.core.server.auth", "require_authentication") else "that /v1/health is open"


def dropped(asked, kept, path: str) -> str | None:
    if isinstance(asked, dict):
        if not isinstance(kept, dict):
            return path
        fields = ((key, dropped(value, kept.get(key), f"{path}.{key}")) for key, value in asked.items())
        return next((lost for _, lost in fields if lost), None)
    if isinstance(asked, list):
        if not isinstance(kept, list) or len(kept) != len(asked):
            return path
        items = (dropped(one, other, f"{path}[{at}]") for at, (one, other) in enumerate(zip(asked, kept)))
        return next((lost for lost in items if lost), None)
    return path if asked is not None and kept is None else None


def says(name: str, word: str) -> bool:
    """Whether a module of the server has a word in it."""
    try:
        module = __import__(name, fromlist=["module"])
        with open(module.__file__, encoding="utf-8") as source:
            return word in source.read()
    except (ImportError, OSError):
        return False


# Where a provider's keys are


def keys_of(address: str, provider: dict) -> str:
    """What the provider says. It may start beside the server, so it is asked for a while."""
    trust = provider.get("tls_cafile")
    until = time.monotonic() + float(os.environ.get("LLS_DISCOVERY_SECONDS") or DISCOVERY_SECONDS)
    pause = 0.5
    while True:
        problem, document = ask(address, trust)
        if document is not None:
            return checked(document, address, str(provider.get("issuer")))
        if time.monotonic() + pause > until:
            installed.fail(f"the token provider does not say where its keys are: {address} {problem}")
        time.sleep(pause)
        pause = min(pause * 2, 5)


class NeverInClear(urllib.request.HTTPRedirectHandler):
    """From https no redirect leads to plain http, where somebody else could answer."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            raise urllib.error.HTTPError(req.full_url, code, "leads to plain http", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def ask(address: str, trust: str | None) -> tuple[str, dict | None]:
    try:
        context = ssl.create_default_context(cafile=trust) if address.startswith("https:") else None
        opener = urllib.request.build_opener(NeverInClear, urllib.request.HTTPSHandler(context=context))
        with opener.open(address, timeout=ANSWER_SECONDS) as answer:
            document = json.loads(answer.read(LARGEST_ANSWER))
    except urllib.error.HTTPError as error:
        return f"answers {error.code}" + (f", which {error.reason}" if error.code < 400 else ""), None
    except urllib.error.URLError as error:
        return f"cannot be reached: {type(error.reason).__name__}", None
    except (OSError, ValueError) as error:
        return f"gives no answer that can be read: {type(error).__name__}", None
    return ("", document) if isinstance(document, dict) else ("answers something else", None)


def checked(document: dict, address: str, issuer: str) -> str:
    named, keys = document.get("issuer"), document.get("jwks_uri")
    if named != issuer:
        installed.fail(f"the provider at {address} calls itself {named}, so tokens of it would not be of {issuer}")
    secure = urlsplit(address).scheme == "https"
    if not isinstance(keys, str) or urlsplit(keys).scheme not in (("https",) if secure else ("https", "http")):
        installed.fail(f"the provider at {address} names no address of its keys that can be trusted")
    return keys
