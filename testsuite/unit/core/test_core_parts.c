/* test_core_parts.c - the core's small parts, each against something slow and obvious */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/place/fill_order.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/records/wait_replies.h"
#include "ctld/core/request/labels.h"
#include "ctld/core/request/requests.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/heap.h"
#include "ctld/core/util/idmap.h"
#include "ctld/core/util/strings.h"
#include "ctld/core/util/table.h"
#include "testsuite/unit/lib/core_world.h"

static uint64_t rng = 88172645463325252ull;

static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 11) % n;
}

/* --- containers ------------------------------------------------------------------------------ */

#define ITEMS 3000

struct item {
	uint64_t key;
	uint32_t slot;
	bool in;
};

static uint64_t item_hash(const void *item, uint64_t seed)
{
	/* Few values: long clusters. */
	return hash_u64(((const struct item *)item)->key % 97, seed);
}

static bool item_equal(const void *item, const void *key)
{
	return ((const struct item *)item)->key == *(const uint64_t *)key;
}

static void check_table(const struct table *t, struct item *v, size_t in)
{
	size_t cursor = 0, seen = 0, i;

	assert_int_equal(table_count(t), in);
	while (table_each(t, &cursor))
		seen++;
	assert_int_equal(seen, in);
	for (i = 0; i < ITEMS; i++) {
		uint64_t hash = item_hash(&v[i], table_seed(t));

		assert_ptr_equal(
		        table_find(t, hash, item_equal, &v[i].key), v[i].in ? &v[i] : NULL);
	}
}

static void tables(void **state)
{
	struct item *v = xcalloc(ITEMS, sizeof(*v));
	struct table *t = table_new(item_hash, 7);
	size_t in = 0, i, round;

	(void)state;
	for (i = 0; i < ITEMS; i++)
		v[i].key = i;
	/* Grow, shrink, grow: with look-ups in the middle of every resize. */
	for (round = 0; round < 30; round++) {
		unsigned keep = round % 3;

		for (i = 0; i < ITEMS / 2; i++) {
			struct item *x = &v[pick(ITEMS)];

			if (!x->in && keep != 1) {
				table_add(t, x);
				in++;
				x->in = true;
			} else if (x->in && keep != 0) {
				table_remove(t, x);
				in--;
				x->in = false;
			}
			if (pick(100) == 0)
				check_table(t, v, in);
		}
	}
	check_table(t, v, in);
	table_free(t);
	table_free(NULL);
	free(v);
}

static void item_moved(void *item, uint32_t index)
{
	((struct item *)item)->slot = index;
}

static void heaps(void **state)
{
	struct item *v = xcalloc(ITEMS, sizeof(*v));
	struct heap *h = heap_new(item_moved);
	size_t i, round;
	uint64_t last = 0;

	(void)state;
	for (i = 0; i < ITEMS; i++)
		v[i].slot = HEAP_NOWHERE;
	for (round = 0; round < 20000; round++) {
		struct item *x = &v[pick(ITEMS)], *first;

		x->key = (uint64_t)pick(50) << 32 | (uint64_t)(x - v);
		if (x->slot == HEAP_NOWHERE)
			heap_put(h, (struct heap_key){ x->key >> 32, x->key & UINT32_MAX }, x);
		else if (pick(2))
			heap_rekey(
			        h, x->slot, (struct heap_key){ x->key >> 32, x->key & UINT32_MAX });
		else
			heap_remove(h, x->slot);
		first = heap_first(h);
		if (round % 64 || !first)
			continue;
		for (i = 0; i < ITEMS; i++)
			assert_true(v[i].slot == HEAP_NOWHERE || v[i].key >= first->key);
	}
	for (i = 0; heap_first(h); i++) {
		struct item *x = heap_first(h);

		assert_true(x->key >= last);
		assert_ptr_equal(heap_at(h, x->slot), x);
		last = x->key;
		heap_remove(h, x->slot);
	}
	assert_true(i > 100);
	heap_free(h);
	heap_free(NULL);
	free(v);
}

