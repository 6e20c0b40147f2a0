#!/usr/bin/env bash
# Runs Kubernetes' own scheduler tests with Berth, or with the kube-scheduler that they are written for.
#   run.sh [--berth BIN | --kube] [--installed-role] [--prefix] [--sub RE] [--skip RE] [--timeout 15m]
#          [--out DIR] [PATTERN]
# PATTERN: a regular expression, searched for in SUITE/TestName (for example dra/all, or
# scheduler/filters/TestInterPod); --sub, --skip: which subtests (elements parted by /).
# --installed-role: the API server asks RBAC, and Berth has the service account of `berth install`.
# --prefix: where a test wants a condition's whole message, Kubernetes' sentence at its begin is enough.
# One line a (sub)test, then the totals. Outputs and Berth's logs are in DIR, default
# CACHE/results/{berth,kube}.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${K8S_SUITE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/berth-k8s-suite}
rig=${RIG_CACHE:-$HOME/.cache/berth-rig}/rig
mode=berth berth=${BERTH:-} sub='' skip='' timeout=15m out='' pattern=''
while [ $# -gt 0 ]; do
  case $1 in
    --berth) berth=$2; shift ;;
    --kube) mode=kube ;;
    --installed-role) export BERTH_INSTALLED_ROLE=1 ;;
    --prefix) export BERTH_SENTENCE=prefix ;;
    --sub) sub=$2; shift ;;
    --skip) skip=$2; shift ;;
    --timeout) timeout=$2; shift ;;
    --out) out=$2; shift ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    *) pattern=$1 ;;
  esac
  shift
done
[ -x "$rig" ] || { echo "run.sh: no $rig (etcd): run ../rig/rig.sh build" >&2; exit 2; }
if [ $mode = berth ]; then
  [ -n "$berth" ] && berth=$(readlink -f "$berth") && [ -x "$berth" ] ||
    { echo "run.sh: --berth BIN, or --kube" >&2; exit 2; }
fi
out=${out:-$cache/results/$mode}
mkdir -p "$out/berth" "$out/tests"
out=$(cd "$out" && pwd)
data=$(mktemp -d)
{ read -r client; read -r peer; } < <("$rig" freeports 2)
ETCD_NO_FSYNC=1 "$rig" etcd "$data" "http://127.0.0.1:$client" "http://127.0.0.1:$peer" \
  >"$data.log" 2>&1 </dev/null &
etcd=$!
trap 'kill "$etcd" 2>/dev/null; wait "$etcd" 2>/dev/null; rm -rf "$data" "$data.log" "$data.crds.yaml"' EXIT
for _ in $(seq 200); do grep -q 'etcd ready' "$data.log" && break; sleep 0.1; done
export KUBE_INTEGRATION_ETCD_URL=http://127.0.0.1:$client BERTH=$berth BERTH_LOGS=$out/berth
export BERTH_CRDS=$data.crds.yaml
[ $mode = kube ] || "$berth" crds >"$BERTH_CRDS"
python3 "$here/suite.py" --bin "$cache/bin/$mode" --src "$cache/src" --out "$out" --timeout "$timeout" \
  --sub "$sub" --skip "$skip" --pattern "$pattern"
