/* player.c - see player.h */
#include "ctld/tape/player.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/tape/event_codec.h"
#include "ctld/tape/tape.h"

enum stage { AT_BEGIN, LOADING, RUNNING, STAGES };

struct player {
	struct tape_reader reader;
	enum stage stage;
	struct core *core;
	struct conf *conf;
	player_row_fn *row;
	void *arg;
	struct player_stats stats;
	usec_t wall;         /* of the first clock of all */
	struct error failed; /* code 0: nothing has */
};

struct player *player_new(FILE *f, const char *path, struct error *err)
{
	struct player *p = xcalloc(1, sizeof(*p));

	if (tape_read_begin(&p->reader, f, path, err) == 0)
		return p;
	player_free(p);
	return NULL;
}

static void end_section(struct player *p)
{
	core_free(p->core);
	conf_free(p->conf);
	p->core = NULL;
	p->conf = NULL;
	p->stage = AT_BEGIN;
}

void player_free(struct player *p)
{
	if (!p)
		return;
	end_section(p);
	tape_reader_clear(&p->reader);
	free(p);
}

void player_rows(struct player *p, player_row_fn *fn, void *arg)
{
	p->row = fn;
	p->arg = arg;
}

const struct core *player_core(const struct player *p)
{
	return p->stage == RUNNING ? p->core : NULL;
}

void player_stats(const struct player *p, struct player_stats *s)
{
	*s = p->stats;
	s->records = p->reader.number;
	s->bytes = p->reader.end;
	s->torn = p->reader.torn;
}

/* --- the calls ------------------------------------------------------------------------------- */

static struct conf *read_conf(const char *text, struct error *err)
{
	struct conf_problems problems = { NULL, 0 };
	struct conf *conf = conf_parse(text, "its configuration", &problems);

	if (!conf && problems.n)
		error_set(err, ERR_CONFIG, "%s:%u: %s", problems.v[0].file, problems.v[0].line,
		        problems.v[0].text);
	conf_problems_clear(&problems);
	return conf;
}

static int play_start(struct player *p, const struct tape_record *r, struct error *err)
{
	char name[sizeof(p->stats.version)];

	end_section(p);
	text_escape(name, sizeof(name), r->start.gpusched, strlen(r->start.gpusched));
	if (r->start.version != TAPE_VERSION || r->start.format != tape_format())
		return error_set(err, ERR_CONFIG,
		        "written by gpusched %s, whose events are others than ours", name);
	p->conf = read_conf(r->start.conf, err);
	if (!p->conf)
		return -1;
	memcpy(p->stats.version, name, sizeof(name));
	p->core = core_new(p->conf, r->start.seed);
	p->stage = LOADING;
	p->stats.sections++;
	p->stats.ended = false;
	return 0;
}

static int play_row(struct player *p, const struct tape_record *r, struct error *err)
{
	if (core_load(p->core, r->row, err) < 0)
		return -1;
	if (p->row)
		p->row(p->arg, r->row);
	return 0;
}

static int play_started(struct player *p, const struct tape_record *r, struct error *err)
{
	if (core_start(p->core, r->now, err) < 0)
		return -1;
	p->stage = RUNNING;
	if (p->stats.sections == 1)
		p->wall = r->now.wall;
	return 0;
}

static int play_takeover(struct player *p, const struct tape_record *r, struct error *err)
{
	(void)err;
	core_takeover(p->core, r->takeover.epoch, r->takeover.job);
	return 0;
}

static int play_event(struct player *p, const struct tape_record *r, struct error *err)
{
	if (event_check(r->event, p->conf, err))
		return -1;
	core_apply(p->core, r->event, r->now);
	p->stats.events++;
	return 0;
}

static int play_slice(struct player *p, const struct tape_record *r, struct error *err)
{
	(void)err;
	core_schedule(p->core, r->now, r->budget);
	core_effects_clear(p->core);
	p->stats.slices++;
	return 0;
}

static int play_reconfigure(struct player *p, const struct tape_record *r, struct error *err)
{
	struct conf *conf = read_conf(r->conf, err);

	if (!conf)
		return -1;
	core_reconfigure(p->core, conf, r->now);
	conf_free(p->conf);
	p->conf = conf;
	return 0;
}

