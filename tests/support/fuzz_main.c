/* Replays a corpus without libFuzzer: every file of the folders named, and the
 * files named, once through LLVMFuzzerTestOneInput.  A crash or a sanitizer is
 * the failure; an empty corpus is one as well. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return -1;
  size_t cap = 1u << 20;
  uint8_t *data = malloc(cap);
  size_t n = data ? fread(data, 1, cap, f) : 0;
  fclose(f);
  if (!data) return -1;
  uint8_t *exact = malloc(n ? n : 1); /* so that a read past the end is seen */
  if (exact) {
    for (size_t i = 0; i < n; i++) exact[i] = data[i];
    LLVMFuzzerTestOneInput(exact, n);
  }
  free(exact);
  free(data);
  return exact ? 1 : -1;
}

static int replay(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0) return -1;
  if (!S_ISDIR(st.st_mode)) return replay_file(path);
  DIR *d = opendir(path);
  if (!d) return -1;
  int total = 0;
  for (struct dirent *e; total >= 0 && (e = readdir(d));) {
    char full[4096];
    if (e->d_name[0] == '.') continue;
    snprintf(full, sizeof full, "%s/%s", path, e->d_name);
    int n = replay(full);
    total = n < 0 ? n : total + n;
  }
  closedir(d);
  return total;
}

int main(int argc, char **argv) {
  int total = 0;
  for (int i = 1; i < argc; i++) {
    int n = replay(argv[i]);
    if (n <= 0) {
      fprintf(stderr, "%s: nothing to replay\n", argv[i]);
      return 1;
    }
    total += n;
  }
  printf("%d inputs replayed\n", total);
  return total > 0 ? 0 : 1;
}
