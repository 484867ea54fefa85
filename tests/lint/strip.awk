# strip(line): the line without comments, its literals emptied. Block comments
# span lines through in_comment, which the caller clears at each file's start.
function strip(s,    out, t, i, stop) {
  out = ""
  while (s != "") {
    if (in_comment) {
      i = index(s, "*/")
      if (i == 0) return out
      s = substr(s, i + 2)
      out = out " "
      in_comment = 0
      continue
    }
    if (!match(s, /\/\*|\/\/|["']/)) return out s
    t = substr(s, RSTART, RLENGTH)
    out = out substr(s, 1, RSTART - 1)
    s = substr(s, RSTART + RLENGTH)
    if (t == "//") return out
    if (t == "/*") {
      in_comment = 1
      continue
    }
    stop = t == "\"" ? "[\\\\\"]" : "[\\\\']"
    while (match(s, stop)) {
      i = substr(s, RSTART, 1) == "\\" ? 2 : 1
      s = substr(s, RSTART + i)
      if (i == 1) break
    }
    out = out t t
  }
  return out
}
