/* commit_and_chores.c - see commit_and_chores.h
 *
 * The move to history.db: a slice of ended rows is read (1), copied by the history's thread and
 * committed there (2), and then deleted from state.db (3), together with the next commit, or by a
 * transaction of its own when it is quiet. A crash anywhere repeats the slice, which is harmless.
 */
#include "config.h"

#include "ctld/store/commit_and_chores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/failpoint.h"
#include "common/base/xalloc.h"
#include "ctld/store/backup.h"
#include "ctld/store/state_dir.h"

/* A checkpoint costs some ten milliseconds for each thousand pages, so it waits for a quiet moment:
 * a quiet while from the first mark on, any moment without a batch from the second on, and it comes
 * before the next commit from the third on (the log would grow without end under a load that never
 * pauses). */
#define CHECKPOINT_QUIET_PAGES 1000
#define CHECKPOINT_SOON_PAGES  4000
#define CHECKPOINT_NOW_PAGES   32000
#define CHECKPOINT_FULL_PAGES  100  /* where there is no reserve */
#define CHECKPOINT_AGAIN_PAGES 4000 /* after one that found the disk full */

/* A slice is read in about half a millisecond, between two commits. Under a load that never pauses
 * there is at most one slice for each commit, so a slice has at least twice the rows that came
 * since the one before: the rows that wait become fewer, and a flush comes to its end. */
#define HISTORY_SLICE_ROWS 256
#define HISTORY_FLUSH_ROWS 1024 /* of a slice that a flush waits for */
#define HISTORY_SLICE_MOST 8192
#define HISTORY_SOON_ROWS  1024 /* as many wait before a moment that is not quiet is used */

struct store_work {
	struct state_dir *dir;
	struct state *state;
	struct history *history;
	unsigned rest_at; /* pages of log before which no commit waits for a checkpoint */
	struct store_batch *slice;
	uint64_t left;       /* rows that waited when the slice was read, without those of it */
	bool is_copied;      /* the slice is in history.db, and still in state.db */
	bool history_broken; /* the move has stopped; rows wait in state.db */
	bool history_full;   /* the last try found the disk full */
	/* A caller waits until history.db has all that has ended: for a slice that takes the last
	 * of it, and then for that slice. */
	enum { FLUSH_NONE, FLUSH_WANTED, FLUSH_LAST, FLUSH_DONE } flush;
	struct error history_error;
	struct store_trim trim; /* of the last batch */
	bool trim_due;          /* has not been looked for in history.db yet */
	uint64_t history_rows;
	struct scrub scrub;          /* of state.db */
	bool log_cut_short, no_sums; /* at the start, see struct store_stats */
	bool is_broken;              /* a write or sync failed: no more of them */
	struct error broken;
};

static int try_files(struct store_work *work, const struct store_options *options,
        history_wake_fn *wake, void *arg, struct error *err)
{
	if (!work->state)
		work->state = state_open(
		        state_dir_state_path(work->dir), options->vfs, options->cluster, err);
	if (work->state)
		work->history = history_open(state_dir_history_path(work->dir), options->vfs,
		        options->cluster, wake, arg, err);
	return work->history ? 0 : -1;
}

static void note_opened(struct store_work *work, const struct db *db)
{
	work->log_cut_short = work->log_cut_short || db->log_cut_short;
	work->no_sums = work->no_sums || pages_sums(db->pages) != PAGES_SUMMED;
}

/* On a full disk what they need to be opened has the reserve's room. */
static int open_files(struct store_work *work, const struct store_options *options,
        history_wake_fn *wake, void *arg, struct error *err)
{
	int rc = try_files(work, options, wake, arg, err);

	if (rc < 0 && err->code == ERR_NO_SPACE && state_dir_has_reserve(work->dir)) {
		state_dir_drop_reserve(work->dir);
		rc = try_files(work, options, wake, arg, err);
	}
	return rc;
}

struct store_work *store_work_open(
        const struct store_options *options, history_wake_fn *wake, void *arg, struct error *err)
{
	struct store_work *work = xcalloc(1, sizeof(*work));

	work->rest_at = CHECKPOINT_NOW_PAGES;
	work->slice = batch_new();
	work->dir = state_dir_open(options->dir, options->vfs, options->reserve_kb, err);
	if (work->dir && open_files(work, options, wake, arg, err) == 0) {
		note_opened(work, state_db(work->state));
		note_opened(work, history_db(work->history));
		return work;
	}
	store_work_close(work);
	return NULL;
}

void store_work_close(struct store_work *work)
{
	if (!work)
		return;
	history_close(work->history);
	state_close(work->state);
	state_dir_close(work->dir);
	batch_free(work->slice);
	free(work);
}

struct history *store_work_history(const struct store_work *work)
{
	return work->history;
}

