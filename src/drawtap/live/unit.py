"""The systemd unit that starts a manager with a user's session, or one for the whole system."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

_TEMPLATE = """\
[Unit]
Description=drawtap: resource manager of programs that draw
Documentation=man:systemd.unit(5)

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1
StateDirectory=drawtap
{own}NoNewPrivileges=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native
MemoryMax=256M
TasksMax=32

[Install]
WantedBy={target}
"""
# A user's manager has no privileges to give up, and must not need namespaces of its own: not every system lets users
# make them. The tap must not be in a system's manager, whatever the environment has. CAP_BPF, CAP_PERFMON and
# CAP_SYS_RESOURCE are for `observe = true`; CAP_DAC_READ_SEARCH is to find the libraries of programs of others. The
# runtime directory outlives a restart: what people said of programs stands in it.
_SYSTEM = """\
User=root
UnsetEnvironment=LD_PRELOAD
ProtectSystem=strict
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
CapabilityBoundingSet=CAP_CHOWN CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_BPF CAP_PERFMON CAP_SYS_RESOURCE
LimitMEMLOCK=infinity
RuntimeDirectory=drawtap
RuntimeDirectoryMode=0755
RuntimeDirectoryPreserve=yes
ProtectHome=read-only
"""


def unit(arguments: Sequence[str], *, system: bool) -> str:
    """Return the text of a unit whose manager is started with `arguments`."""
    command = shlex.join([sys.executable, "-m", "drawtap", "manager", *arguments])
    return _TEMPLATE.format(
        command=command.replace("%", "%%"),
        own=_SYSTEM if system else "",
        target="multi-user.target" if system else "default.target",
    )
