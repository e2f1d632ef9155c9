"""`drawtap completion`: shell completion."""

from __future__ import annotations

from typing import Annotated, Literal

from drawtap.commands import Opt, command
from drawtap.view.result import Text


@command(
    section="know",
    examples=(
        'eval "$(drawtap completion bash)"              # in ~/.bashrc',
        'eval "$(drawtap completion zsh)"               # in ~/.zshrc',
        "drawtap completion fish > ~/.config/fish/completions/drawtap.fish",
    ),
    json=False,
)
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Opt("which shell", metavar="bash|zsh|fish")]) -> Text:
    """Print the completion script for a shell.

    Completes commands, options, choices and file names.
    """
    import click
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click knows these three
    return Text(kind(click.Command("drawtap"), {}, "drawtap", "_DRAWTAP_COMPLETE").source())
