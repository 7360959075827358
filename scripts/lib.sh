# Sourced by scripts/verdict, scripts/test, scripts/judge-change and .ci/run: steps, packages, building. Needs bash and
# coreutils only.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build/logs

say() { printf '== %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 6; }

# quietly NAME COMMAND...: runs it with its output in build/logs/NAME.log; shows the end of that if it fails.
quietly() {
  local log=$logs/$1.log; shift
  mkdir -p "$logs"
  "$@" >"$log" 2>&1 </dev/null && return
  tail -n 60 "$log" >&2
  die "failed: $* (whole output: ${log#"$root"/})"
}

# wanted_packages LIST...: the names in scripts/packages/LIST.txt, one a line, sorted.
wanted_packages() {
  local list
  for list in "$@"; do
    sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$root/scripts/packages/$list.txt"
  done | LC_ALL=C sort -u
}

# missing_packages LIST...: those of them that are not installed.
missing_packages() {
  local wanted
  mapfile -t wanted < <(wanted_packages "$@")
  LC_ALL=C comm -23 <(printf '%s\n' "${wanted[@]}") <(
    dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
      sed -n 's/^installed //p' | LC_ALL=C sort -u)
}

# install_packages LIST...: installs what is missing of them, as root or through sudo.
install_packages() {
  local missing as_root=()
  if ! { command -v dpkg-query && command -v apt-get; } >/dev/null; then
    die "no apt-get here: these scripts install packages of Debian 12. Install what stands in" \
        "$(printf 'scripts/packages/%s.txt ' "$@")under your system's names, then say --no-install."
  fi
  mapfile -t missing < <(missing_packages "$@")
  if [ ${#missing[@]} = 0 ]; then
    say "packages: all there"
    return
  fi
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "not root and no sudo. As root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "packages: installing ${#missing[@]} (${missing[*]})"
  quietly apt-update "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update
  quietly apt-install "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qy -o Dpkg::Use-Pty=0 --no-install-recommends install "${missing[@]}"
}

# build PRESET TARGET...: configures build/PRESET and builds these targets, or all, with as many jobs as there are CPUs.
build() {
  local preset=$1 options=(); shift
  if command -v ccache >/dev/null; then
    options=(-D CMAKE_CXX_COMPILER_LAUNCHER=ccache)
    export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1  # a clone elsewhere finds the same objects
  fi
  say "configure: cmake --preset $preset"
  quietly "configure-$preset" cmake -S "$root" --preset "$preset" "${options[@]}"
  say "build: cmake --build --preset $preset${*:+ --target $*}"
  (cd "$root" && quietly "build-$preset" cmake --build --preset "$preset" -j "$(nproc)" ${*:+--target "$@"})
}

# run_tests PRESET OPTION-OF-CTEST...: prints what fails and the summary, not the tests that pass or are skipped.
# On a shared CI machine a test may fail once, by a time-out of its own; ctest says which were run again.
run_tests() {
  local preset=$1 log=$logs/test-$1.log result=0; shift
  mkdir -p "$logs"
  say "test: ctest --preset $preset${*:+ $*}"
  (cd "$root" && ctest --preset "$preset" -j "$(nproc)" ${CI:+--repeat until-pass:2} "$@") >"$log" 2>&1 </dev/null || result=$?
  local skipped
  skipped=$(grep -cE '\*\*\*Skipped' "$log" || true)
  [ "$skipped" = 0 ] || say "$skipped tests skipped; reasons in build/$preset/Testing/Temporary/LastTest.log"
  sed -E -e '/^ *Start +[0-9]+: |^Test project |^Preset |^$/d' \
         -e '/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .*( Passed |\*\*\*Skipped)/d' \
         -e '/^The following tests did not run:/,/^[^\t]/{/^\t|^The following tests did/d}' "$log"
  return "$result"
}