static void idmaps(void **state)
{
	struct idmap *m = idmap_new();
	struct item *v = xcalloc(ITEMS, sizeof(*v));
	uint64_t id = 0, at;
	size_t i, n = 0;

	(void)state;
	for (i = 0; i < ITEMS; i++) {
		id += 1 + (pick(20) ? 0 : pick(1000));
		v[i].key = id;
		v[i].in = true;
		idmap_add(m, id, &v[i]);
		n++;
		if (pick(3)) {
			struct item *x = &v[pick((unsigned)i + 1)];

			if (x->in) {
				idmap_remove(m, x->key);
				x->in = false;
				n--;
			}
		}
	}
	assert_int_equal(idmap_count(m), n);
	assert_int_equal(idmap_last(m), id);
	assert_null(idmap_find(m, 0));
	assert_null(idmap_find(m, id + 1000000));
	at = 0;
	for (i = 0; i < ITEMS; i++) {
		assert_ptr_equal(idmap_find(m, v[i].key), v[i].in ? &v[i] : NULL);
		if (!v[i].in)
			continue;
		assert_ptr_equal(idmap_next(m, at), &v[i]);
		at = v[i].key;
	}
	assert_null(idmap_next(m, at));
	assert_null(idmap_next(m, UINT64_MAX));
	idmap_free(m);
	idmap_free(NULL);
	free(v);
}

#define MEMBERS 60
static bool third(void *arg, uint32_t member)
{
	return member % *(uint32_t *)arg == 0;
}

static void orders(void **state)
{
	struct fill_order_link pool[MEMBERS];
	bool in[MEMBERS] = { false };
	uint32_t root = FILL_ORDER_NONE, m, best, every = 3;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		struct fill_order_want want = { pick(12), pick(12), pick(2), pick(2) ? third : NULL,
			&every };

		m = pick(MEMBERS);
		if (in[m])
			fill_order_remove(pool, &root, m);
		else
			fill_order_add(pool, &root, m, pick(12), pick(12));
		in[m] = !in[m];
		best = FILL_ORDER_NONE;
		for (m = 0; m < MEMBERS; m++) {
			if (!in[m] || pool[m].cpus < want.cpus || pool[m].mem < want.mem ||
			        (want.test && m % every))
				continue;
			if (best == FILL_ORDER_NONE || (want.last ? pool[m].cpus >= pool[best].cpus
			                                          : pool[m].cpus < pool[best].cpus))
				best = m;
		}
		assert_int_equal(fill_order_find(pool, root, &want), best);
	}
}

/* --- things kept once ------------------------------------------------------------------------ */

static void texts(void **state)
{
	struct strings *s = strings_new(1);
	const char *a = strings_intern(s, "alpha"), *b = strings_keep_n(s, "alphabet", 5),
	           *c = NULL;

	(void)state;
	assert_ptr_equal(a, b);
	assert_int_equal(strings_length(a), 5);
	assert_ptr_equal(strings_peek(s, "alpha"), a);
	assert_null(strings_peek(s, "beta"));
	assert_true(strings_set(s, &c, "alpha"));
	assert_false(strings_set(s, &c, "alpha"));
	strings_drop(s, a);
	strings_drop(s, b);
	strings_drop(s, NULL);
	assert_ptr_equal(strings_peek(s, "alpha"), c);
	assert_true(strings_set(s, &c, ""));
	assert_null(strings_peek(s, "alpha"));
	assert_int_equal(strings_count(s), 1);
	strings_drop(s, c);
	assert_int_equal(strings_count(s), 0);
	strings_free(s);
	strings_free(NULL);
}

