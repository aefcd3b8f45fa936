/* run.c - see run.h
 *
 * A run is made RUN_ORDERED (by a start) or RUN_ORPHAN (by a report that no job claims), and only
 * run_move() changes its state, along RUN_STATES. Everything else here is a field with a mover: it
 * compares, changes, marks the row dirty, and tells the node when the field is part of what the
 * scheduler sees of its runs (node_runs_changed()).
 *
 * Most of what a row can hold is empty for most runs, so it is in memory of its own, made when
 * first needed: `past` from the first end or suspension on, `more` for what only some runs have. A
 * getter returns a constant without content where there is none, so callers never ask whether it
 * is there.
 *
 * How long a run has worked is measured by the monotonic clock from its start if this process saw
 * it, else by the wall clock; once the node has reported, its own measure counts.
 */
#include "ctld/core/records/run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run_impl.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

#define X(sym, name, next) [sym] = { name, next },
static const struct {
	const char *name;
	uint32_t next;
} run_states[RUN_STATE_COUNT] = { RUN_STATES(X) };
#undef X

const char *run_state_name(enum run_state state)
{
	return run_states[state].name;
}

bool run_state_may(enum run_state from, enum run_state to)
{
	return run_states[from].next >> to & 1;
}

const struct run_info *run_info(const struct run *run)
{
	return &run->info;
}

struct run_link *run_link(struct run *run)
{
	return &run->link;
}

const struct run_link *run_link_of(const struct run *run)
{
	return &run->link;
}

bool run_over(const struct run *run)
{
	return run->info.state == RUN_ENDED || run->info.state == RUN_NEVER;
}

/* Did its program begin? A launch that the node refused counts as none. */
bool run_started(const struct run *run)
{
	return run->info.state != RUN_ORDERED && run->info.state != RUN_NEVER &&
	       !end_is_launch(run->info.end_cause);
}

/* Attempts are few, so the rank is put above their bits. */
static uint64_t id_hash(const struct run_id *id, uint64_t seed)
{
	return hash_u64(id->job,
	        seed + ((uint64_t)id->task << 32) + id->attempt + ((uint64_t)id->rank << 20));
}

static uint64_t run_hash(const void *item, uint64_t seed)
{
	return id_hash(&((const struct run *)item)->info.id, seed);
}

static bool run_equal(const void *item, const void *key)
{
	return run_id_equal(&((const struct run *)item)->info.id, key);
}

struct runs *runs_new(struct strings *strings, struct dirty *dirty, uint64_t seed)
{
	struct runs *runs = xcalloc(1, sizeof(*runs));

	runs->strings = strings;
	runs->dirty = dirty;
	runs->table = table_new(run_hash, seed);
	return runs;
}

static void drop_owner(struct runs *runs, struct run_owner *o)
{
	if (!o)
		return;
	DROP_TEXTS(runs->strings, o, user, account, partition, qos, name, array);
	free(o);
}

void run_free(struct runs *runs, struct run *run)
{
	DROP_TEXTS(runs->strings, &run->info, node, gpu_type, incarnation, account);
	run_replica_drop(runs, run);
	if (run->link.past)
		strings_drop(runs->strings, run->link.past->detail);
	if (run->link.more) {
		DROP_TEXTS(runs->strings, run->link.more, progress, nodes);
		drop_owner(runs, run->link.more->owner);
	}
	run_drop_hours(runs, run);
	free(run->link.past);
	free(run->link.more);
	free(run);
}

void runs_free(struct runs *runs)
{
	size_t cursor = 0;
	struct run *run;

	if (!runs)
		return;
	while ((run = table_each(runs->table, &cursor)))
		run_free(runs, run);
	table_free(runs->table);
	free(runs);
}

struct run *runs_find(const struct runs *runs, struct run_id id)
{
	return table_find(runs->table, id_hash(&id, table_seed(runs->table)), run_equal, &id);
}

size_t runs_count(const struct runs *runs)
{
	return table_count(runs->table);
}

static int by_id(const void *x, const void *y)
{
	return run_id_order(
	        &(*(struct run *const *)x)->info.id, &(*(struct run *const *)y)->info.id);
}

