"""Makes the file system of one container, and becomes the container's program.

Started as the first process of the container's own mount and process namespaces. Reads what to mount and what to run
as JSON from standard input: an environment with secrets has no place on a command line or in a file.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import sys

RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, RECURSIVE = 1, 2, 4, 8, 32, 4096, 16384
DETACH = 2
NEW_USER_NAMESPACE = 0x10000000
SIGNAL_AT_PARENTS_END, NO_NEW_PRIVILEGES = 1, 38
# What a small image has, too. The rest of the host stays out: its homes, its data, its own settings.
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "sys")
SETTINGS = ("alternatives", "ca-certificates", "group", "host.conf", "ld.so.cache", "ld.so.conf", "ld.so.conf.d")
SETTINGS += ("localtime", "mime.types", "nsswitch.conf", "os-release", "passwd", "pki", "protocols", "services", "ssl")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
# What a runtime answers for a container that it could not start.
START_ERROR = 128

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    arguments = (source.encode(), target.encode(), kind.encode() or None, flags, options.encode() or None)
    checked(libc.mount(*arguments), f"cannot mount {source} at {target}")


def bind(source: str, target: str, read_only: bool) -> None:
    mount(source, target, flags=BIND | RECURSIVE)
    if read_only:
        # Without privileges on the host, what the host's own mount forbids must stay forbidden.
        kept = os.statvfs(target).f_flag & (NOSUID | NODEV | NOEXEC)
        mount("none", target, flags=BIND | REMOUNT | RDONLY | kept)


def mount_point(source: str, target: str) -> None:
    """A runtime makes missing mount points in the image's file system."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "w").close()


def make_system(root: str) -> None:
    for name in SYSTEM:
        source, target = f"/{name}", f"{root}/{name}"
        if os.path.islink(source):
            os.symlink(os.readlink(source), target)
        elif os.path.isdir(source):
            os.mkdir(target)
            bind(source, target, read_only=True)
    for name in ("etc", "dev", "proc", "run", "opt", "var", "home"):
        os.mkdir(f"{root}/{name}")
    for name in ("tmp", "var/tmp", "dev/shm"):
        os.mkdir(f"{root}/{name}")
        os.chmod(f"{root}/{name}", 0o1777)
    for name in SETTINGS:
        # Copies, so that a mount point can be made between them.
        source, target = f"/etc/{name}", f"{root}/etc/{name}"
        if os.path.isdir(source):
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("private"))
        elif os.path.lexists(source):
            shutil.copy2(source, target, follow_symlinks=False)
    for name in DEVICES:
        mount_point(f"/dev/{name}", f"{root}/dev/{name}")
        mount(f"/dev/{name}", f"{root}/dev/{name}", flags=BIND)
    for name, target in {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}.items():
        os.symlink(f"/proc/self/fd{target}", f"{root}/dev/{name}")


def make_root(spec: dict) -> None:
    root = spec["root"]
    # The host sees an empty folder here, before and after.
    mount("tmpfs", root, "tmpfs", options="mode=755")
    make_system(root)
    for entry in spec["mounts"]:
        target = root + os.path.normpath("/" + entry["target"])
        mount_point(entry["source"], target)
        bind(entry["source"], target, entry["read_only"])
    mount("proc", f"{root}/proc", "proc", NOSUID | NODEV | NOEXEC)
    os.chdir(root)
    checked(libc.pivot_root(b".", b"."), "cannot change the root")
    checked(libc.umount2(b".", DETACH), "cannot leave the host's file system")
    os.chdir("/")
    if spec["read_only_root"]:
        mount("none", "/", flags=BIND | REMOUNT | RDONLY)


def become(user: int, group: int, groups: list[int], may_be_anybody: bool) -> None:
    if may_be_anybody:
        os.setgroups(groups)
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    elif (user, group) != (0, 0):
        # The host knows one user only, who appears here under another number.
        checked(libc.unshare(NEW_USER_NAMESPACE), "cannot change the user")
        lines = {"setgroups": "deny", "uid_map": f"{user} 0 1", "gid_map": f"{group} 0 1"}
        for name, line in lines.items():
            with open(f"/proc/self/{name}", "w") as file:
                file.write(line)


def main() -> None:
    spec = json.load(sys.stdin)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    # /proc is still the host's, and so is the number.
    with open(spec["pid_file"] + ".new", "w") as file:
        file.write(os.readlink("/proc/self"))
    os.rename(spec["pid_file"] + ".new", spec["pid_file"])
    socket.sethostname(spec["hostname"])
    make_root(spec)
    become(**spec["identity"])
    # After the change of the user, which clears it.
    checked(libc.prctl(SIGNAL_AT_PARENTS_END, signal.SIGKILL, 0, 0, 0), "cannot end with the parent")
    if spec["no_new_privileges"]:
        checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "cannot give up privileges")
    os.makedirs(spec["working_dir"], exist_ok=True)
    os.chdir(spec["working_dir"])
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    os.execvpe(spec["command"][0], spec["command"], spec["env"])


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        print(f"the container does not start: {error}", file=sys.stderr, flush=True)
        sys.exit(START_ERROR)
