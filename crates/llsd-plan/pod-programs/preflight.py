"""Checks the server's configuration with the code of the image that is to run it, and starts nothing.

Runs as `python3 <this file>` in a container that is like the server's, before running pods are replaced, and in the
server's own container when a start has failed. It loads the file as that release does: variables, the model of the file,
each provider's own model, and the modules that each provider imports. Nothing is written but the result, and nothing
is sent: the code of the server runs in a child that may do neither. Only the backends of LLS_AWAITED_MODELS are asked
for their lists of models, as `models.py` does.

Environment: what the server has. LLS_TERMINATION_LOG names the file of the result, LLS_PREFLIGHT_SECONDS the time for it.
The result is one JSON object: {"verdict": "good" | "refused" | "unjudged", "server", "why", "problems", "more"}, a
problem {"kind", "path", "message"}. Values of variables are never part of it.
"""

import ast
import contextlib
import importlib
import importlib.metadata
import inspect
import json
import logging
import os
import select
import signal
import sys
import tempfile
import time

import installed
import models
from preflight_checks import WARNINGS, ConfigCheck, NotChecked, Server, join

MESSAGE_BYTES = 4096  # as much as Kubernetes keeps
SECONDS = 300
PATHS = ("db_path", "storage_dir")  # what providers and stores call the places that they write to
WRITES = ("mkdir", "rename", "remove", "rmdir", "truncate", "symlink", "link", "chmod", "chown")


# The server's code, which may not act


BLOCKED = []


def seal() -> None:
    """From here on this process writes nothing but temporary files, and sends nothing."""
    with contextlib.suppress(OSError):
        tempfile.gettempdir()
    own = tuple(filter(None, (tempfile.tempdir, "/dev")))

    def refuse(event: str, arguments: tuple) -> None:
        if event == "open":
            path, _, flags = arguments
            writes = bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) and not isinstance(path, int)
        elif event == "sqlite3.connect":
            path = arguments[0]
            writes = path != ":memory:"
        elif event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg"):
            path, writes = "", True
        else:
            writes = event.startswith("os.") and event[3:] in WRITES
            path = arguments[0] if writes else ""
        if writes and not os.path.abspath(os.fsdecode(path or "/")).startswith(own):
            BLOCKED.append(event)
            raise PermissionError(f"{event} while judging")

    sys.addaudithook(refuse)


def import_provider(spec) -> None:
    """Imports a provider's module, and what the function imports that would make it."""
    module = importlib.import_module(spec.module)
    if getattr(spec, "execution_mode", None) == "worker":
        return  # OGX makes it in a process of its own, and starts without it
    for function in ("get_adapter_impl", "get_provider_impl"):
        with contextlib.suppress(AttributeError, OSError, SyntaxError, TypeError):
            source = inspect.getsource(getattr(module, function))
            body = ast.parse(source).body[0].body
            imports = [statement for statement in body if isinstance(statement, (ast.Import, ast.ImportFrom))]
            exec(compile(ast.Module(imports, []), spec.module, "exec"), dict(vars(module)))


def import_providers(check: ConfigCheck) -> None:
    """What each provider imports when the server makes it; its own code is not run."""
    for provider in check.made:
        place = check.enabled.get(provider.spec.api, {}).get(provider.provider_id)
        if not place:  # one of the server's own
            continue
        blocked = len(BLOCKED)
        try:
            import_provider(provider.spec)
        except ImportError as error:
            check.problem("package", f"{place}.provider_type", str(error))
        except Exception as error:
            if len(BLOCKED) == blocked:  # else it is this program that stood in its way
                check.problem("package", f"{place}.provider_type", f"its import fails: {type(error).__name__}")


# The volume


