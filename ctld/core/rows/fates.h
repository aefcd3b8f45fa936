/* fates.h - how jobs ended that have left memory
 *
 * For dependencies on such jobs: two bits a job, in pages of FATE_PAGE ids, a row each. The newest
 * FATE_PAGES pages are kept, those of a million ids; older ones are forgotten.
 */
#ifndef CTLD_CORE_FATES_H
#define CTLD_CORE_FATES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "ctld/core/rows/dirty.h"

#define FATE_PAGE  4096
#define FATE_PAGES 256

enum fate { FATE_UNKNOWN, FATE_WELL, FATE_ILL };

struct fates;
struct fate_page;

struct fates *fates_new(struct dirty *dirty);
void fates_free(struct fates *f); /* NULL is fine */

enum fate fates_find(const struct fates *f, uint64_t job);
uint64_t fates_last(const struct fates *f); /* no job above it is known; 0: none is */
void fates_put(struct fates *f, uint64_t job, bool well);
uint64_t fates_hash(const struct fates *f);

int fates_load(struct fates *f, const struct row *row, struct error *err); /* pages ascend */
void fate_page_encode(const struct fate_page *page, struct row *row, enum row_change change);
void fate_page_free(struct fate_page *page); /* one that was forgotten */

#endif
