#!/bin/sh
# selftest.sh   Every rule of lint.sh finds a violation planted in a small tree,
# and finds nothing in the tree without it.
# shellcheck disable=SC2016 # backquotes below are text
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
tab=$(printf '\t')
s=/
checks="layers headers banned paths sources shape links"
failed=0
rows=0

# put FILE TEXT: TEXT (with printf escapes) is the whole of FILE.
put() {
  mkdir -p "$tree/$(dirname "$1")"
  printf '%b' "$2" >"$tree/$1"
}

clean() {
  rm -rf "${tree:?}"/* "$tree"/.ci
  put models/SOURCES.tsv "key${tab}citation${tab}place\na-key${tab}A paper${tab}section 2\nb-key${tab}A book${tab}page 3\n"
  for d in sim/base sim/store sim/cmd isa models models/arith models/tile kernels/ref kernels/check analysis/query; do
    put "$d/README.md" "# $d\n"
  done
  put sim/base/err.h "/* Errors. SRC:a-key, SRC:assumed */\nint tsr_err;\n"
  put models/model.h "/* Units. */\n#include \"sim/base/err.h\"\n"
  put models/registry.c "#include \"models/model.h\"\n#include \"models/tile/tile.h\"\n"
  put models/arith/format.h "/* Formats. */\nconst char *source = \"b-key\";\n"
  put models/tile/tile.h "/* A tile. */\n#include \"models/model.h\"\n"
  put kernels/ref/ref.h "// The oracle.\n#include \"models/arith/format.h\"\n"
  put sim/store/store.c "#include <sqlite3.h>\n/* printf(x) and strcpy(y) in prose */\nconst char *t = \"exit(1) /* \\\\\" strcpy(\";\nint f(struct s *x) { return x->free(x); }\n"
  put sim/cmd/main.c "#include \"sim/store/store.h\"\nint main(int argc, char **argv) { printf(argv[0]); exit(argc); }\n"
  put sim/store/store.h "/* The store. */\n"
  put tests/unit/tile/test_tile.c "#include \"models/tile/tile_int.h\"\n#include <sqlite3.h>\nvoid f(void) { printf(\"%s\", \"x\"); }\n"
  put README.md "[the store](sim/store/README.md) [out](https://example.org/x)\n"
  put .ci/run "[ -d ..${s}shared${s}data ] && run\n"
}

# expect CHECK TEXT NAME: lint CHECK fails and says TEXT.
expect() {
  rows=$((rows + 1))
  if out=$("$here/lint.sh" -r "$tree" "$1" 2>&1); then
    echo "not found: $3"
    failed=1
  elif ! printf '%s\n' "$out" | grep -q -F -- "$2"; then
    echo "$3: expected '$2', got:"
    printf '%s\n' "$out"
    failed=1
  fi
}

# plant CHECK NAME FILE TEXT EXPECTED
plant() {
  clean
  put "$3" "$4"
  expect "$1" "$5" "$2"
}

clean
for c in $checks; do
  rows=$((rows + 1))
  if ! out=$("$here/lint.sh" -r "$tree" "$c" 2>&1); then
    echo "lint $c finds fault with the clean tree:"
    printf '%s\n' "$out"
    failed=1
  fi
done

plant layers "base includes upward" sim/base/a.c '#include "sim/store/store.h"\n' \
  'sim/base/a.c:1: error: sim/base may not include sim/store'
plant layers "a model includes a sibling" models/tile/a.c '\n#include "models/dram/dram.h"\n' \
  'models/tile/a.c:2: error: models/tile may not include models/dram'
plant layers "a model sees the ISA" models/tile/a.c '#include "isa/isa.h"\n' 'may not include isa'
plant layers "a room of a room is bound too" models/arith/simd/a.c '#include "models/model.h"\n' \
  'models/arith may not include models'
plant layers "the oracle uses a kernel" kernels/ref/a.c '#include "kernels/check/check.h"\n' \
  'kernels/ref may not include kernels/check'
plant layers "a reader of the store starts a run" analysis/query/a.c '#include "sim/run/run.h"\n' \
  'analysis/query may not include sim/run'
plant layers "the engine names a unit" sim/engine/a.c '#include "models/tile/tile.h"\n' \
  'sim/engine may not include models/tile'
plant layers "a private header of another folder" sim/cmd/a.c '#include "sim/store/store_int.h"\n' \
  'is private to sim/store'
plant layers "a path that is not from the root" sim/cmd/a.c '# include "store.h"\n' \
  'is not a path from the repository root'
