"""Imported by Python itself at every start, under the name `sitecustomize`.

A start command that is right in a pod listens on all addresses. In a test it runs word for word
the same, and the port is still closed to everybody but this machine.
"""

import socket

bind = socket.socket.bind


def bind_on_loopback(self, address):
    # A client that binds to port 0 only leaves the choice of its own address to the kernel.
    if isinstance(address, tuple) and address[0] in ("", "0.0.0.0", "::") and address[1] != 0:
        loopback = "::1" if self.family == socket.AF_INET6 else "127.0.0.1"
        address = (loopback, *address[1:])
    return bind(self, address)


socket.socket.bind = bind_on_loopback