static void gpu_requests(void **state)
{
	static const char *const good[] = { "", "h100:2", "any:1", "h100:2|l40s:4|any:9999" };
	static const char *const bad[] = { "h100", "h100:", ":2", "h100:0", "h100:10000", "h100:2|",
		"|h100:2", "h100:-1", "h100:2x", "a:1|a:2|a:3|a:4|a:5|a:6|a:7|a:8|a:9" };
	struct world *w = world_simple(1, "h100:1");
	struct strings *s = strings_new(1);
	struct requests *rs = requests_new(s, w->conf, 1);
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct request *r = requests_parse(rs, good[i], "", &err), *again;

		assert_non_null(r);
		assert_string_equal(r->text, good[i]);
		again = requests_parse(rs, good[i], "", &err);
		assert_ptr_equal(again, r);
		requests_drop(rs, again);
		if (r->n == 3) {
			assert_int_equal(r->v[0].number, 0);
			assert_int_equal(r->v[1].number, 1);
			assert_int_equal(r->v[2].number, TYPE_ANY);
		}
		requests_drop(rs, r);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (requests_parse(rs, bad[i], "", &err))
			fail_msg("'%s' was taken", bad[i]);
	}
	assert_int_equal(strings_count(s), 0);
	requests_free(rs);
	strings_free(s);
	world_free(w);
}

static void label_rows(void **state)
{
	static const char *const good[] = { "", "a=b\n", "a=\nb=c=d\n" };
	static const char *const bad[] = { "a=b", "a\n", "=b\n", "a=b\n\n", "\n" };
	struct strings *s = strings_new(1);
	struct label_sets *ls = label_sets_new(s, 1);
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct labels *l = labels_parse(ls, good[i], &err);

		assert_non_null(l);
		assert_int_equal(l->n, i);
		labels_drop(ls, l);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (labels_parse(ls, bad[i], &err))
			fail_msg("'%s' was taken", bad[i]);
	}
	label_sets_free(ls);
	strings_free(s);
}

static void waiting(void **state)
{
	struct wait_replies *w = wait_replies_new(1);
	uint64_t reply, job;
	int n;

	(void)state;
	for (job = 1; job <= 100; job++) {
		for (reply = 0; reply < 50; reply++)
			wait_replies_add(w, job, reply);
	}
	assert_int_equal(wait_replies_count(w), 5000);
	wait_replies_cancel(w, 17);
	wait_replies_cancel(w, 17);
	assert_int_equal(wait_replies_count(w), 4900);
	for (n = 0; wait_replies_take(w, 50, &reply); n++)
		assert_int_equal(reply, n < 17 ? n : n + 1);
	assert_int_equal(n, 49);
	assert_int_equal(wait_replies_count(w), 4851);
	wait_replies_free(w);
	wait_replies_free(NULL);
}

/* --- states ---------------------------------------------------------------------------------- */

static void states(void **state)
{
	/* Straight from job.h's drawing: every other move is a bug. */
	static const char *const may[] = {
		"PENDING CONFIGURING",
		"PENDING CANCELLED",
		"PENDING DEADLINE",
		"PENDING COMPLETED",
		"PENDING FAILED",
		"CONFIGURING PENDING",
		"CONFIGURING RUNNING",
		"CONFIGURING COMPLETING",
		"RUNNING PENDING",
		"RUNNING SUSPENDED",
		"RUNNING COMPLETING",
		"SUSPENDED PENDING",
		"SUSPENDED RUNNING",
		"SUSPENDED COMPLETING",
		"COMPLETING PENDING",
	};
	int from, to, k;
	size_t i;

	(void)state;
	for (from = 0; from < JOB_STATE_COUNT; from++) {
		for (to = 0; to < JOB_STATE_COUNT; to++) {
			bool has_run = from == JOB_CONFIGURING || from == JOB_RUNNING ||
			               from == JOB_SUSPENDED || from == JOB_COMPLETING;
			bool want = (has_run && job_state_ended(to)) ||
			            (job_state_ended(from) && to == JOB_PENDING);
			char text[64];

			snprintf(text, sizeof(text), "%s %s", job_state_name(from),
			        job_state_name(to));
			for (i = 0; i < sizeof(may) / sizeof(may[0]); i++)
				want |= !strcmp(text, may[i]);
			if (job_state_may(from, to) != want)
				fail_msg("%s: %s", text, want ? "must be legal" : "must not be");
		}
		for (k = 0; k < from; k++) {
			assert_string_not_equal(job_state_name(k), job_state_name(from));
			assert_string_not_equal(job_state_code(k), job_state_code(from));
		}
	}
	assert_string_equal(job_state_code(JOB_COMPLETED), "CD");
	assert_string_equal(job_state_code(JOB_OUT_OF_MEMORY), "OOM");
	for (from = 0; from < RUN_STATE_COUNT; from++) {
		assert_false(run_state_may(from, from));
		assert_false(run_state_may(from, RUN_ORDERED));
		for (k = 0; k < from; k++)
			assert_string_not_equal(run_state_name(k), run_state_name(from));
	}
	assert_false(run_state_may(RUN_RUNNING, RUN_NEVER));
	assert_false(run_state_may(RUN_NEVER, RUN_RUNNING));
}