/* All runs in the order of their ids, for what must not depend on hashes. The caller frees the
 * array. */
struct run **runs_sorted(const struct runs *runs, size_t *n)
{
	struct run **v = xcalloc(runs_count(runs), sizeof(struct run *)), *run;
	size_t cursor = 0;

	*n = 0;
	while ((run = table_each(runs->table, &cursor)))
		v[(*n)++] = run;
	qsort(v, *n, sizeof(struct run *), by_id);
	return v;
}

/* For writing: makes the memory when first needed. Readers use the getters, which never make it. */
struct run_more *run_more_made(struct run *run)
{
	if (!run->link.more)
		run->link.more = xcalloc(1, sizeof(*run->link.more));
	return run->link.more;
}

static const struct run_past no_past = { .detail = "" };

const struct run_past *run_past(const struct run *run)
{
	return run->link.past ? run->link.past : &no_past;
}

struct run_past *run_past_made(struct runs *runs, struct run *run)
{
	if (!run->link.past) {
		run->link.past = xcalloc(1, sizeof(*run->link.past));
		run->link.past->detail = strings_intern(runs->strings, "");
	}
	return run->link.past;
}

/* The user goes with the share, because nodes may allow only one user's shares on a GPU. */
static void set_share(struct run *run, const struct share *share)
{
	if (!share->charge)
		return;
	run_more_made(run)->share = *share;
	run_more_made(run)->share.user = run->info.uid + 1;
}

/* A run with whole GPUs has a share without charge. */
const struct share *run_share(const struct run *run)
{
	static const struct share all;

	return run->link.more ? &run->link.more->share : &all;
}

/* --- rows ------------------------------------------------------------------------------------ */

#define F(field) [COL_RUN_##field] = COLUMN(struct run, info.field)
static const struct codec_column columns[COL_RUN_COUNT] = {
	[COL_RUN_job] = COLUMN(struct run, info.id.job),
	[COL_RUN_task] = COLUMN(struct run, info.id.task),
	[COL_RUN_attempt] = COLUMN(struct run, info.id.attempt),
	[COL_RUN_rank] = COLUMN(struct run, info.id.rank),
	F(node), F(gpu_type), F(gpus), F(cpus), F(mem_mb), F(incarnation), F(epoch), F(order_time),
	F(start_time), F(end_wanted), F(end_cause), F(uid), F(nodes), F(account), F(billed_us),
	F(cost_u), F(suspend_wanted),
	/* the run's own: state, its past, its share, what it used */
};
#undef F

#define F(field) [COL_RUN_##field] = COLUMN(struct run_past, field)
static const struct codec_column past_columns[COL_RUN_COUNT] = {
	F(end_time), F(elapsed_us), F(exit_code), F(exit_signal), F(cpu_time_us), F(max_rss_kb),
	F(checkpoint_time), F(suspend_time), F(suspended_us),
	/* by hand: detail */
};
#undef F

static void encode_past(const struct run *run, struct row *row)
{
	codec_encode(past_columns, run_past(run), row);
	row->v[COL_RUN_detail] = value_text(run_past(run)->detail);
}

/* Only a past that says something gets memory; most rows at a start are of runs without one. */
static int decode_past(struct runs *runs, struct run *run, const struct row *row, struct error *err)
{
	const struct value *detail = &row->v[COL_RUN_detail];
	static const struct run_past nothing;
	struct run_past found = { 0 };

	if (codec_decode(past_columns, &found, row, runs->strings, err) < 0)
		return -1;
	if (!detail->n && !memcmp(&found, &nothing, sizeof(found)))
		return 0;
	found.detail = strings_keep_n(runs->strings, detail->p, detail->n);
	run->link.past = xmemdup(&found, sizeof(found));
	return 0;
}

/* What it used, in memory of its own: most runs are over before their first sample. */
static const struct {
	enum run_column column;
	size_t offset;
} used_columns[] = {
#define USED(none, nothing, field) { COL_RUN_##field, offsetof(struct run_used, field) }
	EACH(USED, , , read_bytes, written_bytes, gpu_seen_us, gpu_busy_us, gpu_idle_us,
	        gpu_mem_peak_mb, energy_mj, gpu_mem_mbs)
#undef USED
};
#define USED_COLUMNS (sizeof(used_columns) / sizeof(used_columns[0]))

