/* history_jobs.c - reading a history; see history_jobs.h */
#include "ctld/gdemand/history_jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"
#include "ctld/tape/tape.h"

#define USEC_PER_S     ((usec_t)1000000)
#define HOUR           (3600 * USEC_PER_S)
#define DATED          (1000000000 * USEC_PER_S) /* later than that since 1970: a date */
#define BLOCKS_WANTED  8
#define BLOCKS_MOST    4096
#define MAX_WORD       255
#define PROGRESS_EVERY 4096

const char *const job_kind_names[KINDS] = { "batch", "interactive", "service" };

/* --- formats --------------------------------------------------------------------------------- */

const struct history_reader *past_format(const char *path, struct error *err)
{
	static const char sqlite[] = "SQLite format 3";
	char head[32] = "", *text = head;
	FILE *f;
	size_t n;

	if (!strcmp(path, "-"))
		return &history_csv;
	f = fopen(path, "re");
	n = f ? fread(head, 1, sizeof(head) - 1, f) : 0;
	if (!f || ferror(f)) {
		error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
		if (f)
			fclose(f);
		return NULL;
	}
	fclose(f);
	if (!n) {
		error_set(err, ERR_CONFIG, "%s: the file is empty", path);
		return NULL;
	}
	text += strspn(head, " \t\r\n");
	return !memcmp(head, sqlite, sizeof(sqlite))        ? &history_accounting
	       : !strncmp(head, TAPE_MAGIC, TAPE_MAGIC_LEN) ? &history_record
	       : *text == '{'                               ? &history_json
	                                                    : &history_csv;
}

/* --- one job --------------------------------------------------------------------------------- */

/* Is `word` one of "a,b"? */
static bool listed(const char *list, const char *word)
{
	size_t n = strlen(word), k;

	for (; n && list && *list; list += k + (list[k] == ',')) {
		k = strcspn(list, ",");
		if (k == n && !strncmp(list, word, n))
			return true;
	}
	return false;
}

/* The value of a label; "": it has none. */
static const char *label_of(const char *labels, const char *key, char word[MAX_WORD + 1])
{
	size_t n = strlen(key), k;

	word[0] = '\0';
	for (; labels && *labels; labels += k + (labels[k] == '\n')) {
		k = strcspn(labels, "\n");
		if (k > n && k - n - 1 <= MAX_WORD && labels[n] == '=' && !strncmp(labels, key, n))
			snprintf(word, MAX_WORD + 1, "%.*s", (int)(k - n - 1), labels + n + 1);
	}
	return word;
}

/* The number of GPUs in the request of a job that never had any: the 2 of "h100:2|l40s:4". */
static uint32_t first_count(const char *asked)
{
	const char *colon = strchr(asked, ':');
	unsigned long n = colon ? strtoul(colon + 1, NULL, 10) : 0;

	return n < 1000000 ? (uint32_t)n : 0;
}

static enum job_kind kind_of(const struct past_options *o, const struct history_job *h)
{
	char word[MAX_WORD + 1];

	if (h->past.known && (h->past.replica || *label_of(h->past.labels, "service", word)))
		return KIND_SERVICE;
	if (listed(o->interactive, h->partition) ||
	        (h->past.known && listed(o->interactive, h->past.qos)))
		return KIND_INTERACTIVE;
	return KIND_BATCH;
}

static void take_target(
        const struct past_options *o, const struct history_job *h, struct past_job *j)
{
	uint32_t qos = o->conf && h->past.known ? CONF_FIND(o->conf, qos, h->past.qos) : CONF_NONE;
	uint32_t s = h->past.max_wait_s;

	if (!s && qos != CONF_NONE)
		s = o->conf->qos[qos].max_wait_s;
	j->declared = s;
	j->target = s ? (usec_t)s * USEC_PER_S : o->max_wait;
}

static void take_names(struct past *p, const struct history_job *h, struct past_job *j)
{
	const char *had = h->past.known ? h->past.gpu_type : "";
	char word[MAX_WORD + 1];

	j->user = text_numbers_get(p->names, h->user);
	j->account = text_numbers_get(p->names, h->account);
	j->partition = text_numbers_get(p->names, h->partition);
	j->qos = text_numbers_get(p->names, h->past.known ? h->past.qos : "");
	j->asked = text_numbers_get(p->names, h->gpu_type);
	j->type = text_numbers_get(p->names, *had ? had : *h->gpu_type ? h->gpu_type : "any");
	j->model = text_numbers_get(p->names, label_of(h->past.labels, "model", word));
	p->has.labels |= *word != '\0';
}

