// The vector files of a folder through the GPU's own mma.sync (tests/silicon/README.md).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <string>
#include <vector>

#include <cuda_runtime.h>

extern "C" {
#include "kernels/check/vectors.h"
#include "models/arith/mma.h"
}

enum { M = 16, N = 8, LANES = 32, SKIP = 77 };

// One instruction: formats, its K, the shape word of the models' names.
struct Instr {
  const char *a, *acc, *name;
  int k;
};
static const Instr instrs[] = {
    {"fp16", "fp32", "m16n8k16_f32_f16_f32", 16}, {"fp16", "fp32", "m16n8k8_f32_f16_f32", 8},
    {"fp16", "fp16", "m16n8k16_f16_f16_f16", 16}, {"fp16", "fp16", "m16n8k8_f16_f16_f16", 8},
    {"bf16", "fp32", "m16n8k16_f32_bf16_f32", 16}, {"bf16", "fp32", "m16n8k8_f32_bf16_f32", 8},
    {"tf32", "fp32", "m16n8k8_f32_tf32_f32", 8},  {"tf32", "fp32", "m16n8k4_f32_tf32_f32", 4}};
enum { F16_16, F16_8, H16_16, H16_8, BF16_16, BF16_8, TF32_8, TF32_4, INSTRS };

#define MMA_16(shape, types, acc)                                                              \
  asm volatile("mma.sync.aligned." shape ".row.col." types                                     \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"                      \
               : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define MMA_8(shape, types, acc)                                                               \
  asm volatile("mma.sync.aligned." shape ".row.col." types                                     \
               " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};\n"                               \
               : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])                        \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]))

// One warp: C (16 x 8 codes) becomes D after k products; A is 16 x k, B k x 8.  The
// places of a lane's elements are those of the PTX manual's figures.
__global__ void run(int instr, int step, int k, const uint32_t *A, const uint32_t *B,
                    uint32_t *C) {
  int lane = threadIdx.x, g = lane >> 2, t = lane & 3;
  uint32_t c[4] = {C[g * N + 2 * t], C[g * N + 2 * t + 1], C[(g + 8) * N + 2 * t],
                   C[(g + 8) * N + 2 * t + 1]};
  uint32_t h[2] = {c[0] | c[1] << 16, c[2] | c[3] << 16};
  bool wide = instr == TF32_8 || instr == TF32_4;
  for (int at = 0; at < k; at += step) {
    uint32_t a[4] = {0, 0, 0, 0}, b[2] = {0, 0};
    for (int i = 0; i < 4; i++) { // register i of A: rows g, g + 8; then the further k
      int row = g + (i & 1) * 8, half = i >> 1;
      if (wide) {
        if (half * 4 < step) a[i] = A[row * k + at + t + half * 4];
      } else if (half * 8 < step) {
        const uint32_t *p = A + row * k + at + 2 * t + half * 8;
        a[i] = p[0] | p[1] << 16;
      }
    }
    for (int i = 0; i < 2; i++) {
      if (wide) {
        if (i * 4 < step) b[i] = B[(at + t + i * 4) * N + g];
      } else if (i * 8 < step) {
        const uint32_t *p = B + (at + 2 * t + i * 8) * N + g;
        b[i] = p[0] | p[N] << 16;
      }
    }
    switch (instr) {
    case F16_16: MMA_16("m16n8k16", "f32.f16.f16.f32", c); break;
    case F16_8: MMA_8("m16n8k8", "f32.f16.f16.f32", c); break;
    case BF16_16: MMA_16("m16n8k16", "f32.bf16.bf16.f32", c); break;
    case BF16_8: MMA_8("m16n8k8", "f32.bf16.bf16.f32", c); break;
    case TF32_8: MMA_16("m16n8k8", "f32.tf32.tf32.f32", c); break;
    case TF32_4: MMA_8("m16n8k4", "f32.tf32.tf32.f32", c); break;
    case H16_16:
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, "
                   "{%2,%3,%4,%5}, {%6,%7}, {%0,%1};\n"
                   : "+r"(h[0]), "+r"(h[1])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      break;
    case H16_8:
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, "
                   "{%0,%1};\n"
                   : "+r"(h[0]), "+r"(h[1])
                   : "r"(a[0]), "r"(a[1]), "r"(b[0]));
      break;
    }
  }
  if (instr == H16_16 || instr == H16_8) {
    c[0] = h[0] & 0xffff, c[1] = h[0] >> 16, c[2] = h[1] & 0xffff, c[3] = h[1] >> 16;
  }
  C[g * N + 2 * t] = c[0], C[g * N + 2 * t + 1] = c[1];
  C[(g + 8) * N + 2 * t] = c[2], C[(g + 8) * N + 2 * t + 1] = c[3];
}

