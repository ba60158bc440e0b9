"""Waits until a backend has the models that the configuration registers there, where the server would end without them.

Runs as `python3 <this file>` in an init container of the server's image, which no probe ends. What it waits for is shown
by Kubernetes only when a container ends: so it ends with an error once when it knows what is missing, and again when
that changes, and goes on waiting when it is started again. `preflight.py` asks the same of the backend, once.

Environment: what the server has, and LLS_AWAITED_MODELS, a JSON object: {"providers": {provider id: {"lists": the
path at which its backend lists models, "pull": the command that brings one there, "seconds": how long to wait}}}.
LLS_START_RECORD names the folder in which the pod's containers remember.
"""

import json
import os
import re
import signal
import sys
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import installed

ANSWER_SECONDS = 5
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 3
SURE_AFTER = 3  # looks with the same result: a backend that starts beside the server is not worth a word
TOLD_AT_MOST = 8  # ends: Kubernetes waits longer after each of them


def awaited() -> dict[str, dict]:
    return json.loads(os.environ.get("LLS_AWAITED_MODELS") or "{}").get("providers") or {}


def missing(document: dict, release: installed.Release) -> list[tuple[str, str]]:
    """Where in the file, and in words: what is registered with a backend that does not have it."""
    config = installed.resolved(document, installed.reference(release))
    raw = {entry.get("provider_id"): entry for entry in inference(document)}
    found = []
    for entry in inference(config):
        name = entry.get("provider_id")
        asked = awaited().get(name)
        wanted = registered(config, release, name) if asked else {}
        address = next((value for key, value in settings(entry) if key in ("base_url", "url") and value), None)
        if not wanted or not address:
            continue
        shown = next((value for key, value in settings(raw.get(name, entry)) if key in ("base_url", "url")), address)
        found += missing_at(name, str(address), without_secrets(str(shown)), asked, wanted)
    return found


def missing_at(provider: str, address: str, shown: str, asked: dict, wanted: dict) -> list[tuple[str, str]]:
    try:
        names = listed(re.sub(r"/v1/?$", "", address).rstrip("/") + asked["lists"])
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):  # it wants a key, which is not for this program: the server will see
            return []
        problem = f"{shown} answers {error.code}"
    except Exception:
        problem = f"{shown} does not answer"
    else:
        lacks = {place: model for place, model in wanted.items() if not {model, f"{model}:latest"} & names}
        pull = asked.get("pull") or "make it available:"
        return [
            (place, f"model {model} of provider {provider}: {shown} does not have it; {pull} {model}")
            for place, model in lacks.items()
        ]
    return [(place, f"model {model} of provider {provider}: {problem}; start it there") for place, model in wanted.items()]


def inference(config: dict) -> list[dict]:
    return [entry for entry in (config.get("providers") or {}).get("inference") or [] if isinstance(entry, dict)]


def settings(entry: dict):
    return (entry.get("config") or {}).items()


def registered(config: dict, release: installed.Release, provider: str) -> dict[str, str]:
    """The models that the file registers with the provider: where, and the name that the backend has for it."""
    section = "models" if release < (0, 3) else "registered_resources.models"
    holder = config if release < (0, 3) else config.get("registered_resources") or {}
    found = {
        f"{section}[{index}]": str(entry.get("provider_model_id") or entry.get("model_id"))
        for index, entry in enumerate(holder.get("models") or [])
        if entry.get("model_id") and entry.get("provider_id") == provider
    }
    # OGX takes these for another model than one of that name.
    return {place: name for place, name in found.items() if name != "auto" and not name.startswith(f"{provider}/")}


def listed(url: str) -> set[str]:
    with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
        body = json.loads(answer.read(4 << 20))
    models = body.get("models") or body.get("data") or []
    return {str(model.get(key)) for model in models for key in ("name", "model", "id") if model.get(key)}


def without_secrets(address: str) -> str:
    """A variable may come from a Secret, so its name stands for it."""
    parts = urlsplit(address)
    if "${" in address or not parts.hostname:
        return address if "${" in address else "its backend"
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"


class Record:
    """What the pod's containers remember of a start: when it began, and what was told of it."""

    def __init__(self):
        self.file = os.path.join(os.environ.get("LLS_START_RECORD") or installed.START_RECORD, "models.json")
        try:
            with open(self.file) as file:
                kept = json.load(file)
        except (OSError, ValueError):
            kept = {}
        self.since, self.told, self.count = kept.get("since") or time.time(), kept.get("told"), kept.get("count") or 0

    def tell(self, words: str) -> bool:
        """Whether this is news, and can be remembered as told."""
        if words == self.told or self.count >= TOLD_AT_MOST:
            return False
        try:
            with open(self.file, "w") as file:
                json.dump({"since": self.since, "told": words, "count": self.count + 1}, file)
        except OSError:
            return False
        return True


def wait(document: dict, release: installed.Release) -> None:
    record, pause, same, before = Record(), FIRST_PAUSE, 0, None
    seconds = max((asked.get("seconds") or 0 for asked in awaited().values()), default=0)
    while problems := [words for _, words in missing(document, release)]:
        if time.time() - record.since > seconds:
            return installed.say(f"waited long enough: {problems[0]}")
        words = problems[0] + (f" (and {len(problems) - 1} more)" if problems[1:] else "")
        same, before = (same + 1 if words == before else 1), words
        if same == SURE_AFTER and record.tell(words):
            installed.say(f"waits: {words}")
            sys.exit(1)
        time.sleep(pause)
        pause = min(LONGEST_PAUSE, pause * 1.5)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the first process of a container has no default
    release = installed.installed_release()
    file = installed.config_file(release)
    document = installed.read(file) if file else None
    if document:
        wait(document, release)


if __name__ == "__main__":
    main()