/* --- the ledger ------------------------------------------------------------------------------ */

static bool can_start(struct ledger *l, const struct ask *ask, struct place *place)
{
	const struct find find = { .type = 0 };
	struct places out = { 0 };
	bool ok = ledger_find(l, 0, ask, &find, &out);

	if (ok)
		*place = out.v[0];
	places_free(&out);
	return ok;
}

static void ledger(void **state)
{
	struct world *w = world_simple(2, "h100:4,l40s:2");
	struct ledger *l = ledger_new(w->conf);
	struct submit_job two = { .gpus = { { "h100", 2 } }, .n_gpus = 1 };
	struct strings *s = strings_new(1);
	struct requests *rs = requests_new(s, w->conf, 1);
	struct error err;
	struct ask ask = { .gpus = requests_intern(rs, &two, &err), .cpus = 3, .mem_mb = 1000 };
	struct place a, b, huge = { .node = 1, .cpus = 100, .mem_mb = 1 << 20, .gpus = 1ull << 40 };
	uint32_t total, free_now, most, where;
	char text[200];

	(void)state;
	assert_false(can_start(l, &ask, &a));
	ledger_accept(l, 0, true);
	ledger_accept(l, 1, true);
	assert_true(can_start(l, &ask, &a));
	assert_int_equal(a.node, 0);
	assert_int_equal(a.gpus, 3);
	ledger_mark(l);
	ledger_take(l, &a);
	assert_true(can_start(l, &ask, &b));
	/* Best fit: where the fewest are left that do. */
	assert_int_equal(b.node, 0);
	assert_int_equal(b.gpus, 12);
	ledger_take(l, &b);
	assert_true(can_start(l, &ask, &b));
	assert_int_equal(b.node, 1);
	assert_true(ledger_set_gpus(l, 0, 0, &total, &free_now, &most, &where));
	assert_int_equal(total, 8);
	assert_int_equal(free_now, 4);
	assert_int_equal(most, 4);
	assert_int_equal(where, 1);
	ledger_release(l, &a);
	ledger_undo(l);
	assert_true(ledger_set_gpus(l, 0, 0, &total, &free_now, &most, &where));
	assert_int_equal(free_now, 8);
	assert_int_equal(ledger_cpus_free(l, 0), 8);
	assert_int_equal(ledger_gpus_used(l, 0), 0);
	assert_int_equal(ledger_gpus_of(l, 0, 1), 0x30);
	/* More booked than there is: nothing is free, nothing negative. */
	ledger_take(l, &huge);
	assert_int_equal(ledger_cpus_free(l, 1), 0);
	assert_int_equal(ledger_mem_free_mb(l, 1), 0);
	assert_false(ledger_fits_part(l, 1, &ask, 0));
	assert_true(ledger_could_fit_part(l, 1, &ask, 0, 0));
	ledger_release(l, &huge);
	assert_int_equal(ledger_cpus_free(l, 1), 8);
	assert_true(ledger_check(l, text, sizeof(text)));
	requests_drop(rs, ask.gpus);
	requests_free(rs);
	strings_free(s);
	ledger_free(l);
	ledger_free(NULL);
	world_free(w);
}

/* --- rows that make no sense ----------------------------------------------------------------- */

struct row_case {
	enum row_table table;
	size_t column;
	struct value value;
	const char *text; /* of the error */
};

