/* label.h - labels of jobs: "model=bge-large"
 *
 * What clients take and the controller accepts is the same. Pure.
 */
#ifndef COMMON_LABEL_H
#define COMMON_LABEL_H

#include <stddef.h>

#include "common/base/error.h"

#define LABELS_MAX      32 /* of one job */
#define LABEL_KEY_MAX   63
#define LABEL_VALUE_MAX 255

/* A key of `len` bytes, behind which the text may go on: 1 to LABEL_KEY_MAX letters, digits, '.',
 * '_', '-' and '/'. ERR_USAGE. */
int label_key_check(const char *key, size_t len, struct error *err);

#endif