static void must(cudaError_t e, const char *what) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  exit(1);
}

static const char *generation(const cudaDeviceProp &p) {
  if (p.major == 8) return p.minor == 9 ? "ada" : "ampere";
  if (p.major == 9) return "hopper";
  if (p.major == 10) return "blackwell";
  return p.major == 12 ? "rtxblackwell" : nullptr;
}

static bool is_nan(const tsr_format *f, uint64_t code) {
  return tsr_arith_decode(f, code).cls == TSR_NUM_NAN;
}
static bool same(const tsr_format *f, uint64_t x, uint64_t y) {
  return x == y || (is_nan(f, x) && is_nan(f, y));
}

struct Totals { uint64_t files, elements, contested, file_differs, model_differs; };

// One tile of at most 16 x 8 through the GPU.
static std::vector<uint32_t> gpu_tile(int instr, int step, const tsr_vectors &v, int k) {
  std::vector<uint32_t> a((size_t)M * k), b((size_t)k * N), c(M * N);
  for (size_t i = 0; i < v.m; i++)
    for (size_t l = 0; l < v.k; l++) a[i * k + l] = (uint32_t)v.row[TSR_VECTORS_A][i * v.k + l];
  for (size_t l = 0; l < v.k; l++)
    for (size_t j = 0; j < v.n; j++) b[l * N + j] = (uint32_t)v.row[TSR_VECTORS_B][l * v.n + j];
  for (size_t i = 0; i < v.m; i++)
    for (size_t j = 0; j < v.n; j++) c[i * N + j] = (uint32_t)v.row[TSR_VECTORS_C][i * v.n + j];
  uint32_t *da, *db, *dc;
  must(cudaMalloc(&da, a.size() * 4), "cudaMalloc");
  must(cudaMalloc(&db, b.size() * 4), "cudaMalloc");
  must(cudaMalloc(&dc, c.size() * 4), "cudaMalloc");
  must(cudaMemcpy(da, a.data(), a.size() * 4, cudaMemcpyHostToDevice), "copy");
  must(cudaMemcpy(db, b.data(), b.size() * 4, cudaMemcpyHostToDevice), "copy");
  must(cudaMemcpy(dc, c.data(), c.size() * 4, cudaMemcpyHostToDevice), "copy");
  run<<<1, LANES>>>(instr, step, k, da, db, dc);
  must(cudaGetLastError(), "launch");
  must(cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost), "copy");
  cudaFree(da), cudaFree(db), cudaFree(dc);
  return c;
}

static uint64_t model_of(const tsr_mma *u, const tsr_vectors &v, size_t i, size_t j) {
  std::vector<uint64_t> col(v.k);
  for (size_t l = 0; l < v.k; l++) col[l] = v.row[TSR_VECTORS_B][l * v.n + j];
  return tsr_mma_dot(u, v.row[TSR_VECTORS_A] + i * v.k, col.data(), v.k,
                     v.row[TSR_VECTORS_C][i * v.n + j], nullptr);
}

