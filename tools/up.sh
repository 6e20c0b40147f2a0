#!/usr/bin/env bash
# The demo cluster and its workload, live: two racks of two nodes with GPUs, partitions, a gang, a fabric
# card.
# Ends on Ctrl-C. BERTH names another executable than the release build's.
set -euo pipefail
cd "$(dirname "$0")/.."

kubeconfig=build/up/kubeconfig
mkdir -p build/up
exec "${BERTH:-build/release/berth}" up --in-memory --kubeconfig "$PWD/$kubeconfig" \
  --nodes-dir "$PWD/build/up/nodes" \
  -f examples/cluster -f examples/partitions.yaml -f examples/gang.yaml -f examples/fabric.yaml \
  --watch-placements --log-level warning
