#!/usr/bin/env bash
# A private Kubernetes control plane on loopback, without root or containers.
#
#   rig.sh build                 compile rig and rigbench into ${RIG_CACHE:-~/.cache/berth-rig}
#   rig.sh up DIR [options]      start etcd + kube-apiserver; DIR gets kubeconfig{,-cert}, pids, *.log
#       --kcm                    also kube-controller-manager (claim templates, PodGroup protection,
#                                namespaces)
#       --gc                     add the garbage collector to it (owner references)
#       --scheduler              also kube-scheduler (default profile, name default-scheduler)
#       --berth BIN              also `BIN scheduler --with-binder` under the name default-scheduler (recorded
#                                as kube-scheduler, for the report); BERTH_FLAGS adds flags of its own; the
#                                CRD of BindRequests is applied first (BERTH_CRD, default
#                                bindrequests.crd.yaml)
#       --crd                    only the CRD of BindRequests
#       --gates LIST             feature gates appended to the default list, e.g. DRAListTypeAttributes=false
#       --no-default-gates       start from Kubernetes' own defaults
#       --fsync                  let etcd sync to disk (off by default: the data is thrown away)
#   rig.sh down DIR [--purge]    stop what `up` started (--purge also deletes DIR)
#
# Environment: RIG_VERBOSITY (0) log level; RIG_DISABLE_ADMISSION plugins to disable;
# RIG_RUNTIME_CONFIG (api/all=true) API versions served; RIG_API_FLAGS more flags of kube-apiserver.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${RIG_CACHE:-$HOME/.cache/berth-rig}
bin=$cache/rig
default_gates=DRADeviceCompatibilityGroups=true,DRAListTypeAttributes=true,DRADerivedAttributes=true
default_gates+=,GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true
default_gates+=,DRAWorkloadResourceClaims=true,PodGroupPreemptionPolicy=true,DRAResourcePoolStatus=true
# Nodes here have no kubelet: TaintNodesByCondition would taint them not-ready, ServiceAccount would need its
# controller.
disabled_admission=${RIG_DISABLE_ADMISSION:-ServiceAccount,TaintNodesByCondition}
controllers=resourceclaim-controller,podgroup-protection-controller,resourcepoolstatusrequest-controller
controllers+=,device-taint-eviction-controller,namespace-controller

die() { echo "rig.sh: $*" >&2; exit 1; }

build() {
  mkdir -p "$cache"
  cd "$here"
  # Without a version, clients such as Helm take the API server for one of no release.
  local version=k8s.io/component-base/version.gitVersion=v1.37.0
  nice go build -mod=readonly -ldflags="-s -w -X $version" -o "$cache/rig" .
  nice go build -mod=readonly -ldflags="-s -w" -o "$cache/rigbench" ./bench
}

# launch NAME ARGS... : run a rig component in the background, log to DIR/NAME.log, record its pid.
launch() {
  local name=$1; shift
  nohup "$bin" "$@" >"$dir/$name.log" 2>&1 </dev/null &
  echo "$name $!" >>"$dir/pids"
}

alive() {
  local exe; exe=$(readlink "/proc/$1/exe" 2>/dev/null | sed 's/ (deleted)$//')
  [ "$exe" = "$(readlink -f "$bin")" ] || [ "${exe##*/}" = berth ]
}

