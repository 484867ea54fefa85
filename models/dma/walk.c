#include "models/dma/walk.h"

/* First index j >= 0 with start + j*step >= 0, and how many stay below size. */
static void clip(int64_t start, uint64_t extent, uint64_t step, uint64_t size, uint64_t *first,
                 uint64_t *count) {
  uint64_t j0 = start < 0 ? tsr_ceil_div(0 - (uint64_t)start, step) : 0;
  uint64_t at = (uint64_t)start + j0 * step; /* in [0, 2^64) by choice of j0 */
  *count = 0;
  *first = at;
  if (j0 >= extent || at >= size) return;
  *count = tsr_min_u64(extent - j0, tsr_ceil_div(size - at, step));
}

static void enter_run(struct tsri_walk *w, bool fresh) {
  uint64_t first = w->run_addr / w->burst_bytes;
  if (!fresh && first == w->last) first++; /* shared with the run before */
  w->last = (w->run_addr + w->run_bytes - 1) / w->burst_bytes;
  w->next = first;
}

/* The next listed place inside the tensor, from number w->at on. */
static bool find_place(struct tsri_walk *w) {
  while (w->at < w->places && w->place[w->at] >= w->place_size) w->at++;
  if (w->at == w->places) return false;
  w->run_addr = w->base + w->place[w->at] * w->place_bytes;
  return true;
}

/* Dimension 0 becomes the list; returns how many of it lie in the tensor. */
static uint64_t list_places(struct tsri_walk *w, const struct tsr_box *box,
                            const uint64_t *index) {
  uint64_t inside = 0;
  w->place = index;
  w->places = box->extent[0];
  w->place_size = box->size[0];
  w->place_bytes = box->stride_bytes[0];
  for (uint64_t i = 0; i < w->places; i++) inside += index[i] < w->place_size;
  return inside;
}

void tsri_walk_init(struct tsri_walk *w, const struct tsr_box *box, const uint64_t *index,
                    uint64_t burst_bytes) {
  *w = (struct tsri_walk){.burst_bytes = burst_bytes, .run_bytes = box->elem_bytes};
  uint64_t addr = box->base_bytes, elems = 1;
  uint64_t count[4], stride[4];
  uint32_t outer = index ? 1 : 0, rank = box->rank;
  if (index) elems = list_places(w, box, index);
  for (uint32_t i = outer; i < rank; i++) {
    uint64_t first;
    clip(box->start[i], box->extent[i], box->step[i], box->size[i], &first, &count[i]);
    stride[i] = box->stride_bytes[i] * box->step[i];
    addr += first * box->stride_bytes[i];
    elems *= count[i];
  }
  w->useful_bytes = elems * box->elem_bytes;
  w->empty = w->end = elems == 0;
  if (w->empty) return;
  /* Merge from the innermost dimension outwards into the run. */
  while (rank > outer && (count[rank - 1] == 1 || stride[rank - 1] == w->run_bytes)) {
    w->run_bytes *= count[rank - 1];
    rank--;
  }
  for (uint32_t i = outer; i < rank; i++) {
    if (count[i] == 1) continue;
    w->count[w->rank] = count[i];
    w->stride[w->rank] = stride[i];
    w->rank++;
  }
  w->base = w->run_addr = addr;
  if (index) (void)find_place(w);
  enter_run(w, true);
}

static bool next_run(struct tsri_walk *w) {
  for (uint32_t i = w->rank; i-- > 0;) {
    w->run_addr += w->stride[i];
    if (++w->index[i] < w->count[i]) return true;
    w->run_addr -= w->stride[i] * w->count[i];
    w->index[i] = 0;
  }
  w->at++;
  return w->place && find_place(w);
}

bool tsri_walk_next(struct tsri_walk *w, uint64_t *addr) {
  while (!w->end && w->next > w->last) {
    if (next_run(w))
      enter_run(w, false);
    else
      w->end = true;
  }
  if (w->end) return false;
  *addr = w->next++ * w->burst_bytes;
  return true;
}

void tsri_walk_visit(const struct tsri_walk *w, struct tsr_visit *v) {
  tsr_visit_value(v, w->rank);
  for (uint32_t i = 0; i < w->rank; i++) {
    tsr_visit_value(v, w->count[i]);
    tsr_visit_value(v, w->stride[i]);
    tsr_visit_value(v, w->index[i]);
  }
  tsr_visit_value(v, w->run_bytes);
  tsr_visit_address(v, w->run_addr);
  tsr_visit_value(v, w->last - w->next);
  tsr_visit_value(v, w->useful_bytes);
  tsr_visit_value(v, w->end);
}
