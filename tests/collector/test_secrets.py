"""Secrets come from the environment or a file, and are printed nowhere: not as settings, errors or logs."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from collector.otlp_peers import encoded_request

from ragtrace.errors import ConfigError
from ragtrace_collector.cli import run
from ragtrace_collector.settings import as_yaml, load

SECRET = "hunter2hunter2"
EVERYWHERE: dict[str, Any] = {
    "otlp": {"token": SECRET},
    "export": [
        {"url": f"https://user:{SECRET}@h:1/v1/traces?key={SECRET}", "headers": {"x-key": SECRET}},
        {"url": "grpc://h:2", "headers": {"authorization": f"Bearer {SECRET}"}},
    ],
    "judge": {
        "use": "openai",
        "api_key": SECRET,
        "base_url": f"https://user:{SECRET}@h/v1?key={SECRET}",
        "default_headers": {"anything": SECRET},
        "options": {"client_secret": SECRET, "Authorization": SECRET, "deeper": {"API-Key": SECRET}},
    },
    "embedder": {"use": "openai", "apikey": SECRET},
    "redaction": {"key": SECRET},
}


def test_settings_are_shown_with_every_secret_masked() -> None:
    """Whatever a part of somebody else's calls them; everything else is shown."""
    config = load(None, EVERYWHERE, {})
    for shown in (as_yaml(config), repr(config.otlp), repr(config.redaction)):
        assert SECRET not in shown
    assert yaml.safe_load(as_yaml(config))["judge"]["use"] == "openai"


def test_print_config_of_the_command_masks_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The same from a file, where the judge is somebody else's and takes such options."""
    file = tmp_path / "collector.yaml"
    theirs = {
        "judge": EVERYWHERE["judge"] | {"use": "my_own.judges:Mine"},
        "embedder": {"use": "openai", "api_key": SECRET},
    }
    file.write_text(yaml.safe_dump(EVERYWHERE | theirs))
    assert run(["collector", "--config", str(file), "--print-config"]) == 0
    out, err = capfd.readouterr()
    assert SECRET not in out + err
    assert "**********" in out


def test_options_that_are_refused_show_no_secret(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Their names do, with those of all others."""
    file = tmp_path / "collector.yaml"
    file.write_text(yaml.safe_dump(EVERYWHERE))
    assert run(["collector", "--config", str(file), "--print-config"]) == 2
    out, err = capfd.readouterr()
    assert SECRET not in out + err
    assert all(name in err for name in ("judge.default_headers", "judge.options", "embedder.apikey"))


@pytest.mark.parametrize(
    "text",
    [
        f'otlp: {{token: "{SECRET}',
        f"otlp:\n  token: {SECRET}\n bad: {SECRET}: {SECRET}",
        f"otlp: {{tokens: {SECRET}}}",
        f"otlp: {{token: [{SECRET}]}}",
        f"export: ['ftp://user:{SECRET}@h']",
        f"export: ['http://user:{SECRET}@[h']",
        f"export: ['http://user:{SECRET}@h:port']",
        f"export: [{{url: 'http://h', headers: {SECRET}}}]",
        f"judge: {{use: openai, api_key: {SECRET}}}\nprivacy: local_only",
        f"admin: '{SECRET}'\notlp: {{token: {SECRET}",
    ],
)
def test_errors_in_the_settings_quote_no_secret(text: str, tmp_path: Path) -> None:
    """Though they say what is wrong, and where."""
    file = tmp_path / "collector.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file, {}, {})
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None or SECRET not in str(caught.value.__cause__)


def test_texts_are_taken_from_the_environment_and_from_files(tmp_path: Path) -> None:
    """Anywhere in a text; what a file holds is taken without its line end."""
    (tmp_path / "token").write_text(f"{SECRET}\n")
    settings = tmp_path / "collector.yaml"
    settings.write_text(
        f"export: [{{url: http://h, headers: {{a: 'Bearer ${{file:{tmp_path}/token}}', b: '${{B}}', c: '${{env:B}}'}}}}]"
    )
    (destination,) = load(settings, {}, {"B": "b"}).export
    assert destination.headers == {"a": f"Bearer {SECRET}", "b": "b", "c": "b"}


@pytest.mark.parametrize(
    ("reference", "why"), [("file:{}/absent", "cannot read"), ("file:{}/empty", "empty"), ("NONE", "no NONE")]
)
def test_a_secret_that_is_not_there_is_an_error_with_its_path(
    reference: str, why: str, tmp_path: Path
) -> None:
    """An empty one too: it would open doors."""
    (tmp_path / "empty").write_text(" \n")
    settings = tmp_path / "collector.yaml"
    settings.write_text(f"otlp: {{token: '${{{reference.format(tmp_path)}}}'}}")
    with pytest.raises(ConfigError, match=why) as caught:
        load(settings, {}, {})
    assert caught.value.path == "otlp.token"


async def test_a_running_collector_says_no_secret(tmp_path: Path) -> None:
    """With a backend that cannot be reached, senders that are refused, and bodies that are none."""
    (tmp_path / "token").write_text(SECRET)
    config = {
        "otlp": {"http": "127.0.0.1:0", "grpc": "off", "token_file": str(tmp_path / "token")},
        "admin": "off",
        "spool": "off",
        "export": [{"url": f"http://user:{SECRET}@127.0.0.1:1", "headers": {"x-key": SECRET}}],
    }
    (tmp_path / "collector.yaml").write_text(yaml.safe_dump(config))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ragtrace_collector", "collector", "--config", "collector.yaml"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    said = b""
    while not (port := re.search(rb"OTLP/HTTP http://127\.0\.0\.1:(\d+)", said)):
        said += await asyncio.wait_for(process.stdout.readline(), 60)
    url = f"http://127.0.0.1:{int(port[1])}/v1/traces"
    async with aiohttp.ClientSession(headers={"content-type": "application/x-protobuf"}) as session:
        for token, body, status in (
            (f"{SECRET}x", b"", 401),
            (SECRET, b"\xff" + SECRET.encode(), 400),
            (SECRET, encoded_request(1, SECRET), None),
        ):
            try:
                async with session.post(
                    url,
                    data=body,
                    headers={"authorization": f"Bearer {token}"},
                    timeout=aiohttp.ClientTimeout(5),
                ) as response:
                    assert status in (response.status, None)
                    assert SECRET.encode() not in await response.read()
            except TimeoutError:
                assert status is None
    process.kill()
    rest, _ = await asyncio.wait_for(process.communicate(), 30)
    assert SECRET.encode() not in said + rest
