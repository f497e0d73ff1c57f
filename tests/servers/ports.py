"""Ports that nobody listens on."""

import socket


def free_ports(count: int) -> list[int]:
    """``count`` different free ports of the loopback address."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
