# Who includes whom, against layers.tsv; foreign headers, against headers.tsv.
# Arguments: -v mode=layers|headers, then the table, then the sources.

# The longest row of the table that holds path, or "".
function room(path,    p) {
  if (path ~ /^models\/registry\.[a-z]+$/) return "models/registry"
  p = path
  while (sub(/\/[^\/]*$/, "", p)) {
    if (p in known) return p
    if (p == "models" || p == "") return p
  }
  return ""
}

function expand(list, depth,    n, i, w, out) {
  n = split(list, w, " ")
  for (i = 1; i <= n; i++) {
    if (w[i] !~ /^@/) out = out " " w[i]
    else if (!(w[i] in group) || depth > 8) fatal(w[i] " is no group")
    else out = out expand(group[w[i]], depth + 1)
  }
  return out
}

function fatal(text) {
  printf "%s:%d: error: %s\n", FILENAME, FNR, text
  bad = 1
}

function say(text) {
  printf "%s:%d: error: %s\n", FILENAME, FNR, text
  bad = 1
}

function check_layer(name,    from, to, list, home) {
  from = room(FILENAME)
  if (!(from in known)) {
    say("folder has no row in tests/lint/layers.tsv")
    return
  }
  to = room(name)
  if (to == "" || !(to in known)) {
    say("\"" name "\" is not a path from the repository root into a folder of tests/lint/layers.tsv")
    return
  }
  # A private header serves its folder and what lies below it.
  home = name
  sub(/[^\/]*$/, "", home)
  if (name ~ /_int\.h$/ && from != "tests" && index(FILENAME, home) != 1)
    say("\"" name "\" is private to " home)
  if (from == to) return
  list = known[from]
  if (list ~ / \* / || index(list, " " to " ")) return
  say(from " may not include " to " (\"" name "\"); it may include" (list == " " ? " nothing" : list))
}

function check_header(name,    i, n, w, j, ok) {
  if (FILENAME ~ /^tests\//) return
  for (i = 1; i <= rows; i++) {
    if (index(name, header[i]) != 1) continue
    n = split(allowed[i], w, " ")
    ok = 0
    for (j = 1; j <= n; j++) if (index(FILENAME, w[j] "/") == 1) ok = 1
    if (!ok) say("<" name "> belongs to " allowed[i] ": " why[i])
  }
}

NR == FNR {
  if ($0 ~ /^#/ || $0 == "") next
  n = split($0, f, "\t")
  if (mode == "headers") {
    rows++
    header[rows] = f[1]; allowed[rows] = f[2]; why[rows] = f[3]
    if (n != 3) fatal("a row is header, folders, reason")
  } else {
    if (n != 2) fatal("a row is folder, folders")
    if (f[1] ~ /^@/) group[f[1]] = f[2]
    else known[f[1]] = expand(f[2], 0) " "
  }
  next
}

FNR == 1 { in_comment = 0 }

{
  was = in_comment
  raw = $0
  code = strip(raw)
}

!was && code ~ /^[ \t]*#[ \t]*include/ {
  name = raw
  if (match(name, /"[^"]*"/) && mode == "layers") {
    name = substr(name, RSTART + 1, RLENGTH - 2)
    if (FILENAME !~ /^tests\// || name ~ /\//) check_layer(name)
  }
  name = raw
  if (match(name, /["<][^">]*[">]/) && mode == "headers")
    check_header(substr(name, RSTART + 1, RLENGTH - 2))
}

END { exit bad }
