/* Speed of matrix products through matrix units, beside OpenBLAS sgemm in one run.
 *
 * usage: bench_arith [size of the square products, 2048]
 * GMAC/s, the best of some runs, normally distributed operands without specials,
 * packing included.  The first table holds the rows of which a ratio to sgemm is asked,
 * and two threads; the second every row of the table of units on a product that takes a
 * moment, block scales with the rows that have them.
 * One thread is measured by the time the thread had of the processor, on both sides
 * and in turn; two threads, and their gain, by the clock on the wall.  Other work on
 * the machine spoils the latter.
 * OpenBLAS is loaded when it is there, and chooses its kernels itself: this program
 * starts itself again without OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "models/arith/gemm.h"
#include "sim/base/mem.h"

enum { BEST_OF = 5 };

static double now_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep_best(double *best, double macs, double seconds) {
  if (macs / seconds / 1e9 > *best) *best = macs / seconds / 1e9;
}

static void *need(void *p) {
  if (p) return p;
  fprintf(stderr, "bench_arith: out of memory\n");
  exit(1);
}

static uint64_t seed = 1;

static double uniform(void) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(seed >> 11) * 0x1p-53;
}

/* Close to normal: twelve uniforms. */
static double normal(void) {
  double s = -6;
  for (int i = 0; i < 12; i++) s += uniform();
  return s;
}

static void *codes(const struct tsr_format *f, size_t n) {
  size_t bytes = tsr_gemm_code_bytes(f);
  uint8_t *p = need(tsr_mem_array(n, bytes));
  for (size_t i = 0; i < n; i++) {
    double v = f->is_int ? uniform() * (double)(UINT64_C(1) << (f->bits - 1)) : normal();
    uint64_t code = tsr_arith_from_double(f, TSR_ROUND_RNE, v, NULL);
    memcpy(p + i * bytes, &code, bytes); /* little-endian machines */
  }
  return p;
}

struct product {
  size_t n;
  void *a, *b, *c;
  struct tsr_gemm g;
};

static void product_open(struct product *p, const struct tsr_mma *u, size_t m, size_t n,
                         size_t k) {
  p->a = codes(u->a, m * k);
  p->b = codes(u->b, k * n);
  p->c = need(tsr_mem_array(m * n, tsr_gemm_code_bytes(u->acc)));
  p->g = (struct tsr_gemm){.unit = u,
                           .m = m,
                           .n = n,
                           .k = k,
                           .a = p->a,
                           .lda = k,
                           .b = p->b,
                           .ldb = n,
                           .c = p->c,
                           .ldc = n};
}

static void product_close(struct product *p) {
  tsr_mem_free(p->a);
  tsr_mem_free(p->b);
  tsr_mem_free(p->c);
}

/* GMAC/s, the best so far. */
struct rate {
  double cpu, wall;
};

static void measure(struct product *p, unsigned threads, struct rate *best) {
  double macs = (double)p->g.m * (double)p->g.n * (double)p->g.k;
  p->g.threads = threads;
  memset(p->c, 0, p->g.m * p->g.n * tsr_gemm_code_bytes(p->g.unit->acc));
  double cpu = now_s(CLOCK_THREAD_CPUTIME_ID), wall = now_s(CLOCK_MONOTONIC);
  if (tsr_gemm_run(&p->g, NULL, NULL, NULL) != TSR_OK) need(NULL);
  keep_best(&best->cpu, macs, now_s(CLOCK_THREAD_CPUTIME_ID) - cpu);
  keep_best(&best->wall, macs, now_s(CLOCK_MONOTONIC) - wall);
}

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);

static void *symbol(void *lib, const char *name) {
  return lib ? dlsym(lib, name) : NULL;
}

struct peer {
  sgemm_fn *sgemm; /* NULL: no OpenBLAS here */
  size_t n;
  float *a, *b, *c;
  double best; /* GMAC/s */
};

static void peer_open(struct peer *p, size_t n) {
  void *lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  void *gemm = symbol(lib, "cblas_sgemm"), *core = symbol(lib, "openblas_get_corename");
  void *set = symbol(lib, "openblas_set_num_threads");
  *p = (struct peer){.n = n};
  if (!gemm || !core || !set) {
    printf("peer absent: no libopenblas.so.0; no ratios\n");
    return;
  }
  char *(*corename)(void);
  void (*threads)(int);
  memcpy(&p->sgemm, &gemm, sizeof p->sgemm);
  memcpy(&corename, &core, sizeof corename);
  memcpy(&threads, &set, sizeof threads);
  threads(1);
  printf("peer: OpenBLAS sgemm on one thread, core %s\n", corename());
  p->a = need(tsr_mem_array(n * n, sizeof *p->a));
  p->b = need(tsr_mem_array(n * n, sizeof *p->b));
  p->c = need(tsr_mem_array(n * n, sizeof *p->c));
  for (size_t i = 0; i < n * n; i++) p->a[i] = (float)normal(), p->b[i] = (float)normal();
}

