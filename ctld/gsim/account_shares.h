/* account_shares.h - what accounts were promised and what they got, in GPU time
 *
 * The configured tree depth first, as in the file; then accounts that only the history has, most
 * GPU time first. An account's numbers hold those of the accounts below it.
 */
#ifndef GSIM_ACCOUNT_SHARES_H
#define GSIM_ACCOUNT_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"
#include "ctld/gsim/measures.h"

struct share {
	const char *name; /* borrowed from conf and measures; "" for jobs without an account */
	uint32_t depth;
	double promised; /* of the whole; -1: not configured */
	double received; /* of the GPU time that all received */
	double gpu_hours, mean_wait_s;
	uint64_t jobs;
};

/* Caller frees. */
struct share *shares_make(const struct conf *conf, const struct measures *m, size_t *n);

#endif
