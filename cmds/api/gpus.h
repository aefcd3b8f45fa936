/* gpus.h - amounts of GPUs as people write them
 *
 *	"4", "any:4"      four of any type (on one node)
 *	"h100:2"          two of that type; a MIG profile is a type: "1g.10gb:1"
 *	"h100:2|l40s:4"   alternatives, best liked first
 *	"0"               none
 */
#ifndef CMDS_GPUS_H
#define CMDS_GPUS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

#define GPUS_ALTERNATIVES_MAX 8 /* what the controller takes */
#define GPUS_TYPE_MAX         64

struct gpus {
	struct {
		char type[GPUS_TYPE_MAX + 1]; /* "" is any */
		uint32_t count;
	} v[GPUS_ALTERNATIVES_MAX];
	size_t n; /* 0: no GPU */
};

/* ERR_USAGE; the text says what would be right, the caller puts the value before it. On failure
 * *out is untouched. */
int gpus_parse(const char *text, struct gpus *out, struct error *err);

/* What sbatch's --gres asks for, "gpu[:TYPE][:COUNT]" ("gres:" may stand before it), "mps:PERCENT"
 * or "none", as an amount of GPUs of each node in `out`; *milli: thousandths of each of them, 0 for
 * all of it. Other generic resources there are none: ERR_USAGE. */
int gpus_from_gres(const char *text, char *out, size_t size, uint32_t *milli, struct error *err);

/* "h100:2|any:4", cut to fit; "" for none. Returns `buf`. */
char *gpus_format(char *buf, size_t size, Gpusched__GpuCount *const *v, size_t n);

#endif
