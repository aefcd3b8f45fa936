/* gpuset.h - GPUs of a host by their numbers, as the configuration has them: "0-3,6" */
#ifndef COMMON_GPUSET_H
#define COMMON_GPUSET_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"

#define GPUSET_MAX 64 /* numbers: a set is one word */

/* As bits; ERR_CONFIG: what would be right. */
int gpuset_read(const char *text, uint64_t *set, struct error *err);

/* The same as text. */
void gpuset_print(uint64_t set, struct strbuf *out);

#endif
