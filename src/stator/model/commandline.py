"""A container's command line as the process will see it: which program, which module, which arguments.

`command` and `args` may be an argv, or a shell script handed to `sh -c`. Only what can be read without running
anything is claimed: a wrapper script or a variable that is expanded at start is `opaque`, and says why.
"""

from __future__ import annotations

import msgspec


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """One `python -m MODULE` run found on a command line.

    `argv` are the arguments after the module name, quotes removed, up to the end of the simple command.
    """

    module: str
    argv: tuple[str, ...]
    in_shell: bool = False


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """What `command` + `args` run. `opaque` is the reason why more may run than `invocations` shows, or `""`."""

    invocations: tuple[Invocation, ...] = ()
    opaque: str = ""

    def of(self, module: str) -> Invocation | None:
        """The first invocation of `module`, if there is one."""
        return next((found for found in self.invocations if found.module == module), None)
