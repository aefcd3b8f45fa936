/* replay_recorded.c - see replay_recorded.h */
#include "ctld/gsim/replay_recorded.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "common/base/units.h"
#include "ctld/tape/player.h"

#define PROGRESS_EVERY 4096 /* records */
#define VERSION        1

/* --- what was found -------------------------------------------------------------------------- */

struct figure {
	const char *key, *words;
	uint64_t value;
};

#define FIGURES 9
static void figures(const struct player_stats *s, struct figure v[FIGURES])
{
	const struct figure all[FIGURES] = {
		{ "records", "records", s->records },
		{ "bytes", "bytes", s->bytes },
		{ "torn_bytes", "cut short at the end", s->torn },
		{ "sections", "starts of the controller", s->sections },
		{ "events", "events", s->events },
		{ "slices", "scheduler slices", s->slices },
		{ "seals", "batches, equal", s->seals },
		{ "rows", "rows of them", s->rows },
		{ "marks", "marks, equal", s->marks },
	};

	memcpy(v, all, sizeof(all));
}

static void print(const char *path, const struct player_stats *s, FILE *out)
{
	struct figure v[FIGURES];
	char span[UNITS_TEXT];
	size_t i;

	figures(s, v);
	fprintf(out, "%s: the same, to record %llu\n", path, (unsigned long long)s->proved);
	for (i = 0; i < FIGURES; i++)
		fprintf(out, "  %-26s %12llu\n", v[i].words, (unsigned long long)v[i].value);
	fprintf(out, "  %-26s %12s\n", "time",
	        duration_format(span, (uint64_t)(s->span > 0 ? s->span / 1000000 : 0)));
	fprintf(out, "  %-26s %12s\n", "written by gpusched", s->version);
	fprintf(out, "  %-26s %12s\n", "ended in order", s->ended ? "yes" : "no");
}

static void print_json(const char *path, const struct player_stats *s, FILE *out)
{
	json_t *o = json_object();
	struct figure v[FIGURES];
	size_t i;

	figures(s, v);
	json_object_set_new(o, "version", json_integer(VERSION));
	json_object_set_new(o, "file", json_string(path));
	for (i = 0; i < FIGURES; i++)
		json_object_set_new(o, v[i].key, json_integer((json_int_t)v[i].value));
	json_object_set_new(o, "equal_to_record", json_integer((json_int_t)s->proved));
	json_object_set_new(o, "time_s", json_integer((json_int_t)(s->span / 1000000)));
	json_object_set_new(o, "gpusched", json_string(s->version));
	json_object_set_new(o, "ended_in_order", json_boolean(s->ended));
	json_dumpf(o, out, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(o);
}

/* --- the run --------------------------------------------------------------------------------- */

static uint64_t size_of(FILE *f)
{
	struct stat st;

	return fstat(fileno(f), &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int check(const struct player *p, const struct replay_recorded_options *o,
        const struct player_stats *s, struct error *err)
{
	const struct core *core = player_core(p);

	if (!o->check_every || s->records % o->check_every || !core || core_check(core, err) == 0)
		return 0;
	return error_wrap(err, "after record %llu", (unsigned long long)s->records);
}

static int play(
        struct player *p, FILE *f, const struct replay_recorded_options *o, struct error *err)
{
	uint64_t size = size_of(f);
	struct player_stats s;
	int rc;

	while ((rc = player_next(p, err)) > 0) {
		player_stats(p, &s);
		if (check(p, o, &s, err))
			return -1;
		if (o->progress && s.records % PROGRESS_EVERY == 0)
			o->progress(o->arg, s.bytes, size);
	}
	if (rc == 0)
		player_finish(p);
	return rc;
}

static int play_file(FILE *f, const char *path, const struct replay_recorded_options *o, FILE *out,
        struct error *err)
{
	struct player *p = player_new(f, path, err);
	struct player_stats s;
	int rc;

	if (!p)
		return -1;
	if (o->row)
		player_rows(p, o->row, o->arg);
	rc = play(p, f, o, err);
	player_stats(p, &s);
	player_free(p);
	if (rc == 0 && out)
		(o->json ? print_json : print)(path, &s, out);
	return rc;
}

int replay_recorded(
        const char *path, const struct replay_recorded_options *o, FILE *out, struct error *err)
{
	FILE *f = fopen(path, "re");
	int rc;

	if (!f)
		return error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	rc = play_file(f, path, o, out, err);
	fclose(f);
	return rc;
}
