/* jsonjobs.c - histories out of what `gacct --json` printed
 *
 * A file is read whole, since gacct lists jobs by their ends and histories go by submissions.
 * Records that stand for several tasks of an array, which never started, are passed over.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/gsim/history/history.h"

#define MAX_NAME   255
#define MAX_NUMBER 9e15 /* doubles are exact until here */
#define MAX_TIME   4e12 /* seconds; the microseconds of two are a usec_t together */
#define MAX_LABELS 4096

struct jsonjobs {
	const char *path; /* borrowed */
	json_t *root;
	struct entry {
		json_t *job; /* borrowed */
		double submit;
		size_t number;
	} * v;
	size_t n, at;
	bool accounts;
	char name[24], labels[MAX_LABELS], types[MAX_NAME + 1];
};

static void json_close(void *reader)
{
	struct jsonjobs *j = reader;

	json_decref(j->root);
	free(j->v);
	free(j);
}

static int by_submit(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	if (a->submit != b->submit)
		return a->submit < b->submit ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static double number_in(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : 0;
}

static const char *text_in(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static int take_jobs(struct jsonjobs *j, struct error *err)
{
	json_t *jobs = json_object_get(j->root, "jobs"), *job;
	size_t i;

	if (!json_is_array(jobs)) {
		error_set(err, ERR_CONFIG, "%s: no list \"jobs\"", j->path);
		return error_hint(err, "gacct --json prints one");
	}
	j->v = xcalloc(json_array_size(jobs), sizeof(*j->v));
	json_array_foreach(jobs, i, job)
	{
		if (!json_is_true(json_object_get(job, "several")))
			j->v[j->n++] = (struct entry){ job, number_in(job, "submit_time"), i };
	}
	qsort(j->v, j->n, sizeof(*j->v), by_submit);
	return 0;
}

static void *json_open(const char *path, const struct history_options *o, struct error *err)
{
	struct jsonjobs *j = xcalloc(1, sizeof(*j));
	json_error_t why;

	j->path = path;
	j->accounts = o->account_column;
	j->root = strcmp(path, "-") ? json_load_file(path, 0, &why) : json_loadf(stdin, 0, &why);
	if (!j->root)
		error_set(err, ERR_CONFIG, "%s:%d: %s", path, why.line, why.text);
	else if (take_jobs(j, err) == 0)
		return j;
	json_close(j);
	return NULL;
}

/* --- a job ----------------------------------------------------------------------------------- */

/* A number that a job may have; what is not there is 0. */
static int take(const json_t *job, const char *key, double most, double *value, struct error *err)
{
	const json_t *v = json_object_get(job, key);

	*value = 0;
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_number(v))
		return error_set(err, ERR_USAGE, "%s: expected a number", key);
	*value = json_number_value(v);
	if (!isfinite(*value) || *value < 0 || *value > most)
		return error_set(err, ERR_USAGE, "%s: %g cannot be", key, *value);
	return 0;
}

static int take_time(const json_t *job, const char *key, usec_t *time, struct error *err)
{
	double s;

	if (take(job, key, MAX_TIME, &s, err) < 0)
		return -1;
	*time = (usec_t)llround(s * 1e6);
	return 0;
}

/* "h100|l40s" of "h100:2|l40s:2"; any type is "". */
static void asked_types(struct jsonjobs *j, const char *asked)
{
	size_t used = 0, n;

	for (; *asked; asked += strcspn(asked, "|"), asked += *asked == '|') {
		n = strcspn(asked, ":|");
		if (!n || (n == 3 && !strncmp(asked, "any", 3)) || used + n + 2 > sizeof(j->types))
			continue;
		if (used)
			j->types[used++] = '|';
		memcpy(j->types + used, asked, n);
		used += n;
	}
	j->types[used] = '\0';
}

static void take_gpus(struct jsonjobs *j, const json_t *job, struct history_job *out)
{
	const json_t *list = json_object_get(job, "gpus"), *gpu;
	const char *asked = text_in(job, "asked_gpus");
	double sum = 0;
	size_t i;

	json_array_foreach(list, i, gpu)
	{
		sum += number_in(gpu, "count");
		out->past.gpu_type = text_in(gpu, "type");
	}
	asked_types(j, asked);
	out->gpu_type = j->types;
	out->gpus = sum > 0 && sum <= UINT32_MAX ? (uint32_t)sum : 0;
}

static void take_labels(struct jsonjobs *j, const json_t *job)
{
	const json_t *list = json_object_get(job, "labels"), *label;
	size_t used = 0, i;

	json_array_foreach(list, i, label)
	{
		int n = snprintf(j->labels + used, sizeof(j->labels) - used, "%s=%s\n",
		        text_in(label, "key"), text_in(label, "value"));

		if (n < 0 || (size_t)n >= sizeof(j->labels) - used)
			break;
		used += (size_t)n;
	}
	j->labels[used] = '\0';
}

static int take_used(const json_t *job, struct history_past *p, struct error *err)
{
	const json_t *used = json_object_get(job, "used");
	const struct {
		const char *key;
		const json_t *in;
		uint64_t *to;
	} rows[] = {
		{ "gpu_us", job, &p->gpu_us },
		{ "gpu_seen_us", used, &p->gpu_seen_us },
		{ "gpu_busy_us", used, &p->gpu_busy_us },
		{ "gpu_idle_us", used, &p->gpu_idle_us },
		{ "gpu_mem_mbs", used, &p->gpu_mem_mbs },
	};
	double v;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (take(rows[i].in, rows[i].key, MAX_NUMBER, &v, err) < 0)
			return -1;
		*rows[i].to = (uint64_t)v;
	}
	if (take(job, "cost", 9e12, &v, err) < 0)
		return -1;
	p->cost_u = llround(v * 1e6);
	return 0;
}

