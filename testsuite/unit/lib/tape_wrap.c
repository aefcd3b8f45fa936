/* tape_wrap.c - every core of a test is recorded, and played again when it is freed
 *
 * Linked into a test of the core with -Wl,--wrap for the calls of core.h: so what the random tests
 * do to a core is what the record must know, clocks, crashes, reloads and all. A difference, or a
 * record that cannot be read, aborts with its text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched_impl.h"
#include "ctld/tape/event_codec.h"
#include "ctld/tape/player.h"
#include "ctld/tape/tape.h"
#include "testsuite/unit/lib/amount.h"

#define MARK_EVERY 1 /* events */

struct taped {
	struct taped *next;
	const struct core *core;
	struct tape_writer writer;
	struct bytes bytes;
	unsigned events;
	bool started;
};

static struct taped *all;

struct core *__real_core_new(const struct conf *conf, uint64_t seed);
void __real_core_free(struct core *core);
int __real_core_load(struct core *core, const struct row *row, struct error *err);
int __real_core_start(struct core *core, struct clocks now, struct error *err);
void __real_core_apply(struct core *core, const struct core_event *event, struct clocks now);
bool __real_core_schedule(struct core *core, struct clocks now, unsigned budget);
size_t __real_core_seal(struct core *core, core_row_sink *sink, void *arg);
void __real_core_reconfigure(struct core *core, const struct conf *conf, struct clocks now);
void __real_core_takeover(struct core *core, uint64_t epoch_above, uint64_t job_above);
bool __real_core_job_why(struct core *core, uint64_t ref, struct clocks now, struct job_why *why);

struct core *__wrap_core_new(const struct conf *conf, uint64_t seed);
void __wrap_core_free(struct core *core);
int __wrap_core_load(struct core *core, const struct row *row, struct error *err);
int __wrap_core_start(struct core *core, struct clocks now, struct error *err);
void __wrap_core_apply(struct core *core, const struct core_event *event, struct clocks now);
bool __wrap_core_schedule(struct core *core, struct clocks now, unsigned budget);
size_t __wrap_core_seal(struct core *core, core_row_sink *sink, void *arg);
void __wrap_core_reconfigure(struct core *core, const struct conf *conf, struct clocks now);
void __wrap_core_takeover(struct core *core, uint64_t epoch_above, uint64_t job_above);
bool __wrap_core_job_why(struct core *core, uint64_t ref, struct clocks now, struct job_why *why);

static void out(void *arg, const void *frame, size_t n)
{
	bytes_raw(arg, frame, n);
}

/* NULL: a player's own. */
static struct taped *find(const struct core *core)
{
	struct taped *t;

	for (t = all; t && t->core != core; t = t->next)
		;
	return t;
}

static void record(const struct core *core, const struct tape_record *r)
{
	struct taped *t = find(core);

	if (t)
		tape_write(&t->writer, r);
}

static char *text_of(const struct conf *conf)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	conf_print(conf, f);
	fclose(f);
	return text;
}

static bool playing;
static size_t search_step; /* of the core that was recorded: no record says what a test chose */

/* Fewer of the histories that the tests make: each is played again, and here more slowly. */
__attribute__((constructor)) static void fewer_cases(void)
{
	static const struct {
		const char *name;
		uint64_t all;
	} v[] = { { "CORE_CASES", 12 }, { "POLICY_CASES", 100 } };

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char number[24];

		snprintf(number, sizeof(number), "%" PRIu64, amount(v[i].name, v[i].all));
		setenv(v[i].name, number, 0);
	}
}

struct core *__wrap_core_new(const struct conf *conf, uint64_t seed)
{
	struct taped *t;
	char *text;

	if (playing) {
		struct core *core = __real_core_new(conf, seed);

		sched_search_step(core->sched, search_step);
		return core;
	}
	t = xcalloc(1, sizeof(*t));
	text = text_of(conf);
	t->core = __real_core_new(conf, seed);
	t->writer.out = out;
	t->writer.arg = &t->bytes;
	t->next = all;
	all = t;
	bytes_raw(&t->bytes, TAPE_MAGIC, TAPE_MAGIC_LEN);
	record(t->core, &(struct tape_record){ .kind = TAPE_START,
	                        .start = { TAPE_VERSION, tape_format(), "test", seed, text } });
	free(text);
	return (struct core *)(uintptr_t)t->core;
}

