#!/usr/bin/env bash
# Puts the generators of clients, and schemathesis, into a directory of their own: $1/venv and $1/node_modules.
set -euo pipefail
cd "$(dirname "$0")"
python3 -m venv "$1/venv" || { apt-get update && apt-get install --yes python3-venv && python3 -m venv "$1/venv"; }
"$1/venv/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt
# The generator works with a compiler of its own; what it writes is compiled with ours.
npm install --silent --no-save --prefix "$1" openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3
