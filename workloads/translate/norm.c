#include "workloads/translate/translate_int.h"

const struct tsri_tr_row tsri_tr_norm_rows[] = {{NULL, NULL, NULL}};