def unwritable(node, path: str = ""):
    """Places of the file that name a path on a volume which this user cannot write, with the remedy."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in PATHS and isinstance(value, str):
                found = unwritable_part(os.path.abspath(os.path.expanduser(value)))
                if found:
                    yield join(path, key), found
            yield from unwritable(value, join(path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from unwritable(value, join(path, index))


def unwritable_part(path: str) -> str | None:
    there = path
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    volume, state = there, os.environ.get("HF_HOME")
    while volume not in ("/", state) and not os.path.ismount(volume):
        volume = os.path.dirname(volume)
    if volume == "/":
        return None  # in the image, where the server itself says what it needs
    folder = there if os.path.isdir(there) else os.path.dirname(there)
    for part in dict.fromkeys((there, folder)):
        if not os.access(part, os.W_OK | (os.X_OK if os.path.isdir(part) else 0)):
            owner = os.stat(part)
            return (
                f"user {os.getuid()} cannot write {part}, which belongs to {owner.st_uid}:{owner.st_gid}. Change its "
                f"owner once (chown -R {os.getuid()}:{os.getgid()} {volume}), or run the server as the user that wrote "
                "it (workload.overrides.securityContext)"
            )
    return None


# The result


def check_installed() -> dict:
    """In the child: what the installed release finds in its file."""
    release = installed.installed_release()
    found = [(name, title) for name, title in (("ogx", "OGX"), ("llama_stack", "llama-stack")) if version(name)]
    if not found:
        raise NotChecked("no Python package llama_stack or ogx")
    file = installed.config_file(release)
    if not file:
        raise NotChecked("the image's own configuration is not found")
    if release >= installed.OGX:
        installed.prepare_ogx(file)
    result = {"server": f"{found[0][1]} {version(found[0][0])}"}
    seal()
    check = ConfigCheck(Server())
    try:
        with open(file) as opened:
            text = opened.read()
    except (OSError, UnicodeError) as error:
        check.problem("schema", "", f"the file cannot be read: {type(error).__name__}")
    else:
        check.run(text)
        import_providers(check)
        for place, message in unwritable(check.resolved):
            check.problem("volume", place, message)
    return result | {"verdict": "refused" if check.refusals() else "good", "problems": check.problems}


def version(package: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return None


def not_checked(why: str) -> dict:
    return {"verdict": "unjudged", "why": why, "problems": []}


def in_a_child(work, seconds: float) -> dict:
    """Its answer, also where it hangs, or ends this interpreter."""
    answers, answer = os.pipe()
    child = os.fork()
    if not child:
        os.close(answers)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            logging.disable(logging.CRITICAL)
            result = work()
        except NotChecked as error:
            result = not_checked(str(error))
        except BaseException as error:  # whose text may quote anything
            result = not_checked(f"{type(error).__name__} while judging")
        with open(answer, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(answer)
    text, until = b"", time.monotonic() + seconds
    while select.select([answers], [], [], max(0, until - time.monotonic()))[0]:
        part = os.read(answers, 65536)
        if not part:
            break
        text += part
    else:
        os.kill(child, signal.SIGKILL)
        text = json.dumps(not_checked(f"no verdict after {seconds:g} s")).encode()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else not_checked(f"the judge ended with status {os.waitstatus_to_exitcode(status)}")


def bounded(result: dict) -> str:
    """As JSON, refusals first, and only as many problems as Kubernetes keeps."""
    problems = sorted(result["problems"], key=lambda one: one["kind"] in WARNINGS)
    for kept in range(len(problems), -1, -1):
        more = {"more": len(problems) - kept} if kept < len(problems) else {}
        text = json.dumps(result | {"problems": problems[:kept]} | more)
        if len(text) <= MESSAGE_BYTES:
            return text
    return json.dumps(not_checked("the verdict is too long"))


def lacking_models() -> list[dict]:
    """Models without which this release ends at its start. A read of their backends, which needs no secret."""
    release = installed.installed_release()
    file = installed.config_file(release)
    if not file or not models.awaited():
        return []
    try:
        found = models.missing(installed.read(file), release)
    except (Exception, SystemExit):  # a file that cannot be read was refused already
        return []
    return [{"kind": "model", "path": path, "message": message} for path, message in found]


def main() -> None:
    result = in_a_child(check_installed, float(os.environ.get("LLS_PREFLIGHT_SECONDS") or SECONDS))
    lacking = lacking_models() if result["verdict"] != "unjudged" else []
    if lacking:
        result |= {"verdict": "refused", "problems": [*result["problems"], *lacking]}
    text = bounded(result)
    print(text, flush=True)
    with contextlib.suppress(OSError), open(os.environ.get("LLS_TERMINATION_LOG") or "/dev/termination-log", "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