/* While a run lives its use is known from its node and changes with each report: it is written
 * once, when the run is over. */
static void encode_used(const struct run *run, struct row *row)
{
	static const struct run_used nothing;
	const struct run_used *used = run_over(run) ? run_used(run) : &nothing;

	for (size_t i = 0; i < USED_COLUMNS; i++) {
		const char *field = (const char *)used + used_columns[i].offset;

		row->v[used_columns[i].column] = value_int((int64_t) * (const uint64_t *)field);
	}
}

static void decode_used(struct run *run, const struct row *row)
{
	struct run_used used = { 0 };
	int64_t any = 0;

	for (size_t i = 0; i < USED_COLUMNS; i++) {
		int64_t value = row->v[used_columns[i].column].i;

		*(uint64_t *)((char *)&used + used_columns[i].offset) = (uint64_t)value;
		any |= value;
	}
	if (any)
		run_set_used(run, &used);
}

static void encode_share(const struct run *run, struct row *row)
{
	const struct share *share = run_share(run);

	row->v[COL_RUN_share_milli] = value_int(share->milli);
	row->v[COL_RUN_share_mb] = value_int((int64_t)share->mem_mb);
	row->v[COL_RUN_share_charge] = value_int(share->charge);
}

static int decode_share(struct run *run, const struct row *row, struct error *err)
{
	int64_t milli = row->v[COL_RUN_share_milli].i, charge = row->v[COL_RUN_share_charge].i;

	if (milli < 0 || charge < 0 || milli > GPU_MILLI || charge > GPU_MILLI)
		return row_error(row, COL_RUN_share_charge, err, "more than a whole GPU");
	set_share(run, &(struct share){ .milli = (uint32_t)milli,
	                       .charge = (uint32_t)charge,
	                       .mem_mb = (uint64_t)row->v[COL_RUN_share_mb].i });
	return 0;
}

void run_encode(const struct run *run, struct row *row, enum row_change change)
{
	row_begin(row, TABLE_RUN, change);
	codec_encode(columns, run, row);
	if (change != ROW_PUT)
		return;
	row->v[COL_RUN_state] = value_text(run_state_name(run->info.state));
	encode_past(run, row);
	encode_share(run, row);
	encode_used(run, row);
	run_replica_encode(run, row);
}

/* The columns that no table converts. Each value is checked, because the rest of the core indexes
 * with it. */
static int decode_own(struct runs *runs, struct run *run, const struct row *row, struct error *err)
{
	const struct value *v = &row->v[COL_RUN_state];
	int s;

	if (run->info.end_cause > END_CAUSE_LAST)
		return row_error(row, COL_RUN_end_cause, err, "no such cause");
	if (run->info.end_wanted > END_CAUSE_LAST)
		return row_error(row, COL_RUN_end_wanted, err, "no such cause");
	if (run->info.id.rank >= run->info.nodes)
		return row_error(row, COL_RUN_rank, err, "beyond its attempt");
	for (s = 0; s < RUN_STATE_COUNT; s++) {
		if (strlen(run_states[s].name) == v->n && !memcmp(run_states[s].name, v->p, v->n)) {
			run->info.state = (uint8_t)s;
			break;
		}
	}
	if (s == RUN_STATE_COUNT)
		return row_error(row, COL_RUN_state, err, "no such state");
	if (decode_past(runs, run, row, err) < 0)
		return -1;
	if (run_past(run)->suspend_time && s != RUN_RUNNING)
		return row_error(row, COL_RUN_suspend_time, err, "it does not run");
	decode_used(run, row);
	if (run_replica_decode(runs, run, row, err) < 0)
		return -1;
	return decode_share(run, row, err);
}

