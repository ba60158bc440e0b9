"""Holds the network of one pod, and carries connections over its border.

Runs as long as the pod, in a network namespace that has nothing but loopback. Sockets with a name in the file system
know no such border: through one the host reaches the pod's ports, through others the pod reaches what the host lets it
reach. Commands come as lines of JSON on standard input; its end is the pod's end.
"""

import asyncio
import fcntl
import json
import socket
import struct
import sys

SET_FLAGS, SET_ADDRESS = 0x8914, 0x8916
UP_AND_RUNNING = 0x41
CHUNK = 1 << 16
CONNECTED, REFUSED = b"+", b"-"


def bring_up_loopback(pod_address: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh22x", b"lo", UP_AND_RUNNING))
        address = struct.pack("16sHH4s16x", b"lo:pod", socket.AF_INET, 0, socket.inet_aton(pod_address))
        fcntl.ioctl(any_socket, SET_ADDRESS, address)


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def carry_both(one: tuple, other: tuple) -> None:
    await asyncio.gather(carry(one[0], other[1]), carry(other[0], one[1]))
    for _, writer in (one, other):
        writer.close()


async def into_the_pod(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The first line is the port; the answer's first byte says whether somebody listens there."""
    try:
        inside = await asyncio.open_connection("127.0.0.1", int(await reader.readline()))
    except (OSError, ValueError):
        writer.write(REFUSED)
        writer.close()
        return
    writer.write(CONNECTED)
    await carry_both((reader, writer), inside)


async def let_out(address: str, port: int, path: str) -> None:
    async def out_of_the_pod(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            outside = await asyncio.open_unix_connection(path)
        except OSError:
            writer.close()
            return
        await carry_both((reader, writer), outside)

    await asyncio.start_server(out_of_the_pod, address, port)


async def main() -> None:
    start = json.loads(sys.stdin.readline())
    bring_up_loopback(start["address"])
    for name, value in start["sysctls"].items():
        with open("/proc/sys/" + name.replace(".", "/"), "w") as file:
            file.write(value)
    await asyncio.start_unix_server(into_the_pod, start["socket"])
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    print("ready", flush=True)
    while line := await commands.readline():
        try:
            await let_out(**json.loads(line))
        except OSError as error:
            print(f"a port is not let out: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
