/* history.c - see history.h */
#include "ctld/gsim/history/history.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct source {
	const struct history_reader *reader;
	const char *path;
	void *state; /* the reader's; NULL: at its end */
	bool ready;  /* `job` is still to be handed out */
	bool any;
	usec_t last;
	struct history_job job;
};

struct history_files {
	struct history_options o;
	struct source *v;
	size_t n;
	uint64_t bad;
};

static const struct {
	const char *name;
	const struct history_reader *reader;
} formats[] = {
	{ "csv", &history_csv },
	{ "accounting", &history_accounting },
	{ "record", &history_record },
	{ "json", &history_json },
};

CMD_SETTER(history_set_column)
{
	*(const char **)field = strcmp(value, "none") ? value : NULL;
	return 0;
}

int history_check_files(const char *const *files, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(files[i], files[k]))
				return error_set(err, ERR_USAGE, "%s is there twice", files[i]);
	return 0;
}

const struct history_reader *history_format(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!strcmp(formats[i].name, name))
			return formats[i].reader;
	}
	return NULL;
}

struct history_files *history_files_open(
        const char *const *paths, size_t n, const struct history_options *o, struct error *err)
{
	struct history_files *h = xcalloc(1, sizeof(*h));

	h->o = *o;
	h->v = xcalloc(n, sizeof(*h->v));
	for (h->n = 0; h->n < n; h->n++) {
		struct source *s = &h->v[h->n];

		s->path = paths[h->n];
		s->reader = o->reader ? o->reader : &history_csv;
		s->state = s->reader->open(s->path, o, err);
		if (!s->state) {
			history_files_close(h);
			return NULL;
		}
	}
	return h;
}

static void source_end(struct source *s)
{
	if (s->state)
		s->reader->close(s->state);
	s->state = NULL;
}

void history_files_close(struct history_files *h)
{
	size_t i;

	if (!h)
		return;
	for (i = 0; i < h->n; i++)
		source_end(&h->v[i]);
	free(h->v);
	free(h);
}

uint64_t history_bad(const struct history_files *h)
{
	return h->bad;
}

static int broken(struct history_files *h, const struct error *err)
{
	h->bad++;
	if (h->o.bad)
		h->o.bad(h->o.arg, err);
	return h->o.skip_bad ? 0 : -1;
}

/* See to it that the next job of a file is at hand, or that the file is known to be at its end. */
static int source_fill(struct history_files *h, struct source *s, struct error *err)
{
	while (s->state && !s->ready) {
		enum history_result r = s->reader->next(s->state, &s->job, err);

		if (r == HISTORY_END) {
			source_end(s);
		} else if (r == HISTORY_FAILED) {
			return -1;
		} else if (r == HISTORY_BAD) {
			if (broken(h, err) < 0)
				return -1;
		} else if (s->any && s->job.submit < s->last) {
			error_set(err, ERR_CONFIG,
			        "%s:%lu: submitted at %.6g, before the job above it (%.6g): sort "
			        "the file by submit_s",
			        s->path, s->job.line, (double)s->job.submit / 1e6,
			        (double)s->last / 1e6);
			if (broken(h, err) < 0)
				return -1;
		} else {
			s->ready = s->any = true;
			s->last = s->job.submit;
		}
	}
	return 0;
}

int history_next(struct history_files *h, struct history_job *job, struct error *err)
{
	struct source *best = NULL;
	size_t i;

	for (i = 0; i < h->n; i++) {
		struct source *s = &h->v[i];

		if (source_fill(h, s, err) < 0)
			return -1;
		if (s->ready && (!best || s->job.submit < best->job.submit))
			best = s;
	}
	if (!best)
		return 0;
	best->ready = false;
	*job = best->job;
	return 1;
}