/* When the job could start, when it started, and when it was cancelled while it waited. */
static void take_times(struct past *p, const struct history_job *h, struct past_job *j)
{
	const struct history_past *past = &h->past;
	bool cancelled = past->known && !strcmp(past->state, "CANCELLED");

	j->submit = j->eligible = h->submit;
	j->start = j->left = PAST_UNKNOWN;
	j->duration = h->duration >= 0 ? h->duration : PAST_UNKNOWN;
	if (!past->known)
		return;
	p->has.starts = p->has.states = true;
	p->has.eligible |= past->eligible_known;
	if (past->eligible > j->submit)
		j->eligible = past->eligible;
	if (past->start) {
		j->start = past->start;
	} else {
		p->flaws.never_ran++;
		j->duration = PAST_UNKNOWN;
		if (cancelled && past->end >= j->eligible)
			j->left = past->end;
	}
	if (past->start && past->start < j->eligible) {
		p->flaws.clock_steps += past->start < j->submit;
		j->start = j->eligible;
	}
}

static void take_use(struct past *p, const struct history_past *past, struct past_job *j)
{
	j->gpu_us = (double)past->gpu_us;
	j->seen_us = (double)past->gpu_seen_us;
	j->busy_us = (double)past->gpu_busy_us;
	j->idle_us = (double)past->gpu_idle_us;
	j->mem_mbs = (double)past->gpu_mem_mbs;
	j->cost = (double)past->cost_u / 1e6;
	j->cold_start = past->cold_start;
	j->held = past->held;
	p->has.memory |= past->gpu_mem_mbs > 0;
	p->has.use |= past->gpu_seen_us > 0;
	p->has.cost |= past->cost_u > 0;
}

static void take_job(struct past *p, const struct past_options *o, const struct history_job *h)
{
	uint32_t charge = h->past.charge ? h->past.charge : h->gpu_milli ? h->gpu_milli : 1000;
	struct past_job *j = XADD(p->v, p->n, p->size);

	*j = (struct past_job){ .gpus = h->gpus,
		.nodes = h->nodes,
		.cpus = h->cpus,
		.gpu_milli = h->gpu_milli,
		.mem_mb = h->mem_mb,
		.gpu_mem_mb = h->gpu_mem_mb,
		.gpu_mem_burst_mb = h->gpu_mem_burst_mb,
		.time_limit = h->time_limit,
		.id = h->line,
		.part = h->past.part,
		.kind = kind_of(o, h) };
	take_names(p, h, j);
	take_times(p, h, j);
	take_target(o, h, j);
	take_use(p, &h->past, j);
	if (!j->gpus && h->past.known)
		j->gpus = first_count(h->past.asked);
	j->milli = (int64_t)j->gpus * charge;
	p->flaws.endless += j->duration == PAST_UNKNOWN && j->left == PAST_UNKNOWN;
	p->flaws.no_gpus += !j->milli;
}

/* --- all of them ----------------------------------------------------------------------------- */

static int by_identity(const void *x, const void *y)
{
	const struct past_job *a = x, *b = y;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->part < b->part ? -1 : a->part > b->part;
}

/* A job that is in history.db and in an archive of it is one job. */
static void drop_repeated(struct past *p)
{
	size_t i, n = 0;

	qsort(p->v, p->n, sizeof(*p->v), by_identity);
	for (i = 0; i < p->n; i++) {
		if (n && !by_identity(&p->v[n - 1], &p->v[i]))
			p->flaws.repeated++;
		else
			p->v[n++] = p->v[i];
	}
	p->n = n;
}

static int by_eligible(const void *x, const void *y)
{
	const struct past_job *a = x, *b = y;

	if (a->eligible != b->eligible)
		return a->eligible < b->eligible ? -1 : 1;
	return by_identity(x, y);
}

static void shift(usec_t *time, usec_t by)
{
	if (*time != PAST_UNKNOWN)
		*time -= by;
}

/* Times from the first submission on. */
static void shift_all(struct past *p)
{
	size_t i;

	p->origin = p->v[0].submit;
	for (i = 0; i < p->n; i++)
		p->origin = p->v[i].submit < p->origin ? p->v[i].submit : p->origin;
	p->dated = p->origin >= DATED;
	for (i = 0; i < p->n; i++) {
		p->v[i].submit -= p->origin;
		p->v[i].eligible -= p->origin;
		shift(&p->v[i].start, p->origin);
		shift(&p->v[i].left, p->origin);
	}
}

/* Examines the time from the first to the last job. If that is shorter than most jobs run, they
 * were submitted together: then until the last one has ended. */
static void take_window(struct past *p, const struct past_options *o)
{
	usec_t first = -1, last = 0, end = 0;
	double sum = 0;
	size_t i, n = 0;

	for (i = 0; i < p->n; i++) {
		const struct past_job *j = &p->v[i];
		usec_t began = j->start > j->eligible ? j->start : j->eligible;
		usec_t over = began + (j->duration > 0 ? j->duration : 0);

		if (j->milli <= 0)
			continue;
		first = first < 0 ? j->eligible : first;
		last = j->eligible;
		end = over > end ? over : end;
		sum += j->duration > 0 ? (double)j->duration : 0;
		n++;
	}
	p->from = first > o->from ? first : o->from;
	p->to = n && (double)(last - first) < sum / (double)n ? end : last;
	if (o->until && o->until < p->to)
		p->to = o->until;
}

