#!/usr/bin/env bash
# Makes the packages of one platform: an archive, a wheel, npm packages, a list of what is in the program (SBOM), and the
# checksums of all.
#
#     packaging/package.sh [DIRECTORY [TARGET]]
#
# The same commit gives the same bytes, wherever and whenever it is packaged. PACKAGE_PROFILE is cargo's profile
# (`dist`), SOURCE_DATE_EPOCH the time of every file (that of the commit). PACKAGE_RUNS is a dialectic that runs here, for
# manual and completions, if that of TARGET does not.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
out="${1:-$root/target/packages}"
target="${2:-x86_64-unknown-linux-musl}"
profile="${PACKAGE_PROFILE:-dist}"
mkdir -p "$out"
out="$(cd "$out" && pwd)"
cd "$root"

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

line="$(awk -F '\t' -v target="$target" '$1 == target' packaging/platforms.tsv)"
[[ -n $line ]] || fail "packaging/platforms.tsv has no line for $target"
IFS=$'\t' read -r _ tried tags os cpu _ <<<"$line"
[[ $tried == yes ]] || printf 'warning: packages for %s have never been tried\n' "$target" >&2
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || true)}"
[[ -n $SOURCE_DATE_EPOCH ]] || fail 'this is no git checkout: set SOURCE_DATE_EPOCH'
export SOURCE_DATE_EPOCH
tools="$(packaging/tools)"

case $target in
    x86_64-unknown-linux-musl)
        command -v musl-gcc >/dev/null || fail 'there is no musl-gcc: apt-get install musl-tools'
        export CC_x86_64_unknown_linux_musl=musl-gcc
        ;;
esac

# The program, and with it the wheel.
export PACKAGE_ROOT="$root" RUSTC_WRAPPER="$root/packaging/rustc" CARGO_INCREMENTAL=0
export CFLAGS="-ffile-prefix-map=$root=/dialectic -ffile-prefix-map=${CARGO_HOME:-$HOME/.cargo}=/cargo"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
read -ra tags <<<"$tags"
"$tools/maturin" build --manifest-path "$root/Cargo.toml" --target "$target" --profile "$profile" --out "$work/wheel" \
    --compatibility "${tags[@]}" --auditwheel skip --quiet
