# Writes one file with every certificate authority that the server shall trust: those that its
# image trusts already, and those of the resource, if it has any. SSL_CERT_FILE replaces Python's own choice, so
# without the image's authorities the server could no longer reach any public service.
import os
import re
import ssl
import sys

additional, target = sys.argv[1:]
sources = [
    ssl.get_default_verify_paths().cafile or "",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
]
try:
    import certifi

    sources.append(certifi.where())
except ImportError:
    pass

block = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
certificates = {}
for source in filter(None, [additional, *sources]):
    try:
        with open(source, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        # Each image has some of these places; without the resource's own nothing must start.
        if source == additional:
            raise
        continue
    certificates.update(dict.fromkeys(block.findall(text)))

with open(target + ".new", "w", encoding="utf-8") as file:
    file.write("\n".join(certificates) + "\n")
os.replace(target + ".new", target)
print(f"{len(certificates)} certificates in {target}")
