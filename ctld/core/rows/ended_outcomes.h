/* ended_outcomes.h - how jobs ended that have left memory
 *
 * For dependencies on such jobs: two bits a job, in pages of OUTCOME_PAGE ids, a row each. The
 * newest OUTCOME_PAGES pages are kept, those of a million ids; older ones are forgotten.
 */
#ifndef CTLD_CORE_ENDED_OUTCOMES_H
#define CTLD_CORE_ENDED_OUTCOMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "ctld/core/rows/dirty.h"

#define OUTCOME_PAGE  4096
#define OUTCOME_PAGES 256

enum job_outcome { OUTCOME_UNKNOWN, OUTCOME_WELL, OUTCOME_ILL };

struct outcomes;
struct outcome_page;

struct outcomes *outcomes_new(struct dirty *dirty);
void outcomes_free(struct outcomes *f); /* NULL is fine */

enum job_outcome outcomes_find(const struct outcomes *f, uint64_t job);
uint64_t outcomes_last(const struct outcomes *f); /* no job above it is known; 0: none is */
void outcomes_put(struct outcomes *f, uint64_t job, bool well);
uint64_t outcomes_hash(const struct outcomes *f);

int outcomes_load(struct outcomes *f, const struct row *row, struct error *err); /* pages ascend */
void outcome_page_encode(const struct outcome_page *page, struct row *row, enum row_change change);
void outcome_page_free(struct outcome_page *page); /* one that was forgotten */

#endif