# wait_for NAME SECONDS COMMAND... : poll a command until it succeeds or the component dies.
wait_for() {
  local name=$1 limit=$2 pid; shift 2
  pid=$(awk -v n="$name" '$1==n{print $2}' "$dir/pids")
  for ((i = 0; i < limit * 10; i++)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    # Not alive(): between fork and exec the process is still a shell.
    if ! kill -0 "$pid" 2>/dev/null; then tail -3 "$dir/$name.log" >&2; return 1; fi
    sleep 0.1
  done
  echo "rig.sh: $name not ready after $limit s" >&2
  return 1
}

keys() {
  umask 077
  openssl ecparam -name prime256v1 -genkey -noout -out "$dir/sa.key"
  openssl ec -in "$dir/sa.key" -pubout -out "$dir/sa.pub" 2>/dev/null
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=rig-client-ca \
    -keyout "$dir/client-ca.key" -out "$dir/client-ca.crt" 2>/dev/null
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /O=system:masters/CN=rig-admin \
    -keyout "$dir/admin.key" -out "$dir/admin.csr" 2>/dev/null
  openssl x509 -req -in "$dir/admin.csr" -CA "$dir/client-ca.crt" -CAkey "$dir/client-ca.key" \
    -CAcreateserial -days 30 -out "$dir/admin.crt" 2>/dev/null
  token=$(openssl rand -hex 16)
  echo "$token,rig-admin,rig-admin,\"system:masters\"" >"$dir/tokens.csv"
}

# kubeconfig FILE USER_YAML
kubeconfig() {
  cat >"$1" <<K
apiVersion: v1
kind: Config
clusters:
- name: rig
  cluster: {server: "https://127.0.0.1:$api_port", certificate-authority: "$dir/certs/apiserver.crt"}
users: [{name: admin, user: {$2}}]
contexts: [{name: rig, context: {cluster: rig, user: admin}}]
current-context: rig
K
}

# The serving certificate appears only when the server starts, so this cannot be checked earlier.
probe() {
  curl -sf --max-time 2 --cacert "$dir/certs/apiserver.crt" -H "Authorization: Bearer $token" \
    "https://127.0.0.1:$api_port/readyz"
}
probe_plain() { curl -skf --max-time 2 "https://127.0.0.1:$1/healthz"; }

start_etcd() {
  ETCD_NO_FSYNC=$no_fsync launch etcd etcd "$dir/etcd" "http://127.0.0.1:$etcd_port" \
    "http://127.0.0.1:$peer_port"
  wait_for etcd 20 grep -q 'etcd ready' "$dir/etcd.log"
}

start_apiserver() {
  # Word splitting of the flag list is wanted.
  # shellcheck disable=SC2086
  launch kube-apiserver kube-apiserver --etcd-servers="http://127.0.0.1:$etcd_port" --bind-address=127.0.0.1 \
    --secure-port="$api_port" --cert-dir="$dir/certs" --client-ca-file="$dir/client-ca.crt" \
    --token-auth-file="$dir/tokens.csv" --authorization-mode=RBAC --service-cluster-ip-range=10.0.0.0/16 \
    --service-account-issuer=https://rig --service-account-key-file="$dir/sa.pub" \
    --service-account-signing-key-file="$dir/sa.key" --runtime-config="${RIG_RUNTIME_CONFIG:-api/all=true}" \
    ${gates:+--feature-gates="$gates"} --disable-admission-plugins="$disabled_admission" \
    --enable-priority-and-fairness=false --max-requests-inflight=0 --max-mutating-requests-inflight=0 \
    --v="${RIG_VERBOSITY:-0}" ${RIG_API_FLAGS:-}
  wait_for kube-apiserver 60 probe || return 1
  kubeconfig "$dir/kubeconfig" "token: $token"
  kubeconfig "$dir/kubeconfig-cert" "client-certificate: \"$dir/admin.crt\", client-key: \"$dir/admin.key\""
}

start_kcm() {
  launch kube-controller-manager kube-controller-manager --kubeconfig="$dir/kubeconfig" "${serving[@]}" \
    --secure-port="$kcm_port" --cert-dir="$dir/kcm-certs" --leader-elect=false --controllers="$controllers" \
    --kube-api-qps=5000 --kube-api-burst=5000 --kube-api-content-type=application/vnd.kubernetes.protobuf \
    ${gates:+--feature-gates="$gates"} --v="${RIG_VERBOSITY:-0}"
}

start_kube_scheduler() {
  cat >"$dir/scheduler.yaml" <<K
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: "$dir/kubeconfig"
  qps: 5000
  burst: 5000
  contentType: application/vnd.kubernetes.protobuf
leaderElection: {leaderElect: false}
K
  launch kube-scheduler kube-scheduler --config="$dir/scheduler.yaml" "${serving[@]}" \
    --secure-port="$sched_port" --cert-dir="$dir/scheduler-certs" ${gates:+--feature-gates="$gates"} \
    --v="${RIG_VERBOSITY:-0}"
}

apply_crd() {
  local kubectl=(kubectl --kubeconfig "$dir/kubeconfig") crd=crd/bindrequests.scheduling.berth.dev
  "${kubectl[@]}" apply -f "${BERTH_CRD:-$here/bindrequests.crd.yaml}" >"$dir/crd.log" 2>&1 ||
    { cat "$dir/crd.log" >&2; return 1; }
  "${kubectl[@]}" wait --for=condition=Established "$crd" --timeout=30s >>"$dir/crd.log" 2>&1
}

start_berth() {
  # shellcheck disable=SC2086
  nohup "$with_berth" scheduler --with-binder --kubeconfig "$dir/kubeconfig" \
    --scheduler-name default-scheduler --leader-elect=false --listen "127.0.0.1:$sched_port" \
    ${gates:+--feature-gates="${BERTH_GATES:-$gates}"} ${BERTH_FLAGS:-} \
    >"$dir/kube-scheduler.log" 2>&1 </dev/null &
  echo "kube-scheduler $!" >>"$dir/pids"
}

start() {
  local etcd_port peer_port kcm_port sched_port
  { read -r etcd_port; read -r peer_port; read -r api_port; read -r kcm_port; read -r sched_port; } \
    < <("$bin" freeports 5)
  rm -rf "$dir/pids" "$dir/etcd" "$dir/certs"
  start_etcd || return 1
  start_apiserver || return 1
  # Without the skip, both look every few seconds for a front-proxy CA that this API server has not got.
  local serving=(--bind-address=127.0.0.1 --authentication-skip-lookup=true
    --authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics)
  if [ -n "$with_kcm" ]; then start_kcm; fi
  if [ -n "$with_scheduler" ]; then start_kube_scheduler; fi
  if [ -n "$with_berth$with_crd" ]; then apply_crd || return 1; fi
  if [ -n "$with_berth" ]; then start_berth; fi
  if [ -n "$with_kcm" ]; then wait_for kube-controller-manager 60 probe_plain "$kcm_port" || return 1; fi
  if [ -n "$with_scheduler" ]; then wait_for kube-scheduler 60 probe_plain "$sched_port" || return 1; fi
  printf 'etcd=%s\napiserver=%s\nkcm=%s\nscheduler=%s\n' \
    "$etcd_port" "$api_port" "$kcm_port" "$sched_port" >"$dir/ports"
}

up() {
  [ $# -ge 1 ] || die "up needs a directory"
  [ -x "$bin" ] || die "no $bin: run 'rig.sh build' first"
  mkdir -p "$1"; dir=$(cd "$1" && pwd); shift
  gates=$default_gates no_fsync=1 with_kcm='' with_scheduler='' with_berth='' with_crd=''
  while [ $# -gt 0 ]; do
    case $1 in
      --kcm) with_kcm=1 ;;
      --gc) controllers+=,garbage-collector-controller ;;
      --scheduler) with_scheduler=1 ;;
      --crd) with_crd=1 ;;
      --berth) with_berth=$(readlink -f "$2"); shift ;;
      --gates) gates=${gates:+$gates,}$2; shift ;;
      --no-default-gates) gates='' ;;
      --fsync) no_fsync='' ;;
      *) die "unknown option $1" ;;
    esac
    shift
  done
  if [ -s "$dir/pids" ]; then
    while read -r name pid; do
      ! alive "$pid" || die "$name ($pid) still runs: 'rig.sh down' first"
    done <"$dir/pids"
  fi
  keys
  for attempt in 1 2 3; do # a port can be taken between choosing and binding
    start && return 0
    echo "rig.sh: start attempt $attempt failed" >&2
    stop
  done
  die "gave up; logs are in the directory"
}

# Stop in the reverse order of starting; SIGKILL after 15 s. A pid that is no longer our executable is left
# alone.
stop() {
  [ -s "$dir/pids" ] || return 0
  local name pid
  while read -r name pid; do
    alive "$pid" || continue
    kill -TERM "$pid"
    for ((i = 0; i < 150; i++)); do alive "$pid" || break; sleep 0.1; done
    if alive "$pid"; then echo "rig.sh: $name did not stop, killing" >&2; kill -KILL "$pid"; fi
  done < <(tac "$dir/pids")
  rm -f "$dir/pids"
}

down() {
  [ $# -ge 1 ] || die "down needs a directory"
  dir=$(cd "$1" && pwd)
  stop
  if [ "${2:-}" = --purge ]; then rm -rf "$dir"; fi
}

case ${1:-} in
  build) build ;;
  up) shift; up "$@" ;;
  down) shift; down "$@" ;;
  *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