plant layers "a folder without a row" sim/other/a.c '#include "sim/base/err.h"\n' 'has no row'
plant headers "SQLite outside the store" analysis/query/a.c '#include <sqlite3.h>\n' \
  'analysis/query/a.c:1: error: <sqlite3.h> belongs to sim/store'
plant headers "SystemC outside its folder" models/tile/a.cpp '#include <systemc>\n' 'belongs to sim/systemc'
plant headers "libyaml outside its folder" sim/cmd/a.c '#include "yaml.h"\n' 'belongs to sim/config'
plant headers "JSON outside its folders" sim/store/a.c '#include <jansson.h>\n' 'belongs to workloads/exchange'
plant headers "argp outside the commands" isa/a.c '#include <argp.h>\n' 'belongs to sim/cmd'
plant banned "strcpy" isa/a.c '\nint f(void) { strcpy (a, b); }\n' 'isa/a.c:2: error: `strcpy` is banned'
plant banned "a call after a comment" isa/a.c '/* x\n */ exit(1); // y\n' 'isa/a.c:2: error: `exit`'
plant banned "a call after a string" isa/a.c 'f("a\\\\\\"b", getenv(x));\n' '`getenv` is banned here'
plant banned "a call after a character" isa/a.c "f('\"'); f('\\\\\\\\''); printf(x);\n" '`printf` is banned here'
plant banned "argv outside the commands" sim/store/a.c 'int main(int n, char **argv);\n' '`argv` is banned here'
plant banned "malloc outside mem.c" sim/base/a.c 'p = malloc(3);\n' '`malloc` is banned here'
plant banned "a clock in a model" models/tile/a.c 't = time(0);\n' '`time` is banned here'
plant banned "a libm transcendental" models/tile/a.c 't = pow(x, 2);\n' '`pow` is banned here'
plant paths "a home folder" isa/README.md "# isa\nsee ${s}home${s}me${s}x\n" 'isa/README.md:2: error: a path of one machine'
plant paths "a work folder in a test" tests/cli/run.sh "cd ${s}work${s}x\n" 'tests/cli/run.sh:1:'
plant paths "a sibling folder" tests/cli/run.sh "ls ..${s}shared\n" 'tests/cli/run.sh:1:'
plant paths "a sibling folder by name" README.md "shared${s}design\n" 'README.md:1:'
plant paths "another sibling in the CI script" .ci/run "ls ..${s}shared${s}hooks\n" '.ci/run:1:'
plant sources "a key without a row" isa/a.c '\n/* SRC:no-such-key. */\n' \
  'isa/a.c:2: error: SRC:no-such-key has no row'
plant sources "a key without a row in a preset" models/presets/a.yaml 'a: 1 # SRC:gone\n' 'SRC:gone has no row'
plant sources "a row that nothing uses" models/arith/format.h '/* Formats. */\n' \
  'models/SOURCES.tsv:3: error: nothing uses SRC:b-key'
plant sources "a row of two fields" models/SOURCES.tsv "a-key${tab}A paper\n" 'a row is key, citation and place'
plant sources "a key twice" models/SOURCES.tsv "a-key${tab}A${tab}p\na-key${tab}B${tab}q\n" \
  "models/SOURCES.tsv:2: error: key 'a-key' is already at line 1"
plant shape "a header without its comment" isa/isa.h '#ifndef X\n' 'isa/isa.h:1: error: a public header opens'
plant shape "a folder without README" sim/run/run.c 'int x;\n' 'sim/run/README.md:1: error: a folder with sources'
plant shape "a long file" isa/long.c "$(yes 'int x;\n' | head -n 1201 | tr -d '\n')" 'isa/long.c:1201: error: 1201 lines'
plant shape "a long README" isa/README.md "$(yes 'x\n' | head -n 91 | tr -d '\n')" 'a README is at most a page'
plant links "a link to nothing" isa/README.md '[x](../models/none.md)\n' 'isa/README.md:1: error: there is no "isa/../models/none.md"'

# A command that README.md leaves out, a README that has them all.
docs() {
  printf '#!/bin/sh\nprintf "usage\\n  run    simulate\\n  map    search\\n"\n' >"$tree/tessera"
  chmod +x "$tree/tessera"
  put README.md "$1"
  "$here/docs.sh" "$tree/tessera" "$tree/README.md"
}
clean
rows=$((rows + 2))
if ! out=$(docs '`tessera run` and `map`\n'); then
  echo "docs.sh finds fault with a full README: $out"
  failed=1
fi
if out=$(docs '`run`, mapping\n'); then
  echo "docs.sh does not miss a command"
  failed=1
fi

[ $failed = 0 ] && echo "lint self-test: $rows rows, all as expected"
exit $failed