usec_t past_block_span(enum block_length length)
{
	static const usec_t spans[] = {
		[BLOCKS_HOURS] = HOUR, [BLOCKS_DAYS] = 24 * HOUR, [BLOCKS_WEEKS] = 7 * 24 * HOUR
	};

	return spans[length];
}

uint32_t past_block_at(const struct past *p, usec_t at)
{
	usec_t span = past_block_span(p->block_length), block = span ? (at - p->from) / span : 0;

	return block < 0 ? 0 : block < p->blocks ? (uint32_t)block : p->blocks - 1;
}

/* Chooses the greatest length of blocks of which there are enough. */
static void cut_blocks(struct past *p)
{
	enum block_length length = BLOCKS_WEEKS;
	usec_t span;
	size_t i;

	while (length != BLOCKS_NONE && (p->to - p->from) / past_block_span(length) < BLOCKS_WANTED)
		length--;
	span = past_block_span(length);
	p->block_length = length;
	p->blocks = span ? (uint32_t)((p->to - p->from) / span) : 1;
	p->blocks = p->blocks > BLOCKS_MOST ? BLOCKS_MOST : p->blocks;
	for (i = 0; i < p->n; i++)
		p->v[i].block = past_block_at(p, p->v[i].eligible);
}

static int read_all(struct past *p, const struct past_options *o, struct error *err)
{
	struct history_files *h = history_files_open(o->files, o->n_files, &o->history, err);
	struct history_job job;
	int rc = -1;

	while (h && (rc = history_next(h, &job, err)) > 0) {
		take_job(p, o, &job);
		if (o->progress && p->n % PROGRESS_EVERY == 0)
			o->progress(o->progress_arg, p->n);
	}
	p->flaws.bad_rows = h ? history_bad(h) : 0;
	if (rc < 0 && p->flaws.bad_rows && !o->history.skip_bad)
		error_hint(err, "--skip-bad leaves broken rows out");
	history_files_close(h);
	return rc;
}

int past_read(struct past *p, const struct past_options *o, struct error *err)
{
	size_t i, n = 0;

	*p = (struct past){ .names = text_numbers_new() };
	if (read_all(p, o, err) < 0)
		return -1;
	if (!p->n)
		return error_set(err, ERR_CONFIG, "%s%s: no job in it", o->files[0],
		        o->n_files > 1 ? " and others" : "");
	if (o->n_files > 1 && o->history.reader != &history_csv)
		drop_repeated(p);
	shift_all(p);
	qsort(p->v, p->n, sizeof(*p->v), by_eligible);
	take_window(p, o);
	if (p->flaws.no_gpus == p->n)
		return error_set(err, ERR_CONFIG, "none of its %zu jobs has GPUs", p->n);
	cut_blocks(p);
	for (i = 0; i < p->n; i++)
		n += past_counts(p, &p->v[i]);
	if (p->to <= p->from || !n)
		return error_set(err, ERR_CONFIG,
		        "no time to look at: of %zu jobs with GPUs none came between --from and "
		        "--until, or all came and ended at one moment",
		        p->n - (size_t)p->flaws.no_gpus);
	return 0;
}

void past_clear(struct past *p)
{
	free(p->v);
	text_numbers_free(p->names);
	*p = (struct past){ 0 };
}

/* --- for gsim -------------------------------------------------------------------------------- */

struct replayed {
	struct past_replay o;
	size_t at;
	char name[24];
};

static void *replay_open(const char *path, const struct history_options *o, struct error *err)
{
	struct replayed *r = xcalloc(1, sizeof(*r));

	(void)path;
	(void)err;
	r->o = *(const struct past_replay *)o->arg;
	return r;
}

static enum history_result replay_next(void *reader, struct history_job *job, struct error *err)
{
	struct replayed *r = reader;
	const struct past *p = r->o.past;
	const struct past_job *j;

	(void)err;
	while (r->at < p->n && p->v[r->at].duration == PAST_UNKNOWN)
		r->at++;
	if (r->at == p->n)
		return HISTORY_END;
	j = &p->v[r->at];
	snprintf(r->name, sizeof(r->name), "%zu", r->at++);
	*job = (struct history_job){ .name = r->name,
		.user = text_numbers_text(p->names, j->user),
		.account = text_numbers_text(p->names, j->account),
		.group = text_numbers_text(p->names, j->account),
		.partition = r->o.one_partition ? "" : text_numbers_text(p->names, j->partition),
		.gpu_type = text_numbers_text(p->names, j->asked),
		.submit = j->eligible,
		.duration = j->duration,
		.time_limit = j->time_limit,
		.gpus = j->gpus,
		.gpu_milli = j->gpu_milli,
		.nodes = j->nodes,
		.cpus = j->cpus,
		.mem_mb = j->mem_mb,
		.gpu_mem_mb = j->gpu_mem_mb,
		.gpu_mem_burst_mb = j->gpu_mem_burst_mb,
		.line = (unsigned long)r->at };
	return HISTORY_JOB;
}

const struct history_reader past_reader = { replay_open, replay_next, free };
