"""A guest that hears late that its requests are done."""

from drawtap.system.rule import rule
from drawtap.system.rules.held_in_guest import waits_of_threads


@rule(
    title="A guest hears late that its requests are done",
    fix="Give the machine's virtual CPUs processors of their own: interrupts wait until one of them runs.",
)
def late_notice() -> str:
    """A program that waits for a request that is done waits for the interrupt's way into its virtual machine.

    Told where the guest's trace is joined with --guest: from the host's completion until the guest knew.
    """
    return waits_of_threads("host_end_ns", "end_ns", "has requests that are done, and does not know it")
