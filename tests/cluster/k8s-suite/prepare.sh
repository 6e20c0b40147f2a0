#!/usr/bin/env bash
# Copies Kubernetes' scheduler tests from the module cache, puts Berth into them, compiles them; and,
# unchanged, for the control.
#   prepare.sh [--no-kube] [SUITE...]     suites: see `suites` below; default: all
# Everything goes to ${K8S_SUITE_CACHE:-${XDG_CACHE_HOME:-~/.cache}/berth-k8s-suite}: src/, bin/berth/,
# bin/kube/.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${K8S_SUITE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/berth-k8s-suite}
suites=(dra/all dra/default dra/ga dra/api dra
  scheduler scheduler/{bind,eventhandler,filters,nominated_node_name,plugins,queueing,scoring,taint}
  scheduler/podgroup scheduler/podgroup/{queueing,topology_aware_scheduling}
  scheduler/preemption scheduler/preemption/{misc,nominatednodename,podgroup})
kube=1
if [ "${1:-}" = --no-kube ]; then kube=''; shift; fi
[ $# -eq 0 ] || suites=("$@")

src=$cache/src
mkdir -p "$src" "$cache/bin/berth" "$cache/bin/kube"
cp "$here/go.mod" "$here/go.sum" "$src/"
cd "$src"
go mod download k8s.io/kubernetes  # `go list` names no folder of a module that is not there
kubernetes=$(go list -m -mod=readonly -f '{{.Dir}}' k8s.io/kubernetes)
fresh=$(mktemp -d "$cache/fresh.XXXX")
trap 'rm -rf "$fresh"' EXIT
mkdir -p "$fresh/test/integration"
for d in dra util scheduler framework; do
  cp -r "$kubernetes/test/integration/$d" "$fresh/test/integration/"
done
chmod -R u+w "$fresh"
cp -r "$here/shim" "$fresh/"
python3 "$here/patch.py" "$fresh"
rm -rf "$src/test" "$src/shim"
mv "$fresh/test" "$fresh/shim" "$src/"

# compile KIND PACKAGE: one suite, $s, into bin/KIND.
compile() {
  nice -n 15 go test -c -mod=readonly -vet=off -ldflags='-s -w' -o "$cache/bin/$1/${s//\//_}.test" "$2"
}

for s in "${suites[@]}"; do
  echo "prepare.sh: $s" >&2
  compile berth "./test/integration/$s"
  if [ -n "$kube" ]; then compile kube "k8s.io/kubernetes/test/integration/$s"; fi
done
