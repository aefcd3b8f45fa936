/* ended_outcomes.c - see ended_outcomes.h
 *
 * Pages are an ascending array: the newest ones are asked for most, and inserting anywhere else
 * happens only for a restored database or an old job that ended late. Putting a page beyond the
 * bound drops the oldest one with its row; a job older than all that is kept is not put at all, or
 * the page of a newer one would go for it.
 */
#include "ctld/core/rows/ended_outcomes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"

#define PAGE_BYTES (OUTCOME_PAGE / 4)

struct outcome_page {
	struct mark mark;
	uint64_t number;
	uint8_t bits[PAGE_BYTES];
};

struct outcomes {
	struct dirty *dirty;
	struct outcome_page *v[OUTCOME_PAGES + 1]; /* ascending */
	size_t n;
};

struct outcomes *outcomes_new(struct dirty *dirty)
{
	struct outcomes *f = xcalloc(1, sizeof(*f));

	f->dirty = dirty;
	return f;
}

void outcomes_free(struct outcomes *f)
{
	if (!f)
		return;
	while (f->n)
		outcome_page_free(f->v[--f->n]);
	free(f);
}

void outcome_page_free(struct outcome_page *page)
{
	free(page);
}

/* Where the page is, or would be. */
static size_t place_of(const struct outcomes *f, uint64_t number)
{
	size_t at;

	BISECT(at, f->n, f->v[at]->number < number);
	return at;
}

static struct outcome_page *find(const struct outcomes *f, uint64_t number)
{
	size_t at = place_of(f, number);

	return at < f->n && f->v[at]->number == number ? f->v[at] : NULL;
}

/* Inserted in order; usually at the end. */
static struct outcome_page *add(struct outcomes *f, uint64_t number)
{
	struct outcome_page *page = xcalloc(1, sizeof(*page));
	size_t at = place_of(f, number);

	page->mark.table = TABLE_FATE;
	page->number = number;
	memmove(&f->v[at + 1], &f->v[at], (f->n - at) * sizeof(f->v[0]));
	f->v[at] = page;
	f->n++;
	return page;
}

/* The highest id with an outcome, by which a restored state knows how far it goes. */
uint64_t outcomes_last(const struct outcomes *f)
{
	const struct outcome_page *page = f->n ? f->v[f->n - 1] : NULL;
	uint32_t at = OUTCOME_PAGE;

	while (page && at--) {
		if (page->bits[at / 4] >> at % 4 * 2 & 3)
			return page->number * OUTCOME_PAGE + at;
	}
	return 0;
}

enum job_outcome outcomes_find(const struct outcomes *f, uint64_t job)
{
	const struct outcome_page *page = find(f, job / OUTCOME_PAGE);
	uint32_t at = (uint32_t)(job % OUTCOME_PAGE);

	return page ? (enum job_outcome)(page->bits[at / 4] >> at % 4 * 2 & 3) : OUTCOME_UNKNOWN;
}

void outcomes_put(struct outcomes *f, uint64_t job, bool well)
{
	struct outcome_page *page = find(f, job / OUTCOME_PAGE);
	uint32_t at = (uint32_t)(job % OUTCOME_PAGE);

	if (!page && f->n == OUTCOME_PAGES && job / OUTCOME_PAGE < f->v[0]->number)
		return; /* as old as what was forgotten */
	if (!page)
		page = add(f, job / OUTCOME_PAGE);
	page->bits[at / 4] &= (uint8_t)~(3u << at % 4 * 2);
	page->bits[at / 4] |= (uint8_t)((well ? OUTCOME_WELL : OUTCOME_ILL) << at % 4 * 2);
	dirty_put(f->dirty, &page->mark);
	if (f->n > OUTCOME_PAGES) {
		dirty_gone(f->dirty, &f->v[0]->mark);
		memmove(&f->v[0], &f->v[1], --f->n * sizeof(f->v[0]));
	}
}

uint64_t outcomes_hash(const struct outcomes *f)
{
	uint64_t sum = 0;
	struct row row;

	for (size_t i = 0; i < f->n; i++) {
		outcome_page_encode(f->v[i], &row, ROW_PUT);
		sum += row_hash(&row);
	}
	return sum;
}

/* --- rows ------------------------------------------------------------------------------------ */

int outcomes_load(struct outcomes *f, const struct row *row, struct error *err)
{
	struct outcome_page *page;

	if (row->v[COL_FATE_bits].n != PAGE_BYTES)
		return row_error(row, COL_FATE_bits, err, "wrong length");
	if (row->v[COL_FATE_page].i < 0 || f->n == OUTCOME_PAGES ||
	        (f->n && f->v[f->n - 1]->number >= (uint64_t)row->v[COL_FATE_page].i))
		return row_error(row, COL_FATE_page, err, "not above the one before, or too many");
	page = add(f, (uint64_t)row->v[COL_FATE_page].i);
	memcpy(page->bits, row->v[COL_FATE_bits].p, PAGE_BYTES);
	return 0;
}

void outcome_page_encode(const struct outcome_page *page, struct row *row, enum row_change change)
{
	row_begin(row, TABLE_FATE, change);
	row->v[COL_FATE_page] = value_int((int64_t)page->number);
	if (change == ROW_PUT)
		row->v[COL_FATE_bits] = value_blob(page->bits, PAGE_BYTES);
}
