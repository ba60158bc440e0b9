"""The provider types of the installed release, by its own registry: which packages each of them asks for, and whether
its code can be imported with what is installed.

Needs `preflight.py` and what it imports on its path. With the argument `imports`, each type is tried in a process of its
own, because some imports end theirs. Standard output: a JSON list of {"api", "type", "packages", "missing"}; `missing`
names the package that it lacks, and is null where nothing is missing or nothing was tried.
"""

import contextlib
import importlib.metadata
import json
import logging
import os
import re
import sys
import warnings

# The release and its libraries print what they like; the answer must stay readable.
answer_to = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

import preflight
from preflight_checks import Server


def packages(spec) -> list:
    """Up to 0.3 those of a remote provider are in a part of its own."""
    own = getattr(spec, "pip_packages", None) or []
    return [*own, *(getattr(getattr(spec, "adapter", None), "pip_packages", None) or [])]


def missing(server, spec) -> str | None:
    try:
        server.class_of(spec.config_class)
        preflight.import_provider(spec)
    except ModuleNotFoundError as error:
        return error.name or str(error)
    except ImportError as error:
        return f"another version of {error.name}"
    except Exception:  # its own code says more when it runs
        return None
    # Those of a service ask for what they use, some of them for what they only import when the server starts.
    return absent(spec) if spec.provider_type.startswith("remote::") else None


def absent(spec) -> str | None:
    """The first of its packages that is not installed."""
    for package in packages(spec):
        name = re.match(r"[A-Za-z0-9._-]+", package)
        try:
            importlib.metadata.version(name.group())
        except (importlib.metadata.PackageNotFoundError, AttributeError):
            return package
    return None


def in_a_child(server, spec) -> str | None:
    """What it lacks. Many share what the parent has imported already, so that one takes a moment."""
    answers, answer = os.pipe()
    child = os.fork()
    if not child:
        os.close(answers)
        with contextlib.suppress(BaseException), open(answer, "w") as pipe:
            pipe.write(missing(server, spec) or "")
        os._exit(0)
    os.close(answer)
    with open(answers) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text or None


def main() -> None:
    server, tries = Server(), "imports" in sys.argv[1:]
    found = [
        {
            "api": api.value,
            "type": name,
            "packages": packages(spec),
            "missing": in_a_child(server, spec) if tries else None,
        }
        for api, specs in server.distribution.get_provider_registry().items()
        for name, spec in specs.items()
    ]
    json.dump(found, answer_to)


main()