#define INT(x)                              \
	{                                   \
		.type = VALUE_INT, .i = (x) \
	}
#define TEXT(x)                                                  \
	{                                                        \
		.type = VALUE_TEXT, .p = (x), .n = sizeof(x) - 1 \
	}
#define BLOB(x)                                                  \
	{                                                        \
		.type = VALUE_BLOB, .p = (x), .n = sizeof(x) - 1 \
	}

static const struct row_case row_cases[] = {
	{ TABLE_JOB, COL_JOB_state, TEXT("DANCING"), "job 1: state: no such state" },
	{ TABLE_JOB, COL_JOB_state, INT(1), "job 1: state: wrong type" },
	{ TABLE_JOB, COL_JOB_uid, INT(-1), "job 1: uid: does not fit" },
	{ TABLE_JOB, COL_JOB_uid, INT(1ll << 32), "job 1: uid: does not fit" },
	{ TABLE_JOB, COL_JOB_hold, INT(9), "job 1: hold: no such kind of hold" },
	{ TABLE_JOB, COL_JOB_requeue, INT(2), "job 1: requeue: does not fit" },
	{ TABLE_JOB, COL_JOB_nonce, BLOB("short"), "job 1: nonce: wrong length" },
	{ TABLE_JOB, COL_JOB_spec_hash, BLOB("short"), "job 1: spec_hash: wrong length" },
	{ TABLE_JOB, COL_JOB_name, TEXT("a\0b"), "job 1: name: NUL inside a text" },
	{ TABLE_JOB, COL_JOB_gpus, TEXT("many"), "gpus 'many': expected \"TYPE:COUNT|...\"" },
	{ TABLE_JOB, COL_JOB_labels, TEXT("none"), "labels: expected KEY=VALUE lines" },
	{ TABLE_JOB, COL_JOB_end_cause, INT(END_CAUSE_LAST + 1),
	        "job 1: end_cause: no such cause" },
	{ TABLE_JOB, COL_JOB_nice, INT(1ll << 31), "job 1: nice: does not fit" },
	{ TABLE_RUN, COL_RUN_state, TEXT(""), "run 1: state: no such state" },
	{ TABLE_RUN, COL_RUN_attempt, INT(-5), "run 1: attempt: does not fit" },
	{ TABLE_RUN, COL_RUN_end_cause, INT(77), "run 1: end_cause: no such cause" },
	{ TABLE_RUN, COL_RUN_rank, INT(1), "run 1: rank: beyond its attempt" },
	{ TABLE_RUN, COL_RUN_job, INT(2), "run 2.1.0, ORDERED on n0: there is no such job" },
	{ TABLE_NONCE, COL_NONCE_nonce, BLOB("x"), "nonce 1000: nonce: wrong length" },
	{ TABLE_NONCE, COL_NONCE_job, INT(7),
	        "nonce 1000: job: says otherwise than the job's row" },
	{ TABLE_META, COL_META_value, TEXT("x1"), "meta epoch: value: not a number" },
	{ TABLE_NODE, COL_NODE_drain, INT(9), "node n0: drain: does not fit" },
};

struct kept_row {
	struct row row;
	char bytes[512];
};

struct kept_rows {
	struct kept_row v[32];
	size_t n;
};

static void keep_row(void *arg, const struct row *row)
{
	struct kept_rows *rows = arg;
	struct kept_row *k = &rows->v[rows->n++];
	size_t used = 0, i;

	if (row->table == TABLE_EVENT) {
		rows->n--;
		return;
	}
	assert_true(rows->n <= 32 && row_bytes(row) < sizeof(k->bytes));
	k->row = *row;
	for (i = 0; i < row->n; i++) {
		if (row->v[i].type == VALUE_INT)
			continue;
		if (row->v[i].n)
			memcpy(k->bytes + used, row->v[i].p, row->v[i].n);
		k->row.v[i].p = k->bytes + used;
		used += row->v[i].n;
	}
}