int __wrap_core_load(struct core *core, const struct row *row, struct error *err)
{
	int rc = __real_core_load(core, row, err);

	if (rc == 0)
		record(core, &(struct tape_record){ .kind = TAPE_ROW, .row = row });
	return rc;
}

int __wrap_core_start(struct core *core, struct clocks now, struct error *err)
{
	struct taped *t = find(core);
	int rc = __real_core_start(core, now, err);

	if (rc == 0)
		record(core, &(struct tape_record){ .kind = TAPE_STARTED, .now = now });
	if (t)
		t->started = rc == 0;
	return rc;
}

static void mark(const struct core *core)
{
	record(core, &(struct tape_record){ .kind = TAPE_MARK, .hash = core_hash(core) });
}

void __wrap_core_apply(struct core *core, const struct core_event *event, struct clocks now)
{
	struct taped *t = find(core);

	record(core, &(struct tape_record){ .kind = TAPE_EVENT, .now = now, .event = event });
	__real_core_apply(core, event, now);
	if (t && ++t->events % MARK_EVERY == 0)
		mark(core);
}

bool __wrap_core_schedule(struct core *core, struct clocks now, unsigned budget)
{
	record(core, &(struct tape_record){ .kind = TAPE_SLICE, .now = now, .budget = budget });
	return __real_core_schedule(core, now, budget);
}

size_t __wrap_core_seal(struct core *core, core_row_sink *sink, void *arg)
{
	struct tape_sum s = { sink, arg, 0 };
	size_t rows = __real_core_seal(core, tape_sum_row, &s);

	record(core, &(struct tape_record){ .kind = TAPE_SEAL, .seal = { rows, s.sum } });
	return rows;
}

void __wrap_core_reconfigure(struct core *core, const struct conf *conf, struct clocks now)
{
	char *text = text_of(conf);

	record(core, &(struct tape_record){ .kind = TAPE_RECONFIGURE, .now = now, .conf = text });
	free(text);
	__real_core_reconfigure(core, conf, now);
}

void __wrap_core_takeover(struct core *core, uint64_t epoch_above, uint64_t job_above)
{
	record(core, &(struct tape_record){
	                     .kind = TAPE_TAKEOVER, .takeover = { epoch_above, job_above } });
	__real_core_takeover(core, epoch_above, job_above);
}

bool __wrap_core_job_why(struct core *core, uint64_t ref, struct clocks now, struct job_why *why)
{
	record(core, &(struct tape_record){ .kind = TAPE_WHY, .now = now, .ref = ref });
	return __real_core_job_why(core, ref, now, why);
}

static void play(const struct taped *t)
{
	FILE *f = fmemopen(t->bytes.v, t->bytes.n, "r");
	struct error err = { .code = ERR_NONE };
	struct player *p = player_new(f, "tape", &err);
	struct player_stats s;
	int rc;

	while (p && (rc = player_next(p, &err)) > 0)
		;
	if (!p || rc < 0) {
		fprintf(stderr, "%s; %s\n", err.text, err.hint);
		abort();
	}
	player_stats(p, &s);
	if (s.records != t->writer.records || s.torn) {
		fprintf(stderr, "%llu of %llu records\n", (unsigned long long)s.records,
		        (unsigned long long)t->writer.records);
		abort();
	}
	player_free(p);
	fclose(f);
}

void __wrap_core_free(struct core *core)
{
	struct taped *t = core ? find(core) : NULL, **at;

	if (t && t->started) {
		mark(core);
		playing = true;
		search_step = core->sched->search_step;
		play(t);
		playing = false;
	}
	__real_core_free(core);
	for (at = &all; *at && *at != t; at = &(*at)->next)
		;
	if (!*at)
		return;
	*at = t->next;
	bytes_free(&t->bytes);
	tape_writer_clear(&t->writer);
	free(t);
}
