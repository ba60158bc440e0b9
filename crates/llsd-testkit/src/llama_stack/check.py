"""Checks configurations with the models and the wiring of the installed release, without booting.

Standard input: a JSON list of {"name", "text", "env"}. Standard output: a JSON list, in the same
order, of {"errors", "dropped", "deprecated", "unchecked"}, all of them lists of strings.

errors      what makes this release refuse to start
dropped     paths of what it reads and then ignores without a word
deprecated  what it warns of
unchecked   providers whose own code needs a package that is not installed here

One process checks all of them: importing the release takes seconds, a configuration milliseconds.
"""

import json
import logging
import os
import sys

# The release and its libraries print what they like; the answer must stay readable.
answer_to, sys.stdout = sys.stdout, sys.stderr
logging.disable(logging.CRITICAL)

from preflight_checks import WARNINGS, ConfigCheck, Server


def check(server, candidate, environment, import_path):
    os.environ.clear()
    os.environ.update(environment | candidate["env"])
    # Where external providers are looked for.
    extra = candidate["env"].get("PYTHONPATH", "")
    sys.path[:] = [*filter(None, extra.split(":")), *import_path]
    config = ConfigCheck(server)
    config.run(candidate["text"])

    def found(*kinds):
        return [f"{one['path']}: {one['message']}".removeprefix(": ") for one in config.problems if one["kind"] in kinds]

    return {
        "errors": found("schema", "provider"),
        "dropped": [one["path"] for one in config.problems if one["kind"] in WARNINGS],
        "deprecated": list(dict.fromkeys(config.deprecated)),
        "unchecked": found("package"),
    }


def main():
    environment, import_path = dict(os.environ), list(sys.path)
    candidates, server = json.load(sys.stdin), Server()
    json.dump([check(server, one, environment, import_path) for one in candidates], answer_to)


main()