static void peer_run(struct peer *p) {
  enum { ROW_MAJOR = 101, NO_TRANS = 111 };
  int n = (int)p->n;
  if (!p->sgemm) return;
  double t = now_s(CLOCK_THREAD_CPUTIME_ID);
  p->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, n, n, n, 1, p->a, n, p->b, n, 0, p->c, n);
  keep_best(&p->best, (double)n * n * n, now_s(CLOCK_THREAD_CPUTIME_ID) - t);
}

static void peer_close(struct peer *p) {
  tsr_mem_free(p->a);
  tsr_mem_free(p->b);
  tsr_mem_free(p->c);
}

static const struct {
  const char *unit;
  double wanted; /* of sgemm's rate */
} asked[] = {
    {"nv_ampere_mma_m16n8k16_f32_f16_f32", 0.125},
    {"nv_ampere_mma_m16n8k16_f32_bf16_f32", 0.125},
    {"nv_hopper_wgmma_k16_f32_f16_f32", 0.125},
    {"nv_hopper_wgmma_k16_f32_bf16_f32", 0.125},
    {"nv_ada_mma_m16n8k32_f32_e4m3_f32", 0.125},
    {"nv_hopper_wgmma_k32_f32_e4m3_f32", 0.125},
    {"nv_hopper_wgmma_k32_f32_e5m2_f32", 0.125},
    {"int_s8_s8_s32_wrap", 0.6},
};

enum { ASKED = sizeof asked / sizeof asked[0] };

static void table_of_ratios(struct peer *peer, size_t n) {
  struct rate one[ASKED] = {{0, 0}}, two[ASKED] = {{0, 0}};
  for (size_t i = 0; i < ASKED; i++) {
    const struct tsr_mma *u = tsr_mma_find(asked[i].unit);
    struct product p;
    if (!u) continue;
    product_open(&p, u, n, n, n);
    for (int r = 0; r < BEST_OF; r++) {
      peer_run(peer);
      measure(&p, 1, &one[i]);
      measure(&p, 2, &two[i]);
    }
    product_close(&p);
  }
  if (peer->sgemm) printf("sgemm: %.1f GMAC/s\n", peer->best);
  printf("\n%-38s %-8s %9s %8s %7s %9s %7s\n", "unit", "path", "1 thread", "of peer", "wanted",
         "2 threads", "gain");
  for (size_t i = 0; i < ASKED; i++) {
    const struct tsr_mma *u = tsr_mma_find(asked[i].unit);
    char ratio[16] = "-";
    if (!u) continue;
    if (peer->sgemm) snprintf(ratio, sizeof ratio, "%.3f", one[i].cpu / peer->best);
    printf("%-38s %-8s %9.2f %8s %7.3f %9.2f %6.2fx\n", u->name, tsr_gemm_path(u), one[i].cpu,
           ratio, asked[i].wanted, two[i].wall, two[i].wall / one[i].wall);
  }
}

/* Scales of 1, 2 and 4 for all blocks. */
static uint8_t *scales(const struct tsr_format *f, size_t n) {
  uint8_t *p = need(tsr_mem_alloc(n));
  for (size_t i = 0; i < n; i++) {
    double v = 1 << (int)(uniform() * 3);
    p[i] = (uint8_t)tsr_arith_from_double(f, TSR_ROUND_RNE, v, NULL);
  }
  return p;
}

static void table_of_units(void) {
  printf("\n%-46s %-8s %9s %11s\n", "unit", "path", "GMAC/s", "m x n x k");
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    bool slow = strcmp(tsr_gemm_path(u), "scalar") == 0;
    size_t m = slow ? 32 : 256, n = slow ? 32 : 256, k = slow ? 512 : 1024;
    struct rate best = {0, 0};
    struct product p;
    uint8_t *sa = NULL, *sb = NULL;
    product_open(&p, u, m, n, k);
    if (u->scale) {
      size_t blocks = k / (size_t)u->scale_block;
      p.g.scale_a = sa = scales(u->scale, m * blocks);
      p.g.scale_b = sb = scales(u->scale, n * blocks);
      p.g.lds_a = blocks;
      p.g.lds_b = n;
    }
    for (int r = 0; r < BEST_OF; r++) measure(&p, 1, &best);
    printf("%-46s %-8s %9.3f %zux%zux%zu\n", u->name, tsr_gemm_path(u), best.cpu, m, n, k);
    fflush(stdout);
    product_close(&p);
    tsr_mem_free(sa);
    tsr_mem_free(sb);
  }
}

int main(int argc, char **argv) {
  if (getenv("OPENBLAS_CORETYPE") || getenv("OPENBLAS_L2_SIZE")) {
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    execv("/proc/self/exe", argv);
    fprintf(stderr, "bench_arith: can not start itself again\n");
    return 1;
  }
  unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 2048;
  if (n < 1 || n > 16384) {
    fprintf(stderr, "usage: bench_arith [size, 1 to 16384]\n");
    return 2;
  }
  struct peer peer;
  peer_open(&peer, n);
  table_of_ratios(&peer, n);
  peer_close(&peer);
  table_of_units();
  return 0;
}
