"""What well-known programs do with their arguments, as far as reading a command line needs to know."""

from __future__ import annotations

# They run text: `sh -c TEXT`.
SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})

# They run the rest of their own arguments, and nothing else.
WRAPPERS = frozenset(
    """
    builtin busybox catatonit chroot chrt command dumb-init env exec gosu ionice nice nohup numactl setpriv setsid
    stdbuf su-exec sudo taskset time timeout tini tini-static unshare
    """.split()  # noqa: SIM905 (a table of words reads better than a column of quotes)
)

# They run none of their arguments.
INERT = frozenset(
    """
    : [ [[ awk basename cat cd chmod chown cp curl cut date declare df dirname du echo exit export false find free git
    grep head hostname kill ldconfig let ln local ls mkdir mount mv nvidia-smi popd printenv printf ps pushd pwd read
    readlink readonly return rm sed set shopt sleep sort tail tar tee test touch tr trap true type ulimit umask
    unset wait wget which
    """.split()  # noqa: SIM905 (a table of words reads better than a column of quotes)
)

# Python modules that run another module, the one after their own `-m`.
LAUNCHER_MODULES = frozenset(
    """
    accelerate.commands.launch coverage cProfile debugpy pdb torch.distributed.launch torch.distributed.run
    """.split()  # noqa: SIM905 (a table of words reads better than a column of quotes)
)
