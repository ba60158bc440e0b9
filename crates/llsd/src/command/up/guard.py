"""Runs a program, and ends it with all that it started when standard input is closed: `llsd` does that, or the kernel,
however `llsd` ends.

Runs as `python3 <this file> PROGRAM [ARGUMENT...]` and exits with the program's exit code, 128 + N after signal N.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading

GRACE_SECONDS = 10


def main() -> None:
    # A terminal's Ctrl-C is for `llsd`, which then closes standard input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    restored = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True, **restored)

    def kill_all() -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(server.pid, signal.SIGKILL)

    def end_with_stdin() -> None:
        while os.read(0, 1):
            pass
        server.terminate()  # not what it started, which it may be about to end itself
        timer = threading.Timer(GRACE_SECONDS, kill_all)
        timer.daemon = True
        timer.start()

    threading.Thread(target=end_with_stdin, daemon=True).start()
    code = server.wait()
    kill_all()  # workers outlive a server that was killed
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