static int play_why(struct player *p, const struct tape_record *r, struct error *err)
{
	struct job_why why;

	(void)err;
	core_job_why(p->core, r->ref, r->now, &why);
	return 0;
}

static int differs(const struct player *p, struct error *err)
{
	const char *version = p->stats.version;

	if (p->stats.proved)
		error_hint(err, "up to record %llu all is the same; gpusched %s wrote this",
		        (unsigned long long)p->stats.proved, version);
	else
		error_hint(err, "gpusched %s wrote this", version);
	return -1;
}

static int play_seal(struct player *p, const struct tape_record *r, struct error *err)
{
	struct tape_sum s = { p->row, p->arg, 0 };
	uint64_t rows = core_seal(p->core, tape_sum_row, &s);

	p->stats.seals++;
	p->stats.rows += rows;
	if (rows == r->seal.rows && s.sum == r->seal.sum) {
		p->stats.proved = p->reader.number;
		return 0;
	}
	error_set(err, ERR_INTERNAL,
	        "what has changed is not the same: %llu rows (%016llx), recorded were %llu "
	        "(%016llx)",
	        (unsigned long long)rows, (unsigned long long)s.sum,
	        (unsigned long long)r->seal.rows, (unsigned long long)r->seal.sum);
	return differs(p, err);
}

static int play_mark(struct player *p, const struct tape_record *r, struct error *err)
{
	uint64_t hash = core_hash(p->core);

	p->stats.marks++;
	if (hash == r->hash) {
		p->stats.proved = p->reader.number;
		return 0;
	}
	error_set(err, ERR_INTERNAL, "the state is not the same: %016llx, recorded was %016llx",
	        (unsigned long long)hash, (unsigned long long)r->hash);
	return differs(p, err);
}

static int play_end(struct player *p, const struct tape_record *r, struct error *err)
{
	(void)r;
	(void)err;
	p->stats.ended = true;
	return 0;
}

typedef int play_fn(struct player *p, const struct tape_record *r, struct error *err);
static const struct {
	play_fn *play;
	bool at[STAGES];
} plays[TAPE_KINDS] = {
	[TAPE_START] = { play_start, { true, true, true } },
	[TAPE_ROW] = { play_row, { [LOADING] = true } },
	[TAPE_STARTED] = { play_started, { [LOADING] = true } },
	[TAPE_TAKEOVER] = { play_takeover, { [RUNNING] = true } },
	[TAPE_EVENT] = { play_event, { [RUNNING] = true } },
	[TAPE_SLICE] = { play_slice, { [RUNNING] = true } },
	[TAPE_RECONFIGURE] = { play_reconfigure, { [RUNNING] = true } },
	[TAPE_WHY] = { play_why, { [RUNNING] = true } },
	[TAPE_SEAL] = { play_seal, { [RUNNING] = true } },
	[TAPE_MARK] = { play_mark, { [RUNNING] = true } },
	[TAPE_END] = { play_end, { [RUNNING] = true } },
};

static int play(struct player *p, const struct tape_record *r, struct error *err)
{
	if (!plays[r->kind].at[p->stage])
		return error_set(err, ERR_CONFIG, "it is out of place here");
	if (plays[r->kind].play(p, r, err))
		return -1;
	if (p->stage == RUNNING && r->now.wall)
		p->stats.span = r->now.wall - p->wall;
	return 0;
}

int player_next(struct player *p, struct error *err)
{
	struct tape_record r;
	int rc;

	if (p->failed.code)
		goto failed;
	rc = tape_read(&p->reader, &r, &p->failed);
	if (rc == 0)
		return 0;
	if (rc > 0 && play(p, &r, &p->failed) == 0)
		return 1;
	if (rc > 0) {
		error_wrap(&p->failed, "%s", tape_kind_name(r.kind));
		tape_wrap(&p->reader, &p->failed);
	}
failed:
	if (err)
		*err = p->failed;
	return -1;
}

void player_finish(struct player *p)
{
	struct tape_sum s = { p->row, p->arg, 0 };

	if (p->stage == RUNNING)
		core_seal(p->core, tape_sum_row, &s);
	end_section(p);
}