int store_work_load(struct store_work *work, store_row_fn *take, void *arg, struct error *err)
{
	return state_load(work->state, take, arg, err);
}

int store_work_load_stored(
        struct store_work *work, store_stored_fn *take, void *arg, struct error *err)
{
	return state_load_stored(work->state, take, arg, err);
}

uint64_t store_work_free_mb(const struct store_work *work)
{
	return state_dir_free_mb(work->dir);
}

/* ---- commits ---- */

static unsigned log_pages(const struct store_work *work)
{
	return state_db(work->state)->wal_pages;
}

static const struct store_batch *copied(const struct store_work *work)
{
	return work->is_copied ? work->slice : NULL;
}

/* The copied slice has left state.db. */
static void slice_moved(struct store_work *work)
{
	if (!work->is_copied)
		return;
	FAILPOINT(history_after_delete);
	work->history_rows += work->slice->n_rows;
	work->is_copied = false;
	history_rest(work->history);
}

static int break_down(struct store_work *work, const struct error *err)
{
	work->is_broken = true;
	work->broken = *err;
	db_abandon(state_db(work->state));
	return -1;
}

int store_work_commit(struct store_work *work, const struct store_batch *batch,
        struct blob_set *wanted, struct error *err)
{
	int rc;

	FAILPOINT(store_before_batch);
	if (work->is_broken) {
		*err = work->broken;
		return -1;
	}
	if (batch) {
		work->trim = batch->trim;
		work->trim_due = true;
	}
	rc = state_commit(work->state, batch, copied(work), wanted, err);
	if (rc < 0 && err->code == ERR_NO_SPACE && state_dir_has_reserve(work->dir)) {
		state_dir_drop_reserve(work->dir);
		FAILPOINT(store_reserve_unlinked);
		rc = state_commit(work->state, batch, copied(work), wanted, err);
	}
	/* What is in the database already makes the log's room its own again. */
	if (rc < 0 && err->code == ERR_NO_SPACE && log_pages(work) > 0 &&
	        db_checkpoint(state_db(work->state), err) == 0)
		rc = state_commit(work->state, batch, copied(work), wanted, err);
	if (rc < 0)
		return err->code == ERR_NO_SPACE ? -1 : break_down(work, err);
	FAILPOINT(store_after_commit);
	slice_moved(work);
	return 0;
}

/* ---- chores ---- */

bool store_work_must_rest(const struct store_work *work)
{
	return !work->is_broken && log_pages(work) >= work->rest_at;
}

/* On a full disk the log stays in what it has. */
static unsigned checkpoint_pages(const struct store_work *work, bool quiet)
{
	return !state_dir_has_reserve(work->dir) ? CHECKPOINT_FULL_PAGES
	       : quiet                           ? CHECKPOINT_QUIET_PAGES
	                                         : CHECKPOINT_SOON_PAGES;
}

static bool chore_checkpoint(struct store_work *work, bool quiet)
{
	struct error err;

	if (log_pages(work) < checkpoint_pages(work, quiet))
		return false;
	FAILPOINT(store_before_checkpoint);
	if (db_checkpoint(state_db(work->state), &err) < 0)
		break_down(work, &err);
	FAILPOINT(store_after_checkpoint);
	if (log_pages(work) > 0) {
		work->rest_at = log_pages(work) + CHECKPOINT_AGAIN_PAGES;
		return false;
	}
	work->rest_at = CHECKPOINT_NOW_PAGES;
	return true;
}

/* The history's thread has news? Only a full disk is worth another try. */
static void look_at_history(struct store_work *work)
{
	struct error err;
	enum history_state state = history_look(work->history, &err);

	if (state == HISTORY_COPIED) {
		work->is_copied = true;
		work->history_full = false;
		work->trim_due = work->trim_due || history_has_more(work->history);
		if (work->flush == FLUSH_LAST)
			work->flush = FLUSH_DONE;
	} else if (state == HISTORY_FAILED) {
		work->history_error = err;
		work->history_full = err.code == ERR_NO_SPACE;
		work->history_broken = !work->history_full;
		history_rest(work->history);
	}
}

/* Delete the copied slice without waiting for a commit to do it along with. */
static bool chore_delete(struct store_work *work, bool quiet)
{
	struct blob_set none = { 0 };
	struct error err;

	if (!work->is_copied || !quiet)
		return false;
	if (state_commit(work->state, NULL, work->slice, &none, &err) == 0)
		slice_moved(work);
	else if (err.code != ERR_NO_SPACE)
		break_down(work, &err);
	return !work->is_copied;
}

/* To the history's thread; true if it has done it at once. */
static bool give_slice(struct store_work *work)
{
	work->trim_due = false;
	if (history_give(work->history, work->slice, work->trim, &work->history_error) < 0) {
		work->history_broken = true;
		return false;
	}
	look_at_history(work);
	return work->is_copied;
}

