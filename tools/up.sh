#!/usr/bin/env bash
# The demo cluster and its workload, live: two racks of two nodes with GPUs, partitions, a gang, a fabric
# card.
# Ends on Ctrl-C. BERTH names another executable than the release build's.
set -euo pipefail
cd "$(dirname "$0")/.."

kubeconfig=build/up/kubeconfig
mkdir -p build/up
# Held until the control plane ends; the lock goes with the process.
exec 9>build/up/lock
if ! flock --nonblock 9; then
  echo "make up: one runs already; use it with" >&2
  echo "  export KUBECONFIG=$PWD/$kubeconfig" >&2
  echo "or end it with Ctrl-C in its terminal" >&2
  exit 1
fi
exec "${BERTH:-build/release/berth}" up --in-memory --cert-dir "$PWD/build/up/pki" \
  --kubeconfig "$PWD/$kubeconfig" --nodes-dir "$PWD/build/up/nodes" \
  -f examples/cluster -f examples/racks.yaml -f examples/partitions.yaml \
  -f examples/gang.yaml -f examples/fabric.yaml \
  --watch-placements --log-level warning
