"""`drawtap manager`: look after the programs that draw."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.output.result import ExitStatus, Text

if TYPE_CHECKING:
    from drawtap.live.config import Config
    from drawtap.live.folder import Folder
    from drawtap.live.journal import Journal


@command(
    section="live",
    examples=(
        "drawtap manager &                                   # then: drawtap run -- ./game; drawtap top",
        "drawtap manager --policy adaptive --metrics 127.0.0.1:9105",
        "drawtap manager --print-unit > ~/.config/systemd/user/drawtap.service",
        "drawtap manager --print-schema                      # of what its clients say and hear",
        "drawtap manager --check --config manager.toml",
    ),
    json=False,
)
def manager(
    *,
    config: Annotated[
        Path | None, Opt("The configuration.  [default: drawtap/manager.toml below ~/.config]", metavar="FILE")
    ] = None,
    policy: Annotated[str | None, Opt("Policies that replace the configuration's.", metavar="NAME,..")] = None,
    metrics: Annotated[
        str | None, Opt("Give figures to Prometheus: HOST:PORT on loopback, or unix:PATH.", metavar="WHERE")
    ] = None,
    log: Annotated[Path | None, Opt("Add the log to a file.  [default: standard error]", metavar="FILE")] = None,
    system: Annotated[
        bool, Opt("Look after the programs of all users, in /run/drawtap; see admin_group in the configuration.")
    ] = False,
    check: Annotated[bool, Opt("Only say whether the configuration is good.")] = False,
    print_unit: Annotated[bool, Opt("Print a unit for systemd with these options.")] = False,
    print_schema: Annotated[bool, Opt("Print the JSON schema of the protocol.")] = False,
) -> ExitStatus | Text:
    """Watch, limit and record the programs that draw.

    One process a user, without privileges. Programs under `drawtap run` or `drawtap record` find it, also if they
    started before it. Limits expire two seconds after the manager stops. It reads its configuration again when the file
    changes; it refuses a wrong one and keeps the old settings. The log is JSON, one entry a line.
    """
    from drawtap.live import protocol, unit
    from drawtap.live.config import default_path, load_config, parse

    if print_schema:
        import json

        schema = protocol.schema()
        return Text(json.dumps(schema, indent=2) + "\n", schema)
    if print_unit:
        given = {"--config": config, "--policy": policy, "--metrics": metrics, "--log": log}
        arguments = [str(x) for name, value in given.items() if value is not None for x in (name, value)]
        return Text(unit.unit([*arguments, *(["--system"] if system else [])], system=system))
    path = config or default_path()
    chosen = load_config(path) if config or path.exists() else parse({}, path)
    if policy is not None:
        chosen = _with_policies(chosen, [name.strip() for name in policy.split(",") if name.strip()])
    if check:
        count = len(chosen.profiles)
        return Text(f"{path}: good; policies: {', '.join(chosen.settings.policies) or 'none'}; {count} profiles\n")
    return _run(chosen, metrics, log, system=system)


def _with_policies(config: Config, names: list[str]) -> Config:
    from dataclasses import replace

    made = replace(config, settings=replace(config.settings, policies=tuple(n for n in names if n != "none")))
    made.make_policies()
    return made


def _run(config: Config, metrics: str | None, log: Path | None, *, system: bool) -> ExitStatus:
    import asyncio

    from drawtap.live.exporter import checked_address
    from drawtap.live.folder import SYSTEM, Folder, user_folder
    from drawtap.live.journal import Journal

    address = None if metrics is None else checked_address(metrics)
    if log is not None and log.exists() and not log.is_file():
        raise UsageError(f"{log} is no file")
    folder = Folder(SYSTEM) if system else user_folder()
    journal = Journal(log)
    try:
        asyncio.run(_serve(config, folder, journal, address, system=system))
    finally:
        journal.close()
    return ExitStatus(0)


async def _serve(
    config: Config, folder: Folder, journal: Journal, address: tuple[str, int] | Path | None, *, system: bool
) -> None:
    from drawtap.live.clients import Clients
    from drawtap.live.exporter import Exporter
    from drawtap.live.manager import Manager

    manager = Manager(folder, config, journal, shared=system)
    manager.start()
    clients = Clients(manager, journal)
    exporter = Exporter(manager)
    try:
        await clients.start(folder)
        if address is not None:
            journal.say("metrics", at=await exporter.start(address))
        manager.handle_signals()
        _notify("READY=1")
        await manager.run()
    finally:
        _notify("STOPPING=1")
        await exporter.close()
        await clients.close(folder)
        manager.close()


def _notify(state: str) -> None:
    # systemd's sd_notify: a datagram to the socket that it names.
    import socket

    where = os.environ.get("NOTIFY_SOCKET")
    if not where:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        try:
            sender.connect("\0" + where[1:] if where.startswith("@") else where)
            sender.send(state.encode())
        except OSError:
            return
