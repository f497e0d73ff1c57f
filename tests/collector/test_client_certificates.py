"""TLS with certificates on both sides: our senders against our receivers, over loopback, both protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from collector.certificates import Authority, Pair
from collector.otlp_peers import Recorder, encoded_request

from ragtrace.errors import ConfigError, RetryableExport
from ragtrace_collector.exporters import Destination
from ragtrace_collector.exporters.grpc import GrpcSender
from ragtrace_collector.exporters.http import HttpSender
from ragtrace_collector.receivers import Endpoint, GrpcReceiver, HttpReceiver
from ragtrace_collector.settings import load
from ragtrace_collector.stages import Signal
from ragtrace_collector.telemetry import Telemetry

SCHEMES = ("https", "grpcs")


@dataclass(frozen=True)
class House:
    """An authority that both sides trust, a server's and a client's certificate, and a stranger's."""

    ca: Path
    server: Pair
    client: Pair
    stranger: Pair


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    folder = tmp_path_factory.mktemp("certificates")
    authority, other = Authority.make(folder, "authority"), Authority.make(folder, "other")
    return House(
        authority.own.cert, authority.sign("server"), authority.sign("client"), other.sign("stranger")
    )


@asynccontextmanager
async def receiver(scheme: str, house: House, recorder: Recorder) -> AsyncIterator[str]:
    """A receiver that wants a certificate of the house → its URL."""
    endpoint = Endpoint(cert=house.server.cert, key=house.server.key, client_ca=house.ca)
    make: Any = HttpReceiver if scheme == "https" else GrpcReceiver
    running = make(recorder, endpoint, Telemetry())
    await running.start()
    try:
        yield f"{scheme}://127.0.0.1:{running.port}"
    finally:
        await running.stop(0)


async def send(url: str, **options: Any) -> None:
    destination = Destination(url, timeout=5.0, **options)
    sender: Any = GrpcSender(destination) if destination.is_grpc else HttpSender(destination)
    await sender.open()
    try:
        await sender.send(encoded_request(2), Signal.TRACES)
    finally:
        await sender.close()


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_sender_with_a_certificate_of_the_house_comes_in(scheme: str, house: House) -> None:
    """And each side sees that the other is who it should be."""
    recorder = Recorder()
    async with receiver(scheme, house, recorder) as url:
        await send(url, ca=house.ca, cert=house.client.cert, key=house.client.key)
    assert len(recorder.span_ids()) == 2


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("who", ["nobody", "stranger"])
async def test_any_other_sender_stays_outside(scheme: str, who: str, house: House) -> None:
    """Refused in the handshake: nothing of the request is read, and the spans stay with their sender."""
    recorder = Recorder()
    shown = {} if who == "nobody" else {"cert": house.stranger.cert, "key": house.stranger.key}
    async with receiver(scheme, house, recorder) as url:
        with pytest.raises(RetryableExport):
            await send(url, ca=house.ca, **shown)
    assert not recorder.batches


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_backend_that_is_not_who_it_should_be_gets_nothing(scheme: str, house: House) -> None:
    """Its certificate is signed by nobody that the destination's ``ca`` names."""
    recorder = Recorder()
    async with receiver(scheme, house, recorder) as url:
        with pytest.raises(RetryableExport):
            await send(url, ca=house.stranger.cert, cert=house.client.cert, key=house.client.key)
    assert not recorder.batches


@pytest.mark.parametrize(
    "options",
    [
        {"url": "https://h", "cert": "c.pem"},
        {"url": "grpcs://h:1", "key": "k.pem"},
        {"url": "http://h", "cert": "c.pem", "key": "k.pem"},
    ],
)
def test_half_a_pair_and_a_certificate_without_tls_are_errors(options: dict[str, str]) -> None:
    """At start, naming the setting."""
    with pytest.raises(ConfigError, match=r"export.*cert"):
        load(None, {"export": [options]}, {})


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_files_that_are_no_certificates_are_errors(scheme: str, house: House, tmp_path: Path) -> None:
    """At start, with the file's name; never with what is in it."""
    absent = tmp_path / "absent.pem"
    with pytest.raises(ConfigError, match=r"absent\.pem"):
        await send(f"{scheme}://127.0.0.1:1", ca=house.ca, cert=absent, key=house.client.key)


def test_certificates_of_senders_open_an_address_and_need_tls(house: House) -> None:
    """They are worth a token; without TLS nobody can show one."""
    pair = {"cert": house.server.cert, "key": house.server.key}
    Endpoint("0.0.0.0", client_ca=house.ca, **pair).check()
    with pytest.raises(ConfigError, match="TLS"):
        Endpoint(client_ca=house.ca).check()
    with pytest.raises(ConfigError, match="no file"):
        Endpoint(client_ca=house.ca.with_name("absent"), **pair).check()
