# shellcheck shell=bash
# A bash that keeps its state between pieces of code: see guest/runners/README.md. The host's orders are lines that it
# reads as its own input. It is interactive, since only an interactive bash comes back to its input after an interrupt.
exec bash --noprofile --rcfile "${0%/*}/bash-context.rc" --noediting -i <&3 4>&2 2>/dev/null