static unsigned slice_rows(const struct store_work *work)
{
	unsigned least = work->flush ? HISTORY_FLUSH_ROWS : HISTORY_SLICE_ROWS;
	uint64_t ended = state_ended(work->state);
	uint64_t came = ended > work->left ? ended - work->left : 0;

	return 2 * came < least ? least : 2 * came < HISTORY_SLICE_MOST ? 2 * (unsigned)came
	                                                                : HISTORY_SLICE_MOST;
}

static bool chore_slice(struct store_work *work, bool quiet)
{
	unsigned max = slice_rows(work);
	struct error err;

	if (work->history_broken || history_look(work->history, &err) != HISTORY_IDLE ||
	        (work->history_full && !quiet) ||
	        state_ended(work->state) < (quiet ? 1 : HISTORY_SOON_ROWS))
		return false;
	if (state_slice(work->state, work->slice, max, &err) < 0) {
		break_down(work, &err);
		return false;
	}
	work->left = state_ended(work->state) - work->slice->n_rows;
	if (work->flush == FLUSH_WANTED && work->slice->n_rows < max)
		work->flush = FLUSH_LAST;
	return give_slice(work);
}

/* What is too old goes along with what moves; where nothing moves, by itself. */
static bool chore_trim(struct store_work *work, bool quiet)
{
	struct error err;

	if (!quiet || !work->trim_due || work->history_broken || work->history_full ||
	        state_ended(work->state) > 0 || history_look(work->history, &err) != HISTORY_IDLE)
		return false;
	batch_reset(work->slice);
	return give_slice(work);
}

static bool chore_reserve(struct store_work *work, bool quiet)
{
	uint64_t free_mb;

	if (!quiet || state_dir_has_reserve(work->dir))
		return false;
	free_mb = state_dir_free_mb(work->dir);
	return free_mb != UINT64_MAX && free_mb >= STORE_RESERVE_AGAIN_MB &&
	       state_dir_make_reserve(work->dir);
}

void store_work_flush_begin(struct store_work *work)
{
	work->flush = FLUSH_WANTED;
}

int store_work_flush(struct store_work *work, struct error *err)
{
	if (work->is_broken || work->history_broken || work->history_full) {
		*err = work->is_broken ? work->broken : work->history_error;
		work->flush = FLUSH_NONE;
		return error_wrap(err, "what ended last is not in history.db yet");
	}
	if (state_ended(work->state) > 0 && work->flush != FLUSH_DONE)
		return 1;
	work->flush = FLUSH_NONE;
	return 0;
}

bool store_work_chore(struct store_work *work, bool quiet)
{
	static bool (*const chores[])(struct store_work *, bool) = { chore_checkpoint, chore_delete,
		chore_slice, chore_trim, chore_reserve };

	if (!work->is_copied)
		look_at_history(work);
	for (size_t i = 0; !work->is_broken && i < sizeof(chores) / sizeof(*chores); i++)
		if (chores[i](work, quiet))
			return true;
	return false;
}

bool store_work_has_chore(const struct store_work *work)
{
	if (work->is_broken)
		return false;
	return log_pages(work) >= CHECKPOINT_QUIET_PAGES || work->is_copied ||
	       !state_dir_has_reserve(work->dir) || (work->trim_due && !work->history_broken) ||
	       (state_ended(work->state) > 0 && !work->history_broken);
}

int store_work_backup(struct store_work *work, struct backup *backup, struct error *err)
{
	return backup_step(backup, state_db(work->state), err);
}

void store_work_scrub(struct store_work *work)
{
	if (work->is_broken)
		return;
	db_scrub(state_db(work->state), &work->scrub);
	history_scrub(work->history);
}

static void scrub_stats(const struct store_work *work, struct store_stats *stats)
{
	const struct scrub history = history_scrubbed(work->history), *const both[] = {
		&work->scrub, &history
	};

	stats->scrubbed = stats->damaged = 0;
	stats->damage[0] = '\0';
	for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++) {
		stats->scrubbed += both[i]->pages;
		if (both[i]->is_over && stats->damaged++ == 0)
			snprintf(stats->damage, sizeof(stats->damage), "%s: %s",
			        both[i]->damage.text, both[i]->damage.hint);
	}
}

void store_work_stats(const struct store_work *work, struct store_stats *stats)
{
	stats->wal_pages = log_pages(work);
	stats->history_behind = state_ended(work->state);
	stats->history_rows = work->history_rows;
	stats->reserve_used = !state_dir_has_reserve(work->dir);
	scrub_stats(work, stats);
	stats->log_cut_short = work->log_cut_short;
	stats->no_sums = work->no_sums;
	stats->history_error[0] = '\0';
	if (work->history_broken || work->history_full)
		memcpy(stats->history_error, work->history_error.text,
		        sizeof(stats->history_error));
}
