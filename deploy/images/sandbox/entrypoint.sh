#!/bin/sh
# What happens when somebody starts this image by hand. Skerry puts its guest in the place of this program.
if [ $# -gt 0 ]; then exec "$@"; fi
cat >&2 <<'TEXT'
This is the sandbox image of Skerry. It does not isolate by itself: Skerry starts it without a network, with a
read-only root, no capabilities, a system call filter and limits.
  skerry run --backend docker prog.py
You now have a shell in it, as this container was started.
TEXT
exec bash
