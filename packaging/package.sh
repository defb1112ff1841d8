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
IFS=$'\t' read -r _ _ _ tags os cpu <<<"$line"
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || true)}"
[[ -n $SOURCE_DATE_EPOCH ]] || fail 'this is no git checkout: set SOURCE_DATE_EPOCH'
export SOURCE_DATE_EPOCH
tools="$(packaging/tools)"

case $target in
    *-unknown-linux-musl)
        command -v musl-gcc >/dev/null || fail 'there is no musl-gcc: apt-get install musl-tools'
        export "CC_${target//-/_}=musl-gcc"
        ;;
esac

# The program, and with it the wheel.
built="${CARGO_TARGET_DIR:-$root/target}"
export PACKAGE_ROOT="$root" PACKAGE_TARGET="$built" RUSTC_WRAPPER="$root/packaging/rustc" CARGO_INCREMENTAL=0
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
read -ra tags <<<"$tags"
(cd packaging && "$tools/maturin" build --target "$target" --profile "$profile" --out "$work/wheel" \
    --compatibility "${tags[@]}" --auditwheel skip)
wheel=("$work"/wheel/*.whl)
[[ ${#wheel[@]} -eq 1 && -s ${wheel[0]} ]] || fail 'there is not exactly one wheel'
suffix=''
[[ $os == win32 ]] && suffix='.exe'
directory="$profile"
[[ $profile == dev ]] && directory=debug
program="$built/$target/$directory/dialectic$suffix"
for place in "$root" "$built" "${CARGO_HOME:-$HOME/.cargo}"; do
    ! grep -qaF -- "$place" "$program" || fail "$program names the directory $place"
done
version="$(cargo metadata --no-deps --format-version 1 --locked | python3 -c '
import json, sys
print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "dialectic-cli"))')"

# A directory as an archive: the same files give the same bytes.
archive() {
    tar -C "$1" --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode='u+rwX,go+rX,go-w' -cf - "$2" | gzip -n >"$3"
}

# The archive.
name="dialectic-cli-$version-$target"
content="$work/archive/$name"
mkdir -p "$content/completions"
install -m 755 "$program" "$content/dialectic$suffix"
cp README.md LICENSE CHANGELOG.md "$content/"
runs="${PACKAGE_RUNS:-$content/dialectic$suffix}"
(
    # Completions call the program as it was called here: by its name.
    export PATH="$(dirname "$runs"):$PATH" HOME="$work"
    cd "$work"
    dialectic man --dir "$content/man" 2>/dev/null
    dialectic completions bash >"$content/completions/dialectic.bash"
    dialectic completions zsh >"$content/completions/_dialectic"
    dialectic completions fish >"$content/completions/dialectic.fish"
    dialectic completions elvish >"$content/completions/dialectic.elv"
    dialectic completions powershell >"$content/completions/dialectic.ps1"
)
archive "$work/archive" "$name" "$out/$name.tar.gz"

# The wheel, and the list that maturin puts into it of all that is compiled in.
python3 packaging/wheel.py "${wheel[0]}" "$root" "$out/$name.cyclonedx.json"
cp "${wheel[0]}" "$out/"

# The npm packages.
npm="$work/npm"
mkdir -p "$npm/main/package/bin" "$npm/platform/package/bin"
python3 packaging/npm/manifest.py main "$version" >"$npm/main/package/package.json"
install -m 755 packaging/npm/launcher.js "$npm/main/package/bin/dialectic.js"
cp README.md LICENSE "$npm/main/package/"
python3 packaging/npm/manifest.py platform "$version" "$target" >"$npm/platform/package/package.json"
install -m 755 "$program" "$npm/platform/package/bin/dialectic$suffix"
cp LICENSE "$npm/platform/package/"
archive "$npm/main" package "$out/dialectic-cli-$version.tgz"
archive "$npm/platform" package "$out/dialectic-cli-$os-$cpu-$version.tgz"

cd "$out"
sha256sum -- *.tar.gz *.tgz *.whl *.cyclonedx.json | sort -k 2 >SHA256SUMS
cat SHA256SUMS
