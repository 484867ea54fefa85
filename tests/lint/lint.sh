#!/bin/sh
# lint.sh [-r ROOT] CHECK...   Rules of the tree that a compiler does not check.
# Prints path:line: error: what; exit 1 when there is any, 2 on wrong usage.
#   layers   who may include whom                         (layers.tsv)
#   headers  third-party headers stay in their folder     (headers.tsv)
#   banned   calls that product code must not make        (banned.tsv)
#   paths    no path of one particular machine
#   sources  every SRC:key has a row, every row is used   (models/SOURCES.tsv)
#   shape    README of a folder, opening comment of a header, sizes
#   links    files that Markdown links to exist
# shellcheck disable=SC2317 # the checks are called by name
set -eu
LC_ALL=C
export LC_ALL

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
root=$(CDPATH='' cd -- "$here/../.." && pwd -P)
if [ "${1-}" = -r ]; then
  root=$(CDPATH='' cd -- "$2" && pwd -P)
  shift 2
fi
[ $# -gt 0 ] || { echo "usage: lint.sh [-r ROOT] CHECK..." >&2; exit 2; }
cd "$root"

max_lines=1200     # of a source file
max_readme_lines=90 # of a folder's README: a page

list=$(mktemp)
trap 'rm -f "$list"' EXIT
# The files of the tree: what git knows or would add, or everything but builds.
{
  if [ -e .git ] && git ls-files >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard
  else
    find . \( -name .git -o -path ./build \) -prune -o -type f -print | sed 's|^\./||'
  fi
} | sort -u | while IFS= read -r f; do [ ! -f "$f" ] || printf '%s\n' "$f"; done >"$list"

product='^(sim|models|isa|workloads|kernels|analysis)/'
code='\.(c|h|cpp|def)$'

files() { grep -E -- "$1" "$list" | grep -E -- "${2-.}" || true; }
# run CMD...: CMD with the files of stdin as last arguments; false when it fails.
run() { xargs -d '\n' -r -x -s 1500000 "$@" || return 1; }

check_layers() {
  files "$product|^tests/" "$code" |
    run awk -v mode=layers -f "$here/strip.awk" -f "$here/includes.awk" "$here/layers.tsv"
}

check_headers() {
  files "$product" "$code" |
    run awk -v mode=headers -f "$here/strip.awk" -f "$here/includes.awk" "$here/headers.tsv"
}

check_banned() {
  files "$product" "$code" |
    run awk -f "$here/strip.awk" -f "$here/banned.awk" "$here/banned.tsv"
}

check_paths() {
  # The patterns are put together from pieces so that they do not match here.
  s=/ sib=shared d='(data|design|reference|prototype|hooks)'
  tops="work|root|home|Users"
  bad=0
  found=$(files . '' | run grep -n -I -H -E \
    -e "(^|[^A-Za-z0-9_.~$s-])$s($tops)$s" \
    -e "(^|[^A-Za-z0-9_])$sib$s$d" \
    -e "\.\.$s$sib" || true)
  # One file may know where a reference checkout stands beside the tree.
  found=$(printf '%s\n' "$found" | grep -v -E "^\.ci/run:[0-9]+:.*\.\.$s$sib${s}data" || true)
  if [ -n "$found" ]; then
    printf '%s\n' "$found" | sed -E 's/^([^:]*:[0-9]+):[ \t]*(.*)$/\1: error: a path of one machine: \2/'
    bad=1
  fi
  return "$bad"
}

check_sources() {
  tsv=models/SOURCES.tsv
  keyed=$(files "$product|^tests/unit/" '\.(c|h|cpp|def|yaml|yml|csv|tsv|sql)$' | grep -v -x "$tsv" || true)
  if [ ! -f "$tsv" ]; then
    echo "$tsv:1: error: the table of sources is missing"
    return 1
  fi
  printf '%s\n' "$keyed" | run awk -f "$here/sources.awk" "$tsv"
}

check_shape() {
  bad=0
  for d in $(files "$product" "$code" | sed 's|/[^/]*$||' | sort -u); do
    # A room inside a folder of the layer table shares its README.
    up=$d
    while [ ! -f "$up/README.md" ] && [ "$up" != "${up%/*}" ] && ! is_room "$up"; do up=${up%/*}; done
    if [ ! -f "$up/README.md" ]; then
      echo "$d/README.md:1: error: a folder with sources has a README.md"
      bad=1
    fi
  done
  for f in $(files "$product" '/README\.md$'); do
    n=$(wc -l <"$f")
    if [ "$n" -gt "$max_readme_lines" ]; then
      echo "$f:$n: error: a README is at most a page ($max_readme_lines lines)"
      bad=1
    fi
  done
  for f in $(files "$product" '\.h$' | grep -v '_int\.h$' || true); do
    case $(head -n 1 "$f") in
    '/*'* | '//'*) ;;
    *)
      echo "$f:1: error: a public header opens with a comment: what, units, ownership, errors"
      bad=1
      ;;
    esac
  done
  for f in $(files "$product|^tests/|^[^/]*$" '(\.(c|h|cpp|def|sh|awk|cmake|md|txt)|^dev)$' | grep -v '^tests/\(data\|golden\)/.*\.txt$' || true); do
    n=$(wc -l <"$f")
    if [ "$n" -gt "$max_lines" ]; then
      echo "$f:$n: error: $n lines; a file has at most $max_lines"
      bad=1
    fi
  done
  return "$bad"
}

is_room() { cut -f 1 "$here/layers.tsv" | grep -q -x -F -- "$1"; }

check_links() {
  files . '\.md$' | run awk '
    FNR == 1 { fence = 0; dir = FILENAME; if (!sub(/[^\/]*$/, "", dir)) dir = "" }
    /^```/ { fence = !fence }
    fence { next }
    {
      rest = $0
      while (match(rest, /\]\([^)]*\)/)) {
        to = substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/#.*/, "", to)
        if (to == "" || to ~ /^[a-z]+:/) continue
        quoted = dir to
        gsub(/\047/, "\047\\\047\047", quoted)
        if (system("test -e \047" quoted "\047") != 0) {
          printf "%s:%d: error: there is no \"%s\"\n", FILENAME, FNR, dir to
          bad = 1
        }
      }
    }
    END { exit bad }'
}

rc=0
for check in "$@"; do
  case $check in
  layers | headers | banned | paths | sources | shape | links)
    if "check_$check"; then
      echo "lint $check: $(wc -l <"$list") files, nothing found"
    else
      rc=1
    fi
    ;;
  *)
    echo "lint.sh: error: no check '$check'" >&2
    exit 2
    ;;
  esac
done
exit $rc
