"""``privacy: local_only`` proven from outside: a machine whose only network is loopback counts what tries to leave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ISOLATED = ["unshare", "--net"]
AS_USER = ["unshare", "--net", "--user", "--map-root-user"]

PROGRAM = '''
import asyncio, fcntl, json, os, signal, socket, struct, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

from ragtrace.testing import make_trace
from ragtrace_collector import otlp

def without_route():
    """How many packets the kernel could not send anywhere: there is no route but to loopback."""
    found = 0
    for line in open("/proc/self/net/snmp6"):
        name, count = line.split()
        found += int(count) if name == "Ip6OutNoRoutes" else 0
    names, counts = [line.split() for line in open("/proc/self/net/snmp") if line.startswith("Ip:")]
    return found + int(counts[names.index("OutNoRoutes")])

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running

bodies, scored = [], threading.Event()

class Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
        if b"ragtrace.faithfulness" in bodies[-1]:
            scored.set()
    def log_message(self, *arguments):
        pass

sink = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
threading.Thread(target=sink.serve_forever, daemon=True).start()
config = {
    "privacy": "local_only", "spool": "off", "admin": "127.0.0.1:13133",
    "otlp": {"http": "127.0.0.1:4318", "grpc": "127.0.0.1:4317"},
    "judge": {"use": "embedded"}, "assembly": {"quiet": 0.1}, "scoring": {"deadline": 60},
    "export": [f"http://127.0.0.1:{sink.server_port}"],
}
with open(sys.argv[1], "w") as file:
    json.dump(config, file)
running = subprocess.Popen(
    [sys.executable, "-m", "ragtrace_collector", "collector", "--config", sys.argv[1]],
    stdout=subprocess.PIPE, text=True,
)
while "admin" not in running.stdout.readline():
    assert running.poll() is None
body = otlp.join(map(otlp.encode_span, make_trace()))
headers = {"content-type": "application/x-protobuf"}
urlopen(Request("http://127.0.0.1:4318/v1/traces", body, headers), timeout=30).read()
is_scored = scored.wait(60)
running.send_signal(signal.SIGTERM)
code = running.wait(30)
left = without_route()
try:
    socket.create_connection(("192.0.2.1", 80), 1)
except OSError:
    pass
print(json.dumps({"scored": is_scored, "exit": code, "left": left, "control": without_route() - left}))
'''


def isolation() -> list[str]:
    """A command that runs another one without any network but loopback; skips where none may."""
    for command in (ISOLATED, AS_USER):
        try:
            subprocess.run([*command, "true"], check=True, capture_output=True, timeout=30)
        except (OSError, subprocess.SubprocessError):
            continue
        return command
    pytest.skip("this system allows no network namespaces")


def test_a_local_collector_sends_no_packet_off_the_machine(tmp_path: Path) -> None:
    """Main process and worker score and export; the kernel counts no packet that had nowhere to go, and does
    count the one that the test sends afterwards."""
    command = [*isolation(), sys.executable, "-c", PROGRAM, str(tmp_path / "collector.yaml")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout.splitlines()[-1])
    assert seen == {"scored": True, "exit": 0, "left": 0, "control": seen["control"]}
    assert seen["control"] >= 1
