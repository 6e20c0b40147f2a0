#!/bin/bash
# Runs the real-cluster suite where Kubernetes can be built from Go modules; else says why not and ends well.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
  echo "test-cluster: skipped: $1"
  exit 0
}

readonly go_minor_min=26
command -v go >/dev/null || skip "needs Go 1.$go_minor_min or newer, and no go was found"
version=$(GOTOOLCHAIN=local go env GOVERSION)
[[ $version =~ ^go([0-9]+)\.([0-9]+) ]] ||
  skip "needs Go 1.$go_minor_min or newer, and '$version' is not understood"
major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]}
((major > 1 || minor >= go_minor_min)) || skip "needs Go 1.$go_minor_min or newer, and this is $version"
[ -x tests/cluster/run.py ] || skip "this tree has no real-cluster rig (tests/cluster/run.py)"
exec python3 tests/cluster/run.py --build "$@"
