"""Sees before the start that the server will ask its callers who they are, and ends where it would not.

A server drops what it does not know of its file without a word, and then is open to everybody. So where the installed
release is none that is known to have everything that the resource asks for, the server's own models are asked. Where a
token provider is to say itself where its keys are, it is asked here too: the operator never calls an address that a
resource names. The server's own client follows redirects to plain http, so the keys are fetched here first, by a client
that does not.

Environment: LLS_ACCESS, the first and the last release that are known to have it all; LLS_JWKS_URI, where the provider
says where its keys are, which becomes the address of the keys; LLS_ALLOW_PLAIN_HTTP, set where keys may be fetched over
plain http from outside of the pod; LLS_OWN_VARIABLES, the guarded variables that the operator or the image has set.
"""

import json
import os
import re
import ssl
import sys
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
IN_POD = ("localhost", "127.0.0.1", "::1")
# Variables that could open the server: the same as in src/server/guarded.rs, which has a test for it.
GUARDED = (
    "LLS_ACCESS",
    "LLS_OWN_VARIABLES",
    "LLS_JWKS_URI",
    "LLS_ALLOW_PLAIN_HTTP",
    "LLAMA_STACK_CONFIG",
    "OGX_CONFIG",
    "FORWARDED_ALLOW_IPS",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)
GUARDED_BEGINNINGS = ("UVICORN_", "LLSD_AUTH_")


def forget_other_variables() -> None:
    """Removes guarded variables that neither the operator nor the image has set. The operator refuses those that it sees
    in a resource, but an object of `envFrom` may get them later."""
    own = {"LLS_ACCESS", *(os.environ.get("LLS_OWN_VARIABLES") or "").split()}
    guarded = (name for name in os.environ if name in GUARDED or name.startswith(GUARDED_BEGINNINGS))
    for name in sorted(set(guarded).difference(own)):
        value = os.environ.pop(name)
        installed.say(f"{name} is left out: with access only the operator sets it")
        if name == "PYTHONPATH":  # what this program imports from now on, too
            folders = value.split(os.pathsep)
            sys.path[1:] = [folder for folder in sys.path[1:] if folder not in folders]


def prepare(config: dict, release: installed.Release) -> dict:
    """The configuration with the address of the keys, for a server that is known to use it."""
    server = config.get("server") or {}
    if not server.get("auth"):
        installed.fail("the resource has access, but the configuration has no server.auth")
    pattern = next(filter(cannot_be_compiled, patterns(server["auth"])), None)
    if pattern:
        installed.fail(f"the server would pass over the pattern {pattern}, which its Python does not read: correct it")
    provider = server["auth"].get("provider_config") or {}
    uri = os.environ.get("LLS_JWKS_URI") or ""
    if uri.endswith(DISCOVERY):
        provider["jwks"]["uri"] = os.environ["LLS_JWKS_URI"] = keys_of(uri, provider)
    if provider.get("jwks"):
        answer(str(provider["jwks"].get("uri")), provider, "does not give its keys")
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
    """What the provider says."""
    document = answer(address, provider, "does not say where its keys are")
    return checked(document, address, str(provider.get("issuer")))


def answer(address: str, provider: dict, failure: str) -> dict:
    """What the provider answers. It may start beside the server, so it is asked for a while."""
    trust = provider.get("tls_cafile")
    until = time.monotonic() + float(os.environ.get("LLS_DISCOVERY_SECONDS") or DISCOVERY_SECONDS)
    pause = 0.5
    while True:
        problem, document = ask(address, trust)
        if document is not None:
            return document
        if time.monotonic() + pause > until:
            installed.fail(f"the token provider {failure}: {address} {problem}")
        time.sleep(pause)
        pause = min(pause * 2, 5)


def may_follow(before: str, address: str) -> bool:
    """From https nothing leads to plain http, where another could answer. Within the pod plain http may stay, and
    leaves it only where the resource says so."""
    try:
        scheme, host = urlsplit(address).scheme, urlsplit(address).hostname
    except ValueError:
        return False
    in_clear = host in IN_POD or bool(os.environ.get("LLS_ALLOW_PLAIN_HTTP"))
    return scheme == "https" or (scheme == "http" and in_clear and urlsplit(before).scheme == "http")


class NeverInClear(urllib.request.HTTPRedirectHandler):
    """Follows no redirect to plain http that the resource does not allow."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if not may_follow(req.full_url, newurl):
            raise urllib.error.HTTPError(req.full_url, code, "leads to plain http", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def ask(address: str, trust: str | None) -> tuple[str, dict | None]:
    try:
        context = ssl.create_default_context(cafile=trust) if address.startswith("https:") else None
        opener = urllib.request.build_opener(NeverInClear, urllib.request.HTTPSHandler(context=context))
        with opener.open(address, timeout=ANSWER_SECONDS) as answered:
            document = json.loads(answered.read(LARGEST_ANSWER))
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
    if not isinstance(keys, str) or not may_follow(address, keys):
        installed.fail(f"the provider at {address} names no address of its keys that can be trusted")
    return keys