static void check_tile(int instr, const tsr_mma *u, bool own_file, const tsr_vectors &v,
                       Totals *t) {
  int step = instrs[instr].k, k = (int)((v.k + step - 1) / step * step);
  std::vector<uint32_t> d = gpu_tile(instr, step, v, k);
  for (size_t i = 0; i < v.m; i++)
    for (size_t j = 0; j < v.n; j++) {
      size_t at = i * v.n + j;
      uint64_t gpu = d[i * N + j], file = v.row[TSR_VECTORS_D][at], model = model_of(u, v, i, j);
      t->elements++;
      if (v.count[TSR_VECTORS_X] && v.row[TSR_VECTORS_X][at]) {
        t->contested++;
        continue;
      }
      bool bad_file = own_file && !same(v.d, gpu, file), bad_model = !same(u->acc, gpu, model);
      if ((bad_file || bad_model) && t->file_differs + t->model_differs < 20)
        printf("%s tile %s (%zu, %zu): GPU %llx, %s %llx, file %llx\n", v.path, v.number, i, j,
               (unsigned long long)gpu, u->name, (unsigned long long)model,
               (unsigned long long)file);
      t->file_differs += bad_file;
      t->model_differs += bad_model;
    }
}

// The instruction of a file: its formats, and its own K where it names one.
static int instr_of(const tsr_vectors &v) {
  char word[64];
  int k = tsr_vectors_key(&v, "instr_K", word, sizeof word) ? atoi(word) : 0;
  for (int i = 0; i < INSTRS; i++)
    if (!strcmp(v.a->name, instrs[i].a) && v.b == v.a && !strcmp(v.d->name, instrs[i].acc) &&
        !strcmp(v.c->name, instrs[i].acc) && (!k || k == instrs[i].k))
      return i;
  return -1;
}

static void check_file(const std::string &path, const char *gen, Totals *t) {
  tsr_vectors v;
  tsr_err err = TSR_ERR_INIT;
  char name[128], model[TSR_MMA_TEXT_MAX] = "", alias[4096] = "";
  if (tsr_vectors_open(&v, path.c_str(), &err) != TSR_OK) {
    tsr_err_fini(&err);
    return;
  }
  int instr = v.m <= M && v.n <= N && !v.scale && !v.is_int && !v.n_modes ? instr_of(v) : -1;
  if (instr >= 0) {
    snprintf(name, sizeof name, "nv_%s_mma_%s", gen, instrs[instr].name);
    const tsr_mma *u = tsr_mma_find(name);
    (void)tsr_vectors_key(&v, "model", model, sizeof model);
    (void)tsr_vectors_key(&v, "alias", alias, sizeof alias);
    bool own = !strcmp(model, name) || strstr(alias, name);
    bool more = true;
    if (u) t->files++;
    while (u && tsr_vectors_next(&v, &more, &err) == TSR_OK && more)
      check_tile(instr, u, own, v, t);
  }
  tsr_err_fini(&err);
  tsr_vectors_close(&v);
}

int main(int argc, char **argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    printf("no GPU: skipped\n");
    return SKIP;
  }
  cudaDeviceProp p;
  must(cudaGetDeviceProperties(&p, 0), "properties");
  const char *gen = generation(p);
  if (!gen) {
    printf("%s (%d.%d): no mma.sync of the shapes tried: skipped\n", p.name, p.major, p.minor);
    return SKIP;
  }
  if (argc != 2) {
    fprintf(stderr, "usage: silicon FOLDER\n");
    return 2;
  }
  Totals t = {};
  DIR *dir = opendir(argv[1]);
  if (!dir) {
    perror(argv[1]);
    return 3;
  }
  while (const dirent *e = readdir(dir)) {
    std::string file = e->d_name;
    if (file.size() > 4 && file.substr(file.size() - 4) == ".txt")
      check_file(std::string(argv[1]) + "/" + file, gen, &t);
  }
  closedir(dir);
  printf("%s (%d.%d, %s): %llu files, %llu elements, %llu contested; the GPU differs from its "
         "own files in %llu and from its model in %llu\n",
         p.name, p.major, p.minor, gen, (unsigned long long)t.files,
         (unsigned long long)t.elements, (unsigned long long)t.contested,
         (unsigned long long)t.file_differs, (unsigned long long)t.model_differs);
  if (!t.elements) {
    printf("no vectors for this GPU: skipped\n");
    return SKIP;
  }
  return t.file_differs || t.model_differs ? 1 : 0;
}
