/* inputs.c - see inputs.h */
#include "config.h"

#include "ctld/loop/inputs.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/ctld.h"
#include "ctld/loop/recorder.h"
#include "ctld/tape/event_codec.h"

struct inputs {
	struct core *core;         /* owned; NULL: not yet */
	struct recorder *recorder; /* NULL: nothing is recorded */
	uint64_t marks, events;    /* a mark is due after so many; since the last one */
	bool started;
};

struct inputs *inputs_new(const char *path, uint64_t marks, struct error *err)
{
	struct inputs *in = xcalloc(1, sizeof(*in));

	in->marks = marks;
	if (path)
		in->recorder = recorder_open(path, err);
	if (!path || in->recorder)
		return in;
	free(in);
	return NULL;
}

static void record(struct inputs *in, const struct tape_record *r)
{
	if (in->recorder)
		recorder_put(in->recorder, r);
}

static void mark(struct inputs *in)
{
	in->events = 0;
	record(in, &(struct tape_record){ .kind = TAPE_MARK, .hash = core_hash(in->core) });
}

void inputs_free(struct inputs *in)
{
	if (!in)
		return;
	if (in->started && in->recorder) {
		mark(in);
		record(in, &(struct tape_record){ .kind = TAPE_END });
	}
	core_free(in->core);
	recorder_close(in->recorder);
	free(in);
}

uint64_t inputs_bytes(const struct inputs *in)
{
	return recorder_bytes(in->recorder);
}

char *inputs_conf_text(const struct conf *conf)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	conf_print(conf, out);
	if (fclose(out))
		abort();
	return text;
}

/* --- the start ------------------------------------------------------------------------------- */

void inputs_core_new(struct ctld *c, uint64_t seed)
{
	struct tape_record r = { .kind = TAPE_START };

	if (c->inputs->recorder) {
		r.start.version = TAPE_VERSION;
		r.start.format = tape_format();
		r.start.gpusched = PACKAGE_VERSION;
		r.start.seed = seed;
		r.start.conf = c->conf_text;
		record(c->inputs, &r);
	}
	c->inputs->core = core_new(c->conf, seed);
	c->core = c->inputs->core;
}

int inputs_load(struct ctld *c, const struct row *row, struct error *err)
{
	record(c->inputs, &(struct tape_record){ .kind = TAPE_ROW, .row = row });
	return core_load(c->inputs->core, row, err);
}

int inputs_start(struct ctld *c, struct clocks now, struct error *err)
{
	record(c->inputs, &(struct tape_record){ .kind = TAPE_STARTED, .now = now });
	if (core_start(c->inputs->core, now, err))
		return -1;
	c->inputs->started = true;
	return 0;
}

void inputs_takeover(struct ctld *c, uint64_t epoch_above, uint64_t job_above)
{
	record(c->inputs, &(struct tape_record){
	                  .kind = TAPE_TAKEOVER, .takeover = { epoch_above, job_above } });
	core_takeover(c->inputs->core, epoch_above, job_above);
}

/* --- from then on ---------------------------------------------------------------------------- */

void inputs_apply(struct ctld *c, const struct core_event *event, struct clocks now)
{
	record(c->inputs, &(struct tape_record){ .kind = TAPE_EVENT, .now = now, .event = event });
	c->inputs->events++;
	core_apply(c->inputs->core, event, now);
}

bool inputs_schedule(struct ctld *c, struct clocks now, unsigned budget)
{
	record(c->inputs,
	        &(struct tape_record){ .kind = TAPE_SLICE, .now = now, .budget = budget });
	return core_schedule(c->inputs->core, now, budget);
}

void inputs_reconfigure(struct ctld *c, struct clocks now)
{
	record(c->inputs,
	        &(struct tape_record){
	                .kind = TAPE_RECONFIGURE, .now = now, .conf = c->conf_text });
	core_reconfigure(c->inputs->core, c->conf, now);
}

bool inputs_why(struct ctld *c, uint64_t ref, struct clocks now, struct job_why *why)
{
	record(c->inputs, &(struct tape_record){ .kind = TAPE_WHY, .now = now, .ref = ref });
	return core_job_why(c->inputs->core, ref, now, why);
}

size_t inputs_seal(struct ctld *c, core_row_sink *sink, void *arg)
{
	struct tape_sum s = { sink, arg, 0 };
	size_t rows;

	if (!c->inputs->recorder)
		return core_seal(c->inputs->core, sink, arg);
	rows = core_seal(c->inputs->core, tape_sum_row, &s);
	record(c->inputs, &(struct tape_record){ .kind = TAPE_SEAL, .seal = { rows, s.sum } });
	return rows;
}

void inputs_effects_clear(struct ctld *c)
{
	core_effects_clear(c->inputs->core);
}

void inputs_tick(struct ctld *c)
{
	struct core_stats stats;
	uint64_t rows;

	if (!c->inputs->recorder)
		return;
	if (c->inputs->events >= c->inputs->marks) {
		core_stats(c->core, &stats);
		rows = stats.jobs + stats.runs;
		if (rows <= RECORDER_HASHED && rows <= c->inputs->events)
			mark(c->inputs);
	}
	recorder_kick(c->inputs->recorder);
}
