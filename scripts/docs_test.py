"""Runs every command and checks every YAML and JSON block of the documentation: docs_test.py REPOSITORY PAGE…

Of a page, blocks run in order in one scratch folder and one namespace of a real API server, which `deploy`, `charts` and
`crates` of the repository are visible in. What a block may need is said in comments in front of it:

  <!-- not run: REASON -->      it is not run, and this is why
  <!-- before: COMMAND -->      a command that makes what the block takes for given
  <!-- file: NAME -->           the block is kept under this name, for commands behind it

`sh` blocks must succeed. Of `console` blocks each `$ command` must print what stands below it; a line `…` stands for any.
YAML that is a resource of ours, or a part of its spec, is checked by `llsd validate`, another object by the API server where
it serves the kind, and everything else must at least be YAML.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

BLOCK = re.compile(r"((?:^ *<!-- (?:not run|before|file): [^\n]* -->\n)*)^( *)```(\w+)\n(.*?)^ *```$", re.M | re.S)
COMMENT = re.compile(r"<!-- (not run|before|file): (.*) -->")
PARTS = {"access", "providers", "resources", "storage", "disabled", "networking", "workload", "externalProviders"}
PATIENCE = 240


class Failed(Exception):
    pass


class Scratch:
    """A folder and a namespace for one page."""

    def __init__(self, repository, page, number):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="docs-test-"))
        for name in ("deploy", "charts", "crates"):
            (self.folder / name).symlink_to(repository / name)
        self.environment = {**os.environ, "HOME": str(self.folder), "REPOSITORY": str(repository)}
        if "KUBECONFIG" in os.environ:
            kubeconfig = self.folder / ".kubeconfig"
            kubeconfig.write_bytes(pathlib.Path(os.environ["KUBECONFIG"]).read_bytes())
            self.environment["KUBECONFIG"] = str(kubeconfig)
            namespace = f"docs-{number}"
            self.must(f"kubectl create namespace {namespace} && "
                      f"kubectl config set-context --current --namespace={namespace}")

    def run(self, command, text=None):
        return subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.folder, env=self.environment,
                              input=text, text=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def must(self, command, text=None):
        done = self.run(command, text)
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode}: {done.stdout.strip()[-1500:]}")
        return done.stdout


def console(scratch, block):
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    for part in parts:
        command, _, expected = part.partition("\n")
        printed = scratch.run(command).stdout
        lines = [re.escape(line) for line in expected.strip().splitlines()]
        pattern = "\n".join(".*?" if line == re.escape("…") else line for line in lines)
        if not re.fullmatch(pattern, printed.strip(), re.S):
            raise Failed(f"`{command}` prints\n{printed.strip()[-1500:]}")


def part_of_a_spec(document):
    """The spec that a fragment belongs to, where it is one. A part that is left out cannot be checked."""
    if not isinstance(document, dict) or "…" in json.dumps(document, ensure_ascii=False, default=str):
        return None
    spec = document.get("spec", document) if set(document) <= PARTS | {"spec"} else None
    return spec if isinstance(spec, dict) else None


def fragment(scratch, spec):
    """It must fit one of the servers."""
    said = []
    for name in ("starter", "ogx-starter"):
        resource = {"apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
                    "metadata": {"name": "part"}, "spec": {"distribution": {"name": name}, **spec}}
        done = scratch.run("llsd validate -f -", json.dumps(resource))
        if done.returncode == 0:
            return
        said.append(done.stdout.strip())
    raise Failed("\n".join(said))


def check(scratch, block):
    for document in yaml.safe_load_all(block):
        kind = document.get("kind") if isinstance(document, dict) else None
        text = json.dumps(document, default=str)
        if kind == "LlamaStackDistribution":
            scratch.must("llsd validate -f -", block)
        elif not kind and (spec := part_of_a_spec(document)):
            fragment(scratch, spec)
        elif kind and "KUBECONFIG" in scratch.environment:
            done = scratch.run("kubectl apply --server-side --force-conflicts --dry-run=server -f -", text)
            if done.returncode != 0 and "no matches for kind" not in done.stdout:
                raise Failed(done.stdout.strip())


def run(scratch, language, block, notes):
    if language == "sh":
        scratch.must(block)
    elif language == "console":
        console(scratch, block)
    elif language == "yaml":
        check(scratch, block)
    else:
        json.loads(block)
    for kind, name in notes:
        if kind == "file":
            (scratch.folder / name).write_text(block)


def main(repository, pages):
    ran, excused, failed = 0, 0, 0
    for number, page in enumerate(pages, 1):
        scratch, text = None, page.read_text()
        for match in BLOCK.finditer(text):
            comments, indent, language, block = match.groups()
            if language not in ("sh", "console", "yaml", "json"):
                continue
            notes = COMMENT.findall(comments)
            place = f"{page.relative_to(repository)}:{text.count(chr(10), 0, match.start(3)) + 1}"
            reason = next((words for kind, words in notes if kind == "not run"), None)
            if reason:
                excused += 1
                print(f"-     {place}: {reason}")
                continue
            scratch = scratch or Scratch(repository, page, number)
            block = re.sub(f"^{indent}", "", block, flags=re.M)
            try:
                for kind, command in notes:
                    if kind == "before":
                        scratch.must(command)
                run(scratch, language, block, notes)
                ran += 1
                print(f"ok    {place}")
            except (Failed, ValueError, yaml.YAMLError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAIL  {place}: {error}")
    print(f"{ran} blocks run, {excused} with a reason not to, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1]).resolve()
    sys.exit(main(root, [pathlib.Path(page).resolve() for page in sys.argv[2:]]))