/* A nonce's row beside its job's, as earlier versions wrote it. */
static void keep_nonce(struct kept_rows *rows)
{
	const struct value *job = NULL;
	struct row row;
	size_t i;

	for (i = 0; i < rows->n; i++)
		if (rows->v[i].row.table == TABLE_JOB)
			job = rows->v[i].row.v;
	assert_non_null(job);
	row_begin(&row, TABLE_NONCE, ROW_PUT);
	row.v[COL_NONCE_uid] = job[COL_JOB_uid];
	row.v[COL_NONCE_nonce] = job[COL_JOB_nonce];
	row.v[COL_NONCE_spec_hash] = job[COL_JOB_spec_hash];
	row.v[COL_NONCE_job] = job[COL_JOB_id];
	row.v[COL_NONCE_expires] = job[COL_JOB_submit_time];
	keep_row(rows, &row);
}

static bool row_is(const struct row *row, const struct row_case *c)
{
	static const char epoch[] = "epoch";

	if (row->table != c->table)
		return false;
	return c->table != TABLE_META ||
	       (row->v[0].n == sizeof(epoch) - 1 && !memcmp(row->v[0].p, epoch, sizeof(epoch) - 1));
}

/* Load all rows, one of them changed; -1 when that is refused. */
static int load_changed(
        const struct world *w, struct kept_rows *rows, const struct row_case *c, struct error *err)
{
	struct core *core = core_new(w->conf, 1);
	size_t i, table;
	int rc = 0;

	for (table = 0; table < TABLE_COUNT && rc == 0; table++) {
		for (i = 0; i < rows->n && rc == 0; i++) {
			struct row row = rows->v[i].row;

			if (row.table != table)
				continue;
			if (c && row_is(&row, c))
				row.v[c->column] = c->value;
			rc = core_load(core, &row, err);
		}
	}
	if (rc == 0)
		rc = core_start(core, w->now, err);
	core_free(core);
	return rc;
}

static void bad_rows(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	struct kept_rows rows = { .n = 0 };
	struct error err;
	struct row shorter;
	struct core *core;
	size_t i;

	(void)state;
	world_register_all(w);
	world_submit(w, "h100:1");
	core_seal(w->core, keep_row, &rows);
	keep_nonce(&rows);
	assert_int_equal(load_changed(w, &rows, NULL, &err), 0);
	for (i = 0; i < sizeof(row_cases) / sizeof(row_cases[0]); i++) {
		if (load_changed(w, &rows, &row_cases[i], &err) == 0)
			fail_msg("case %zu was taken", i);
		assert_string_equal(err.text, row_cases[i].text);
	}
	core = core_new(w->conf, 1);
	shorter = rows.v[0].row;
	shorter.n--;
	assert_int_equal(core_load(core, &shorter, &err), -1);
	core_free(core);
	world_free(w);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void no_row(void *arg, const struct row *row)
{
	(void)arg;
	(void)row;
}

#define MANY 50000
static void memory(void **state)
{
	struct world *w = world_simple(1, "h100:1");
	struct mallinfo2 before = mallinfo2(), after;
	struct submit_job job;
	char name[32];
	double each;
	int i;

	(void)state;
	w->unchecked = true;
	for (i = 0; i < MANY; i++) {
		job = world_job(w, "h100:1");
		snprintf(name, sizeof(name), "name-%d", i);
		job.name = name;
		world_submit_job(w, &job, 1000 + (uint32_t)i % 100);
		world_clear(w);
		core_seal(w->core, no_row, NULL);
	}
	after = mallinfo2();
	each = (double)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / MANY;
	printf("%.0f bytes for each of %d waiting jobs, each with a name of its own\n", each, MANY);
	world_free(w);
	if (each <= 0)
		skip(); /* a sanitizer's allocator does not say */
	assert_true(each < 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(heaps),
		cmocka_unit_test(idmaps),
		cmocka_unit_test(orders),
		cmocka_unit_test(texts),
		cmocka_unit_test(gpu_requests),
		cmocka_unit_test(label_rows),
		cmocka_unit_test(waiting),
		cmocka_unit_test(states),
		cmocka_unit_test(ledger),
		cmocka_unit_test(bad_rows),
		cmocka_unit_test(memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
