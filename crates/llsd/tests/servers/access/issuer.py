"""A token provider on loopback: discovery, keys and introspection, over TLS. For tests.

Arguments: a folder, a port, the certificate, its key, and the issuer's name. Reads `claims.json` of the folder, a list of
claims to sign, and writes `tokens.json` once it listens. Claims with `forged` are signed by a key of somebody else.
What is below `/in-clear/` has moved to plain http, and the provider `/keys-in-clear` has its keys there. Where the folder has `keys.json`, these are its keys.
"""

import base64
import http.server
import json
import os
import ssl
import sys
import urllib.parse

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

folder, port, certificate, key, issuer = sys.argv[1:]
own, foreign = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
tokens = {}


def signed(claims: dict) -> str:
    by = foreign if claims.pop("forged", False) else own
    token = jwt.encode(claims, by, algorithm="RS256", headers={"kid": "one"})
    tokens[token] = claims
    return token


def keys() -> dict:
    if os.path.exists(f"{folder}/keys.json"):
        with open(f"{folder}/keys.json") as file:
            return json.load(file)
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(own.public_key()))
    return {"keys": [jwk | {"kid": "one", "use": "sig", "alg": "RS256"}]}


class Provider(http.server.BaseHTTPRequestHandler):
    def answer(self, document: dict, status: int = 200) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        documents = {
            "/.well-known/openid-configuration": {"issuer": issuer, "jwks_uri": f"{issuer}/keys"},
            "/keys-in-clear/.well-known/openid-configuration": {
                "issuer": f"{issuer}/keys-in-clear",
                "jwks_uri": f"{issuer}/in-clear/keys",
            },
            "/keys": keys(),
        }
        if self.path.startswith("/in-clear/"):
            self.send_response(302)
            self.send_header("location", issuer.replace("https:", "http:"))
            return self.end_headers()
        found = documents.get(self.path)
        self.answer(found or {}, 200 if found else 404)

    def do_POST(self) -> None:
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        wanted = "Basic " + base64.b64encode(b"stack:planted-client-secret").decode()
        if self.headers.get("authorization") != wanted:
            return self.answer({}, 401)
        claims = tokens.get(form["token"][0])
        self.answer({"active": claims is not None, **(claims or {})})

    def log_message(self, *_) -> None:
        pass


with open(f"{folder}/claims.json") as file:
    made = [signed(claims) for claims in json.load(file)]
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Provider)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(f"{folder}/tokens.new", "w") as file:
    json.dump(made, file)

os.replace(f"{folder}/tokens.new", f"{folder}/tokens.json")
server.serve_forever()
