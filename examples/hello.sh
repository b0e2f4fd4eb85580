#!/usr/bin/env bash
# ./skerry run examples/hello.sh
echo "Hello from bash $BASH_VERSION, with $# argument(s): $*"