/* A row is checked before the run is in the table; linking it to its job and node is load.c's. */
int runs_load(struct runs *runs, const struct row *row, struct error *err)
{
	struct run *run = xcalloc(1, sizeof(*run));

	run->mark.table = TABLE_RUN;
	if (codec_decode(columns, run, row, runs->strings, err) < 0 ||
	        decode_own(runs, run, row, err) < 0) {
		run_free(runs, run);
		return -1;
	}
	if (runs_find(runs, run->info.id)) {
		run_free(runs, run);
		return row_error(row, COL_RUN_attempt, err, "twice the same run");
	}
	table_add(runs->table, run);
	return 0;
}

/* A sum, so that the order of the table does not matter. */
uint64_t runs_hash(const struct runs *runs)
{
	size_t cursor = 0;
	const struct run *run;
	struct row row;
	uint64_t sum = 0;

	while ((run = table_each(runs->table, &cursor))) {
		run_encode(run, &row, ROW_PUT);
		sum += row_hash(&row);
	}
	return sum;
}

/* --- movers ---------------------------------------------------------------------------------- */

/* Texts are copied. The id must be new. */
struct run *runs_add(struct runs *runs, const struct run_info *info, const struct share *share)
{
	struct run *run = xcalloc(1, sizeof(*run));

	assert(info->state == RUN_ORDERED || info->state == RUN_ORPHAN);
	run->mark.table = TABLE_RUN;
	run->info = *info;
	KEEP_TEXTS(runs->strings, &run->info, node, gpu_type, incarnation, account);
	set_share(run, share);
	table_add(runs->table, run);
	dirty_put(runs->dirty, &run->mark);
	return run;
}

void run_move(struct runs *runs, struct run *run, enum run_state state)
{
	assert(run_state_may(run->info.state, state));
	run->info.state = (uint8_t)state;
	node_runs_changed(run->link.node);
	dirty_put(runs->dirty, &run->mark);
}

void run_set_end_wanted(struct runs *runs, struct run *run, enum end_cause cause)
{
	if (run->info.end_wanted == cause)
		return;
	run->info.end_wanted = (uint8_t)cause;
	node_runs_changed(run->link.node);
	dirty_put(runs->dirty, &run->mark);
}

void run_set_start(struct runs *runs, struct run *run, usec_t start_time)
{
	if (run->info.start_time == start_time)
		return;
	run->info.start_time = start_time;
	dirty_put(runs->dirty, &run->mark);
}

void run_set_suspend_wanted(struct runs *runs, struct run *run, bool wanted)
{
	if (run->info.suspend_wanted == wanted)
		return;
	run->info.suspend_wanted = wanted;
	dirty_put(runs->dirty, &run->mark);
}

/* Checkpoints only go forward: a late report of an earlier one changes nothing. */
void run_set_checkpoint(struct runs *runs, struct run *run, usec_t checkpoint_time)
{
	if (checkpoint_time <= run_past(run)->checkpoint_time)
		return;
	run_past_made(runs, run)->checkpoint_time = checkpoint_time;
	dirty_put(runs->dirty, &run->mark);
}

void run_set_detail(struct runs *runs, struct run *run, const char *detail)
{
	strings_set(runs->strings, &run_past_made(runs, run)->detail, detail);
	dirty_put(runs->dirty, &run->mark);
}

/* Volatile: shown while the run lives, and not in its row. */
void run_set_progress(struct runs *runs, struct run *run, const char *progress)
{
	if (*progress || run_progress(run))
		strings_set(runs->strings, &run_more_made(run)->progress, progress);
}

void run_set_used(struct run *run, const struct run_used *used)
{
	run_more_made(run)->used = *used;
}

void run_set_started(struct run *run, usec_t mono)
{
	run->link.started = mono;
	run->started_known = true;
	node_runs_changed(run->link.node);
}

bool run_started_known(const struct run *run)
{
	return run->started_known;
}

/* For a what-if, undone before the question is answered; the run itself does not change. */
void run_imagine_over(struct run *run, bool over)
{
	run->imagined_over = over;
	node_runs_changed(run->link.node);
}

bool run_imagined_over(const struct run *run)
{
	return run->imagined_over;
}

void run_set_end_by(struct run *run, usec_t mono)
{
	run_more_made(run)->end_by = mono;
	node_runs_changed(run->link.node);
}

