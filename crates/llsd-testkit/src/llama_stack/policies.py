"""Asks the installed release whom it lets in: its own middleware and its own access control, with the
services that they would ask replaced by their answers.

Standard input: {"conditions": [text, …], "cases": [{"auth", "tenancy", "request", "resource_request"}, …]}.
Standard output: {"conditions": [bool, …], "cases": [{"status", "route", "allowed", "rule"}, …]}.

conditions  whether the release understands the sentence
status      200, 401, 403 or 500, before any resource is looked at
route       the index of the rule for paths that decides; null where none does
allowed     whether the resource request is; null where the status is not 200 or there is none
rule        the index of the rule for resources that decides; null where none does
"""

import asyncio
import importlib
import importlib.util
import json
import logging
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

# The release and its libraries print what they like; the answer must stay readable.
answer_to, sys.stdout = sys.stdout, sys.stderr
logging.disable(logging.CRITICAL)

PACKAGE = "ogx" if importlib.util.find_spec("ogx") else "llama_stack"


def load(name):
    return importlib.import_module(f"{PACKAGE}.core.{name}")


auth, providers, datatypes = load("server.auth"), load("server.auth_providers"), load("datatypes")
control, conditions = load("access_control.access_control"), load("access_control.conditions")
rules, headers = load("access_control.datatypes"), load("request_headers")


class Response:
    def __init__(self, status_code, body):
        self.status_code, self.body = status_code, body

    def json(self):
        return self.body

    def raise_for_status(self):
        return self


class Client:
    """Every service that a server asks about a caller. What they say is `told`."""

    told = None

    def __init__(self, *_args, **_kwargs):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_args):
        return False

    async def aclose(self):
        pass

    async def post(self, url, **_kwargs):
        if str(url).endswith("selfsubjectreviews"):
            return Response(201, {"status": {"userInfo": Client.told}})
        if "introspect" in str(url):
            return Response(200, {"active": True} | Client.told)
        return Response(200, Client.told)

    async def get(self, url, **_kwargs):
        if str(url).endswith("/orgs"):
            return Response(200, [{"login": name} for name in Client.told.get("organizations", [])])
        return Response(200, {name: Client.told[name] for name in ("login", "id") if name in Client.told})


class Tokens:
    """In the place of the library that checks signatures."""

    PyJWKClient = object

    @staticmethod
    def get_unverified_header(_token):
        return {"alg": "RS256", "kid": "key"}

    @staticmethod
    def decode(*_args, **_kwargs):
        return json.loads(json.dumps(Client.told))


def replace_services():
    for name in ("httpx", "httpx2"):
        module = getattr(providers, name, None)
        if module is not None:
            module.AsyncClient = Client
    providers.jwt = Tokens
    key = SimpleNamespace(key="key")
    client = SimpleNamespace(get_signing_key_from_jwt=lambda _token: key)
    providers.OAuth2TokenAuthProvider._get_jwks_client = lambda _self: client


class Chain:
    """The middleware of the server in its order, before an application that only says that it was reached."""

    def __init__(self):
        self.impls, self.top = self.inspection()
        self.routes = None

    @staticmethod
    def inspection():
        """What the release needs to find out which paths need no token."""
        parameters = auth.AuthenticationMiddleware.__init__.__code__.co_varnames
        inspect = datatypes.Api.inspect
        if "impls" in parameters:
            return {inspect: MagicMock()}, None
        from fastapi import FastAPI

        routers = load("server.fastapi_router_registry")
        app = FastAPI()
        app.include_router(routers.build_fastapi_router(inspect, MagicMock()))
        return None, app

    def build(self, config, tenancy):
        async def application(_scope, _receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        app = application
        if getattr(config, "route_policy", None):
            app = auth.RouteAuthorizationMiddleware(app, route_policy=config.route_policy)
        if tenancy is not None and tenancy.mode != datatypes.TenancyMode.DISABLED:
            app = auth.TenancyMiddleware(app, tenancy_config=tenancy)
        arguments = {"impls": self.impls} if self.impls is not None else {}
        middleware = auth.AuthenticationMiddleware(app, auth_config=config, **arguments)
        if self.routes is not None:
            middleware.route_impls = self.routes
        return middleware

    async def call(self, middleware, request, is_gateway):
        told = request["told"]
        sent = []
        if told is not None and is_gateway:
            sent = [[name.lower().encode(), value.encode()] for name, value in told.items()]
        elif told is not None:
            token = told.get("principal") or "token"
            sent = [[b"authorization", f"Bearer {token}".encode()]]
        Client.told = told
        status = []

        async def send(message):
            if message["type"] == "http.response.start":
                status.append(message["status"])

        scope = {
            "type": "http",
            "method": request["method"],
            "path": request["path"],
            "query_string": b"",
            "headers": sent,
            "client": ("10.0.0.1", 40000),
            "app": self.top,
        }
        try:
            await middleware(scope, None, send)
        except Exception:
            # As the server answers where its middleware fails.
            return 500, None
        self.routes = getattr(middleware, "route_impls", None)
        return status[0], headers.user_from_scope(scope)


def owner_of(owner):
    if owner is None:
        return None
    tenant = {"tenant_id": owner["tenant"]} if owner.get("tenant") else {}
    return datatypes.User(principal=owner["principal"], attributes=owner["attributes"], **tenant)


def deciding(policy, holds):
    """The first rule that holds: alone, and as a permission, it lets in."""
    for index, rule in enumerate(policy):
        scope = rule.permit or rule.forbid
        if holds(type(rule)(permit=scope, when=rule.when, unless=rule.unless)):
            return index
    return None


def route_allowed(route, user, rule):
    if hasattr(auth, "is_route_allowed"):
        return auth.is_route_allowed(route, user, [rule])
    return auth.RouteAuthorizationMiddleware(None, [rule])._is_route_allowed(route, user)


async def decide(chain, case):
    config = datatypes.AuthenticationConfig(**case["auth"])
    tenancy = datatypes.TenancyConfig(**case["tenancy"]) if case["tenancy"] else None
    middleware = chain.build(config, tenancy)
    is_gateway = case["auth"]["provider_config"]["type"] == "upstream_header"
    status, user = await chain.call(middleware, case["request"], is_gateway)
    decision = {"status": status, "route": None, "allowed": None, "rule": None}
    if status in (401, 500):
        return decision
    if getattr(config, "route_policy", None):
        path = case["request"]["path"]
        path = path if path == "/" else path.rstrip("/")
        decision["route"] = deciding(config.route_policy, lambda rule: route_allowed(path, user, rule))
    asked = case["resource_request"]
    if status == 200 and asked is not None:
        kind, name = asked["resource"].split("::", 1)
        resource = SimpleNamespace(type=kind, identifier=name, owner=owner_of(asked["owner"]))
        action = rules.Action(asked["action"])
        decision["allowed"] = control.is_action_allowed(config.access_policy, action, resource, user)
        if user is not None:
            decision["rule"] = deciding(
                config.access_policy,
                lambda rule: control.is_action_allowed([rule], action, resource, user),
            )
    return decision


def is_understood(text):
    try:
        conditions.parse_condition(text)
        return True
    except ValueError:
        return False


async def main():
    question = json.load(sys.stdin)
    replace_services()
    chain = Chain()
    answer = {
        "conditions": [is_understood(text) for text in question["conditions"]],
        "cases": [await decide(chain, case) for case in question["cases"]],
    }
    json.dump(answer, answer_to)


asyncio.run(main())