static int take_numbers(const json_t *job, struct history_job *out, struct error *err)
{
	double elapsed, held, limit, nodes, cpus, mem, max_wait, part, loading, attempts;
	struct history_past *p = &out->past;

	if (take_time(job, "submit_time", &out->submit, err) < 0 ||
	        take_time(job, "first_start_time", &p->start, err) < 0 ||
	        take_time(job, "end_time", &p->end, err) < 0 ||
	        take_time(job, "eligible_time", &p->eligible, err) < 0 ||
	        take(job, "elapsed_s", MAX_TIME, &elapsed, err) < 0 ||
	        take(job, "gpu_held_us", MAX_NUMBER, &held, err) < 0 ||
	        take(job, "time_limit_s", UINT32_MAX, &limit, err) < 0 ||
	        take(job, "n_nodes", UINT32_MAX, &nodes, err) < 0 ||
	        take(job, "cpus", UINT32_MAX, &cpus, err) < 0 ||
	        take(job, "mem_mb", MAX_NUMBER, &mem, err) < 0 ||
	        take(job, "max_wait_s", UINT32_MAX, &max_wait, err) < 0 ||
	        take(job, "part", UINT32_MAX, &part, err) < 0 ||
	        take(job, "loading_us", MAX_NUMBER, &loading, err) < 0 ||
	        take(job, "attempts", UINT32_MAX, &attempts, err) < 0 || take_used(job, p, err) < 0)
		return -1;
	/* Whole seconds; of a single attempt the GPU time has the rest. */
	if (attempts == 1 && out->gpus && held / 1e6 > elapsed * out->gpus)
		elapsed = held / 1e6 / out->gpus;
	out->duration = p->start ? (usec_t)llround(elapsed * 1e6) : -1;
	out->time_limit = limit < UINT32_MAX ? (usec_t)limit * 1000000 : 0;
	out->nodes = nodes > 1 ? (uint32_t)nodes : 0;
	out->cpus = (uint32_t)(cpus * (nodes > 1 ? nodes : 1));
	out->mem_mb = (uint64_t)(mem * (nodes > 1 ? nodes : 1));
	p->eligible_known = p->eligible;
	p->max_wait_s = (uint32_t)max_wait;
	p->part = (uint32_t)part;
	p->replica = number_in(job, "ready_us") > 0 || loading > 0;
	p->cold_start = loading > 0 && attempts > 0 ? (usec_t)(loading / attempts) : 0;
	return 0;
}

static int read_job(
        struct jsonjobs *j, const json_t *job, struct history_job *out, struct error *err)
{
	static const char *const texts[] = { "user", "account", "partition", "qos", "asked_gpus" };
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (text_check(texts[i], text_in(job, texts[i]), MAX_NAME, err) < 0)
			return -1;
	}
	take_gpus(j, job, out);
	take_labels(j, job);
	snprintf(j->name, sizeof(j->name), "%lu", out->line);
	out->name = j->name;
	out->user = text_in(job, "user");
	out->account = j->accounts ? text_in(job, "account") : "";
	out->partition = text_in(job, "partition");
	out->past.state = text_in(job, "state");
	out->past.qos = text_in(job, "qos");
	out->past.asked = text_in(job, "asked_gpus");
	out->past.labels = j->labels;
	return take_numbers(job, out, err);
}

static enum history_result json_next(void *reader, struct history_job *job, struct error *err)
{
	struct jsonjobs *j = reader;
	const json_t *o;

	if (j->at == j->n)
		return HISTORY_END;
	o = j->v[j->at].job;
	*job = (struct history_job){ .group = "",
		.gpu_milli = 1000,
		.line = (unsigned long)number_in(o, "id"),
		.past = { .known = true, .gpu_type = "" } };
	j->at++;
	if (read_job(j, o, job, err) == 0)
		return HISTORY_JOB;
	err->code = ERR_CONFIG;
	error_wrap(err, "%s: job %lu", j->path, job->line);
	return HISTORY_BAD;
}

const struct history_reader history_json = { json_open, json_next, json_close };
