# Names that product code must not use, against banned.tsv (first argument).
function may(list,    n, w, i) {
  n = split(list, w, " ")
  for (i = 1; i <= n; i++)
    if (FILENAME == w[i] || index(FILENAME, w[i] "/") == 1) return 1
  return 0
}

NR == FNR {
  if ($0 ~ /^#/ || $0 == "") next
  if (split($0, f, "\t") != 4 || (f[2] != "call" && f[2] != "name")) {
    printf "%s:%d: error: a row is name, call or name, folders, reason\n", FILENAME, FNR
    bad = 1
    next
  }
  kind[f[1]] = f[2]; allowed[f[1]] = f[3]; why[f[1]] = f[4]
  next
}

FNR == 1 { in_comment = 0 }

{
  code = strip($0)
  if (code ~ /^[ \t]*#[ \t]*include/) next
  before = ""
  while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
    id = substr(code, RSTART, RLENGTH)
    before = before substr(code, 1, RSTART - 1)
    code = substr(code, RSTART + RLENGTH)
    if (id in kind && before !~ /(\.|->)[ \t]*$/ &&
        (kind[id] == "name" || code ~ /^[ \t]*\(/) && !may(allowed[id])) {
      printf "%s:%d: error: `%s` is banned here: %s\n", FILENAME, FNR, id, why[id]
      bad = 1
    }
    before = id
  }
}

END { exit bad }
