# Arguments: models/SOURCES.tsv, then the files that may carry SRC:key.
# Every key used has a row, every row is used, rows are well formed.
function say(file, line, text) {
  printf "%s:%d: error: %s\n", file, line, text
  bad = 1
}

FILENAME == ARGV[1] {
  if ($0 ~ /^#/) next
  if (FNR == 1 && $0 ~ /^key\t/) next
  n = split($0, f, "\t")
  if (n != 3 || f[1] == "" || f[2] == "" || f[3] == "")
    say(FILENAME, FNR, "a row is key, citation and place, with one tab between them")
  if (f[1] !~ /^[a-z0-9][a-z0-9_.-]*$/) {
    say(FILENAME, FNR, "a key is lower-case letters, digits, - _ .; got '" f[1] "'")
    next
  }
  if (f[1] == "assumed") say(FILENAME, FNR, "`assumed` means that there is no source")
  if (f[1] in row) say(FILENAME, FNR, "key '" f[1] "' is already at line " row[f[1]])
  else row[f[1]] = FNR
  next
}

# A parameter row names its source without the prefix, as a string of its own.
{
  rest = $0
  while (match(rest, /SRC:[A-Za-z0-9][A-Za-z0-9_.-]*/)) {
    key = substr(rest, RSTART + 4, RLENGTH - 4)
    rest = substr(rest, RSTART + RLENGTH)
    sub(/[.-]+$/, "", key)
    used[key] = 1
    if (key != "assumed" && !(key in row))
      say(FILENAME, FNR, "SRC:" key " has no row in models/SOURCES.tsv")
  }
  rest = $0
  while (match(rest, /"[a-z0-9][a-z0-9_.-]*"/)) {
    used[substr(rest, RSTART + 1, RLENGTH - 2)] = 1
    rest = substr(rest, RSTART + RLENGTH)
  }
}

END {
  for (key in row)
    if (!(key in used)) say(ARGV[1], row[key], "nothing uses SRC:" key)
  exit bad
}
