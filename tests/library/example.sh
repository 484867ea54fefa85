#!/bin/sh
# example.sh BUILD MANUAL CC CXX SANITIZE: installs the library of BUILD into a folder of
# its own, compiles the manual's example against the shared and the static library
# and compares what it prints with the manual.
set -eu
build=$1 manual=$2 cc=$3 cxx=$4 sanitize=$5
dir=$(mktemp -d "${TMPDIR:-/tmp}/tessera-library-XXXXXX")
trap 'rm -rf "$dir"' EXIT
cmake --install "$build" --component library --prefix "$dir/prefix" >"$dir/log" ||
  { cat "$dir/log"; exit 1; }

# part NAME: what stands in the fenced block between the marks of NAME.
part() {
  awk -v name="$1" '
    $0 == "<!-- " name ": begin -->" { on = 1; next }
    $0 == "<!-- " name ": end -->" { on = 0 }
    on && !/^```/' "$manual"
}
part example >"$dir/example.c"
part output >"$dir/expected"
[ -s "$dir/example.c" ] && [ -s "$dir/expected" ] || { echo "$manual: no example"; exit 1; }

pc=$(find "$dir/prefix" -name tessera.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
flags="-Wall -Wextra -Wpedantic -Werror ${sanitize:+-fsanitize=$sanitize}"
libdir=$(pkg-config --variable=libdir tessera)

# shellcheck disable=SC2086,SC2046 # lists of words
{
  "$cc" -std=c17 $flags "$dir/example.c" $(pkg-config --cflags --libs tessera) -o "$dir/shared"
  "$cc" -std=c17 $flags "$dir/example.c" $(pkg-config --cflags tessera) "$libdir/libtessera.a" \
    -pthread -o "$dir/static"
  printf '#include <tessera/arith.h>\nint main() { return tsr_format_find("fp16") == 0; }\n' \
    >"$dir/plus.cpp"
  "$cxx" -std=c++17 ${sanitize:+-fsanitize=$sanitize} "$dir/plus.cpp" \
    $(pkg-config --cflags --libs tessera) -o "$dir/plus"
}
LD_LIBRARY_PATH=$libdir "$dir/shared" | diff "$dir/expected" -
"$dir/static" | diff "$dir/expected" -
LD_LIBRARY_PATH=$libdir "$dir/plus"

# The library stands on libc alone.
needed=$(LC_ALL=C objdump -p "$libdir/libtessera.so" | awk '$1 == "NEEDED" { print $2 }')
for lib in $needed; do
  case $lib in
  libc.so.* | libm.so.* | libasan.so.* | libubsan.so.* | ld-linux*) ;;
  *) echo "libtessera.so needs $lib"; exit 1 ;;
  esac
done
echo "library example: shared, static, C++"