usec_t run_end_by(const struct run *run)
{
	return run->link.more ? run->link.more->end_by : 0;
}

void run_set_nodes(struct runs *runs, struct run *run, const char *hostlist)
{
	const char *kept = hostlist ? strings_intern(runs->strings, hostlist) : NULL;

	if (!kept && !run_nodes(run))
		return;
	strings_drop(runs->strings, run_more_made(run)->nodes);
	run_more_made(run)->nodes = kept;
}

const char *run_nodes(const struct run *run)
{
	return run->link.more ? run->link.more->nodes : NULL;
}

struct run_hours *run_want_hours(
        struct runs *runs, struct run *run, const char *qos, const char *partition)
{
	struct run_hours *h = run->link.hours;

	if (!h) {
		h = run->link.hours = xcalloc(1, sizeof(*h));
		h->qos = qos;
		h->partition = partition;
		KEEP_TEXTS(runs->strings, h, qos, partition);
	}
	return h;
}

void run_drop_hours(struct runs *runs, struct run *run)
{
	if (!run->link.hours)
		return;
	DROP_TEXTS(runs->strings, run->link.hours, qos, partition);
	free(run->link.hours);
	run->link.hours = NULL;
}

struct run_idle *run_idle(struct run *run)
{
	return &run_more_made(run)->idle;
}

const struct run_used *run_used(const struct run *run)
{
	static const struct run_used nothing;

	return run->link.more ? &run->link.more->used : &nothing;
}

const char *run_progress(const struct run *run)
{
	return run->link.more ? run->link.more->progress : NULL;
}

/* May come twice: the true record of a run that was given up too early replaces the first one. */
void run_set_end(struct runs *runs, struct run *run, const struct run_report *r)
{
	struct run_info *i = &run->info;
	struct run_past *p = run_past_made(runs, run);

	i->start_time = r->start_time ? r->start_time : i->start_time;
	i->suspend_wanted = false;
	i->end_cause = (uint8_t)r->cause;
	/* Wall clocks jump; nothing is ever shown to end before it began. */
	p->end_time = r->end_time < i->start_time ? i->start_time : r->end_time;
	p->elapsed_us = r->elapsed_us;
	p->suspended_us = r->suspended_us;
	p->suspend_time = 0;
	if (r->replica.health)
		run_set_replica(runs, run, &r->replica, 0);
	node_runs_changed(run->link.node);
	COPY_FIELDS(p, r, exit_code, exit_signal, cpu_time_us, max_rss_kb);
	if (run->link.more || memcmp(&r->used, run_used(run), sizeof(r->used)) != 0)
		run_set_used(run, &r->used);
	if (r->checkpoint_time > p->checkpoint_time)
		p->checkpoint_time = r->checkpoint_time;
	if (r->detail && *r->detail) /* else what was noted of it while it ran stays */
		strings_set(runs->strings, &p->detail, r->detail);
	dirty_put(runs->dirty, &run->mark);
}

void run_set_billed(struct runs *runs, struct run *run, uint64_t billed_us, uint64_t cost_u)
{
	run->info.billed_us = billed_us;
	run->info.cost_u = cost_u;
	dirty_put(runs->dirty, &run->mark);
}

const struct run_owner *run_owner(const struct run *run)
{
	static const struct run_owner none = { "", "", "", "", "", "", 0 };

	return run->link.more && run->link.more->owner ? run->link.more->owner : &none;
}

void run_set_owner(struct runs *runs, struct run *run, const struct run_owner *owner)
{
	struct run_owner *o;

	if (!owner->user || !*owner->user)
		return;
	o = xmemdup(owner, sizeof(*owner));
	KEEP_TEXTS(runs->strings, o, user, account, partition, qos, name, array);
	drop_owner(runs, run_more_made(run)->owner);
	run_more_made(run)->owner = o;
}

/* Out of the table now; the seal writes the row to history and frees the run. */
void runs_retire(struct runs *runs, struct run *run)
{
	assert(run_over(run) && !run->link.node);
	table_remove(runs->table, run);
	dirty_gone(runs->dirty, &run->mark);
}
