/* changed_rows.c - what has changed becomes rows, which the database commits together (core_seal() in core.h)
 *
 * Objects that may change start with a mark (rows/dirty.h), which says since when. An object that
 * has gone is freed only after all rows have been passed on: the row of one needs another.
 */
#include "ctld/core/core.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/accounts.h"
#include "ctld/core/accounts/gpu_hours_window.h"
#include "ctld/core/core_impl.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/service.h"
#include "ctld/core/rows/audit.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/rows/ended_outcomes.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/kept_rows.h"
#include "ctld/core/rows/nonce.h"
#include "ctld/core/rows/state.h"

struct seal {
	struct core *core;
	core_row_sink *sink; /* NULL: only free what is gone */
	void *arg;
	size_t rows;
	struct mark **gone;
	size_t n_gone;
};

/* Counts the rows on their way to the world. */
static void pass_on(void *arg, const struct row *row)
{
	struct seal *s = arg;

	s->rows++;
	s->sink(s->arg, row);
}

/* Objects start with their mark. */
static void encode(const struct mark *mark, struct row *row, enum row_change change)
{
	switch ((enum row_table)mark->table) {
	case TABLE_NODE:
		node_encode((const struct node *)mark, row, change);
		break;
	case TABLE_JOB:
		job_encode((const struct job *)mark, row, change);
		break;
	case TABLE_RUN:
		run_encode((const struct run *)mark, row, change);
		break;
	case TABLE_NONCE:
		nonce_encode((const struct nonce *)mark, row, change);
		break;
	case TABLE_USAGE:
		assoc_encode((const struct assoc *)mark, row, change);
		break;
	case TABLE_HOURS:
		piece_encode((const struct piece *)mark, row, change);
		break;
	case TABLE_FATE:
		outcome_page_encode((const struct outcome_page *)mark, row, change);
		break;
	case TABLE_SERVICE:
		service_encode((const struct service *)mark, row, change);
		break;
	case TABLE_META:
	case TABLE_EVENT:
	case TABLE_STEP:
	case TABLE_COUNT:
		break;
	}
}

/* What goes is of no interest to history. */
static bool deletes(const struct mark *mark)
{
	return mark->table == TABLE_NONCE || mark->table == TABLE_HOURS ||
	       mark->table == TABLE_FATE || mark->table == TABLE_SERVICE ||
	       (mark->table == TABLE_JOB && job_dropped((const struct job *)mark));
}

/* An object that changed and then went leaves two rows, its last state and its removal, if history
 * is to get it; else only its removal. */
static void seal_one(void *arg, struct mark *mark, bool put, bool gone)
{
	struct seal *s = arg;
	struct row row;

	if (s->sink && mark->table == TABLE_META) {
		meta_rows(s->core->meta, pass_on, s);
	} else if (s->sink) {
		if (put && !(gone && deletes(mark))) {
			encode(mark, &row, ROW_PUT);
			pass_on(s, &row);
		}
		if (gone) {
			encode(mark, &row, deletes(mark) ? ROW_DELETE : ROW_RETIRE);
			pass_on(s, &row);
		}
	}
	if (gone) {
		/* A job's row needs its nonce: free nothing before all rows are out. */
		s->gone[s->n_gone++] = mark;
	}
}

static void free_gone(struct core *core, struct mark *mark)
{
	switch ((enum row_table)mark->table) {
	case TABLE_JOB:
		job_free(core->jobs, (struct job *)mark);
		break;
	case TABLE_RUN:
		run_free(core->runs, (struct run *)mark);
		break;
	case TABLE_NONCE:
		nonce_free((struct nonce *)mark);
		break;
	case TABLE_HOURS:
		piece_free(core->hours, (struct piece *)mark);
		break;
	case TABLE_FATE:
		outcome_page_free((struct outcome_page *)mark);
		break;
	case TABLE_SERVICE:
		service_free(core->services, (struct service *)mark);
		break;
	case TABLE_NODE:
	case TABLE_META:
	case TABLE_EVENT:
	case TABLE_USAGE:
	case TABLE_STEP:
	case TABLE_COUNT:
		break;
	}
}

size_t core_drain(struct core *core, core_row_sink *sink, void *arg)
{
	struct seal s = { core, sink, arg, 0, NULL, 0 };

	s.gone = xcalloc(dirty_count(core->dirty), sizeof(struct mark *));
	dirty_drain(core->dirty, seal_one, &s);
	for (size_t i = 0; i < s.n_gone; i++)
		free_gone(core, s.gone[i]);
	free(s.gone);
	return s.rows;
}

/* Rows of foreign jobs, then everything that is dirty, then the audit trail. */
size_t core_seal(struct core *core, core_row_sink *sink, void *arg)
{
	size_t n = kept_rows_seal(core->kept_rows, sink, arg);

	return n + core_drain(core, sink, arg) + audit_seal(core->audit, sink, arg);
}

size_t core_dirty_bytes(const struct core *core)
{
	return dirty_bytes(core->dirty) + kept_rows_bytes(core->kept_rows) +
	       audit_bytes(core->audit);
}
