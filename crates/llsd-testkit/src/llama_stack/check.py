"""Checks configurations with the models and the wiring of the installed release, without booting.

Standard input: a JSON object {"name", "text", "env"} a line. Standard output: for each of them a line with
{"errors", "dropped", "deprecated", "unchecked"}, all of them lists of strings.

errors      what makes this release refuse to start
dropped     paths of what it reads and then ignores without a word
deprecated  what it warns of
unchecked   providers whose own code needs a package that is not installed here

One process checks all of them: importing the release takes seconds, a configuration milliseconds. With the argument
`quick` the reader of YAML is the one that the same library has in C, which takes a tenth of the time.
"""

import json
import logging
import os
import sys

# The release and its libraries print what they like; the answer must stay readable.
answer_to, sys.stdout = sys.stdout, sys.stderr
logging.disable(logging.CRITICAL)

import yaml
from preflight_checks import WARNINGS, ConfigCheck, NotChecked, Server


def check(server, candidate, environment, import_path):
    os.environ.clear()
    os.environ.update(environment | candidate["env"])
    # Where external providers are looked for.
    extra = candidate["env"].get("PYTHONPATH", "")
    sys.path[:] = [*filter(None, extra.split(":")), *import_path]
    config = ConfigCheck(server)
    try:
        config.run(candidate["text"])
    except NotChecked as error:
        config.problem("schema", "", f"cannot be checked: {error}")

    def found(*kinds):
        return [f"{one['path']}: {one['message']}".removeprefix(": ") for one in config.problems if one["kind"] in kinds]

    return {
        "errors": found("schema", "provider"),
        "dropped": [one["path"] for one in config.problems if one["kind"] in WARNINGS],
        "deprecated": list(dict.fromkeys(config.deprecated)),
        "unchecked": found("package"),
    }


def main():
    if "quick" in sys.argv[1:]:
        yaml.safe_load = lambda text: yaml.load(text, Loader=yaml.CSafeLoader)
    environment, import_path, server = dict(os.environ), list(sys.path), Server()
    for line in sys.stdin:
        json.dump(check(server, json.loads(line), environment, import_path), answer_to)
        answer_to.write("\n")
        answer_to.flush()


main()
