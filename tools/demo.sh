#!/usr/bin/env bash
# The scripted tour; see demo.py.
set -euo pipefail
exec python3 "$(dirname "$0")/demo.py"
