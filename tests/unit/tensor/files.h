/* Files of these tests: a folder of their own, bytes in and out, and allocations that fail. */
#ifndef TSR_TESTS_UNIT_TENSOR_FILES_H
#define TSR_TESTS_UNIT_TENSOR_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/net/array.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

int files_enter(void **state); /* makes a folder and goes there */
int files_leave(void **state);
void files_put(const char *path, const void *data, size_t n);

/* The first message holds `says`, and there is no more than one. */
void files_message(struct tsr_err *err, const char *says);

/* Runs `act` with the 1st, 2nd, … allocation failing until it passes; before that it must give
 * TSR_NOMEM. */
typedef enum tsr_status files_act(void *arg, struct tsr_err *err);
void files_starve(files_act *act, void *arg);

#endif
