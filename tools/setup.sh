#!/bin/bash
# Installs the Debian bookworm packages that are missing; silent when nothing is.
#   tools/setup.sh [build|check]
set -euo pipefail

build=(g++ cmake ninja-build pkg-config ccache mold python3
  libboost1.81-dev libssl-dev libsimdjson-dev libyaml-dev libsqlite3-dev libgrpc++-dev libprotobuf-dev
  protobuf-compiler protobuf-compiler-grpc libre2-dev libspdlog-dev libcli11-dev libfmt-dev
  libcurl4-openssl-dev prometheus-cpp-dev zlib1g-dev libgtest-dev librapidcheck-dev libbenchmark-dev)
check=(git clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev lld-19 llvm-19)

case "${1:-build}" in
  build) wanted=("${build[@]}") ;;
  check) wanted=("${build[@]}" "${check[@]}") ;;
  *) echo "usage: tools/setup.sh [build|check]" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; what is needed: ${wanted[*]}" >&2
  exit 0
fi

installed=$(dpkg-query -W -f='${binary:Package} ${db:Status-Abbrev}\n' 2>/dev/null |
  awk '$2 == "ii" {sub(/:.*/, "", $1); print $1}')
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "setup: installing ${#missing[@]} missing packages: ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
