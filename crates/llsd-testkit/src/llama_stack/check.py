"""Judges configurations with the models and the wiring of the installed release, without booting.

Standard input: a JSON list of {"name", "text", "env"}. Standard output: a JSON list, in the same
order, of {"errors", "dropped", "deprecated", "unjudged"}, all of them lists of strings.

errors      what makes this release refuse to start
dropped     paths of what it reads and then ignores without a word
deprecated  what it warns of
unjudged    providers whose own code needs a package that is not installed here

One process judges all of them: importing the release takes seconds, a configuration milliseconds.
"""

import json
import logging
import os
import sys

# The release and its libraries print what they like; the answer must stay readable.
answer_to, sys.stdout = sys.stdout, sys.stderr
logging.disable(logging.CRITICAL)

from judgement import WARNINGS, Judge, Server


def judge(server, candidate, environment, import_path):
    os.environ.clear()
    os.environ.update(environment | candidate["env"])
    # Where external providers are looked for.
    extra = candidate["env"].get("PYTHONPATH", "")
    sys.path[:] = [*filter(None, extra.split(":")), *import_path]
    judge = Judge(server)
    judge.judge(candidate["text"])

    def found(*kinds):
        return [f"{one['path']}: {one['message']}".removeprefix(": ") for one in judge.problems if one["kind"] in kinds]

    return {
        "errors": found("schema", "provider"),
        "dropped": [one["path"] for one in judge.problems if one["kind"] in WARNINGS],
        "deprecated": list(dict.fromkeys(judge.deprecated)),
        "unjudged": found("package"),
    }


def main():
    environment, import_path = dict(os.environ), list(sys.path)
    candidates, server = json.load(sys.stdin), Server()
    json.dump([judge(server, one, environment, import_path) for one in candidates], answer_to)


main()
