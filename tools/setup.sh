#!/bin/bash
# Installs the Debian bookworm packages that are missing; silent when nothing is.
#   tools/setup.sh [build|test|check|dist]
# dist also fetches the Debian sources of libraries that cmake/static.cmake builds, into build/static-sources.
set -euo pipefail

build=(g++ cmake ninja-build pkg-config ccache mold python3
  libboost1.81-dev libssl-dev libsimdjson-dev libyaml-dev libsqlite3-dev libgrpc++-dev libprotobuf-dev
  protobuf-compiler protobuf-compiler-grpc libabsl-dev tzdata libre2-dev libspdlog-dev libcli11-dev libfmt-dev
  libcurl4-openssl-dev libnghttp2-dev prometheus-cpp-dev zlib1g-dev
  libgtest-dev librapidcheck-dev libbenchmark-dev)
# For tests/dashboard, by their programs: other packages than Debian's have them, too.
page=()
command -v node >/dev/null || page+=(nodejs)
command -v npm >/dev/null || page+=(npm)
command -v chromium >/dev/null || page+=(chromium)
check=(git clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev lld-19 llvm-19)
dist=(dpkg-dev ca-certificates)
# By their -dev packages, so that headers and archives have one version.
from_source=(libcurl4-openssl-dev libsimdjson-dev libfmt-dev libspdlog-dev)

case "${1:-build}" in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${page[@]}") ;;
  check) wanted=("${build[@]}" "${check[@]}") ;;
  dist) wanted=("${build[@]}" "${dist[@]}") ;;
  *) echo "usage: tools/setup.sh [build|test|check|dist]" >&2; exit 2 ;;
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
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${#missing[@]} missing packages: ${missing[*]}"
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
[ "${1:-build}" = dist ] || exit 0

# Source packages come from the archives that this machine's apt knows, asked for sources: a list of our own,
# so that the machine's stays as it is. apt checks signatures and digests.
cd "$(dirname "$0")/.."
sources=$PWD/build/static-sources
apt_options=()
list_sources() {
  mkdir -p "$sources/apt/parts" "$sources/apt/lists/partial" "$sources/apt/cache"
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || sed -n 's/^deb /deb-src /p' "$file" >"$sources/apt/parts/$(basename "$file")"
  done
  for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$sources/apt/parts/$(basename "$file")"
  done
  apt_options=(-qq -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$sources/apt/parts"
    -o "Dir::State::lists=$sources/apt/lists" -o "Dir::Cache=$sources/apt/cache"
    -o "APT::Sandbox::User=$(id -un)")
  apt-get "${apt_options[@]}" update
}

for package in "${from_source[@]}"; do
  read -r name version < <(dpkg-query -W -f='${source:Package} ${source:Version}\n' "$package")
  folder=$sources/$name
  [ "$(cat "$folder/version" 2>/dev/null)" != "$version" ] || continue
  [ ${#apt_options[@]} -gt 0 ] || list_sources
  echo "setup: fetching the source of $name $version"
  rm -rf "$folder"
  mkdir -p "$folder"
  (cd "$folder" && apt-get "${apt_options[@]}" source "$name=$version" >/dev/null)
  mv "$folder"/*/ "$folder/tree"
  echo "$version" >"$folder/version"
done
