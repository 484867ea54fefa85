#!/bin/sh
# docs.sh TESSERA README   Every command of `tessera help` is in README, in code
# marks. The list is what the binary prints: two blanks, the name, its line.
set -eu
bin=$1
readme=$2
names=$("$bin" help | awk '/^  [a-z][a-z-]*( |$)/ { print $1 }' | sort -u)
[ -n "$names" ] || { echo "$bin: error: \`help\` lists no command"; exit 1; }
bad=0
for name in $names; do
  # `name`, `name …`, `tessera name …`
  if ! grep -q -E "\`(tessera )?${name}[\` ]" "$readme"; then
    echo "$readme:1: error: the command '$name' is not mentioned"
    bad=1
  fi
done
[ $bad = 0 ] && echo "lint docs: $(echo "$names" | wc -l) commands, all mentioned"
exit $bad
