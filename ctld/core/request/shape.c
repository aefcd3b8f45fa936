/* shape.c - see shape.h
 *
 * shape_read() checks a submit as its user wrote it and reports mistakes by option. shape_parse()
 * reads the two texts that a row keeps into a submit and goes the same way; so a row may say
 * exactly what a submit may.
 *
 * A request has two texts: its GPUs, and all else (`place`), where only what differs from the
 * default is written, as words in one order. So equal requests have equal texts, and requests.c
 * keeps each once.
 */
#include "ctld/core/request/shape.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/hostlist.h"
#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/gpu/gpus_by_type.h"
#include "ctld/core/request/nodefilter.h"

#define MAX_COUNT 9999 /* of GPUs in one alternative */
#define SHOWN     100  /* bytes of a text in an error */

/* Letters, digits, '-', '_' and '.', as names in the configuration are. */
static bool is_name(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || (text[n] && strchr("-_.", text[n])))
		n++;
	return n && n <= SHAPE_MAX_NAME && !text[n];
}

static const char *text_of(const char *text)
{
	return text ? text : "";
}

/* --- GPUs ------------------------------------------------------------------------------------ */

/* Parts of GPUs: one GPU where nothing else is said. */
static int read_share(struct shape *s, const struct submit_job *job, struct error *err)
{
	char burst[UNITS_TEXT], mem[UNITS_TEXT];

	s->share = (struct share_wish){ .milli = job->gpu_share_milli, .mem_mb = job->gpu_mem_mb };
	s->gpu_mem_burst_mb = job->gpu_mem_burst_mb;
	if (s->gpu_mem_burst_mb && s->gpu_mem_burst_mb < s->share.mem_mb)
		return error_set(err, ERR_JOB_SPEC,
		        "--gpu-mem-burst=%s: less than --gpu-mem=%s, which it is to exceed",
		        size_format_exact(burst, s->gpu_mem_burst_mb << 20),
		        size_format_exact(mem, s->share.mem_mb << 20));
	if (s->gpu_mem_burst_mb && !share_wished(&s->share))
		return error_set(err, ERR_JOB_SPEC,
		        "--gpu-mem-burst: say with --gpu-mem what the job needs at any time");
	if (!share_wished(&s->share))
		return 0;
	if (s->share.milli > GPU_MILLI)
		return error_set(err, ERR_JOB_SPEC, "--gpu-share: more than all of a GPU");
	if (s->exclusive)
		return error_set(err, ERR_JOB_SPEC,
		        "--exclusive asks for whole nodes, %s for a part of a GPU",
		        s->share.mem_mb ? "--gpu-mem" : "--gpu-share");
	if (!s->n) {
		s->v[s->n++].count = 1;
		free(s->text);
		s->text = xstrdup("any:1");
	}
	return 0;
}

/* The text is "TYPE:COUNT|..." with "any" where no type is named. */
static int read_gpus(struct shape *s, const struct submit_job *job, struct error *err)
{
	struct strbuf text = { 0 };

	if (job->n_gpus > MAX_GPU_ALTERNATIVES)
		return error_set(err, ERR_JOB_SPEC,
		        "--gpus: %zu alternatives; at most %d are possible", job->n_gpus,
		        MAX_GPU_ALTERNATIVES);
	for (size_t i = 0; i < job->n_gpus; i++) {
		const char *type = text_of(job->gpus[i].type);
		uint32_t count = job->gpus[i].count;

		if (*type && strcmp(type, GPUS_BY_TYPE_ANY) && gpus_by_type_check(type, NULL) < 0)
			return error_set(
			        err, ERR_NO_GPU_TYPE, "--gpus: no GPU type has such a name");
		if (count < 1 || count > MAX_COUNT)
			return error_set(err, ERR_JOB_SPEC, "--gpus=%s:%u: a count is 1 to %d",
			        *type ? type : "any", count, MAX_COUNT);
		if (strcmp(type, "any"))
			snprintf(s->v[i].type, sizeof(s->v[i].type), "%s", type);
		s->v[i].count = count;
	}
	s->n = job->n_gpus;
	for (size_t i = 0; i < s->n; i++)
		strbuf_addf(&text, "%s%s:%u", i ? "|" : "", *s->v[i].type ? s->v[i].type : "any",
		        s->v[i].count);
	s->text = strbuf_take(&text);
	return 0;
}

/* --- nodes ----------------------------------------------------------------------------------- */

void shape_memo_clear(struct shape_memo *memo)
{
	for (size_t i = 0; i < SHAPE_MEMO; i++) {
		free(memo->v[i].text);
		free(memo->v[i].list);
	}
	*memo = (struct shape_memo){ .next = 0 };
}

/* Long lists of nodes are expanded and sorted once for several submits of the same list. */
static bool remembered(const struct shape_memo *memo, const char *text, char **to, uint32_t *n)
{
	for (size_t i = 0; memo && i < SHAPE_MEMO; i++) {
		if (!memo->v[i].text || strcmp(memo->v[i].text, text) != 0)
			continue;
		*to = xstrdup(memo->v[i].list);
		*n = memo->v[i].n;
		return true;
	}
	return false;
}

static void remember(struct shape_memo *memo, const char *text, const char *list, uint32_t n)
{
	unsigned at;

	if (!memo || n < SHAPE_MEMO_NAMES)
		return;
	at = memo->next++ % SHAPE_MEMO;
	free(memo->v[at].text);
	free(memo->v[at].list);
	memo->v[at].text = xstrdup(text);
	memo->v[at].list = xstrdup(list);
	memo->v[at].n = n;
}

/* Sorted and compressed; *n: how many names it has. */
static int read_hostlist(struct shape_memo *memo, const char *option, const char *text, char **to,
        uint32_t *n, struct error *err)
{
	char **names = NULL;
	size_t count = 0;

	text = text_of(text);
	if (strlen(text) > SHAPE_MAX_TEXT)
		return error_set(
		        err, ERR_JOB_SPEC, "%s: more than %d bytes", option, SHAPE_MAX_TEXT);
	if (remembered(memo, text, to, n))
		return 0;
	if (*text && hostlist_expand(text, HOSTLIST_MAX, &names, &count, err) < 0) {
		if (err)
			err->code = ERR_JOB_SPEC;
		return error_wrap(err, "%s", option);
	}
	*to = hostlist_compress((const char *const *)names, count);
	*n = (uint32_t)count;
	free(names);
	/* It may be longer than what was given: one [...] a name. A row must be read back. */
	if (strlen(*to) > SHAPE_MAX_TEXT)
		return error_set(err, ERR_JOB_SPEC,
		        "%s: too many names that have no common list (%d bytes at most)", option,
		        SHAPE_MAX_TEXT);
	remember(memo, text, *to, *n);
	return 0;
}

static int read_features(const char *option, const char *text, char **to, struct error *err)
{
	text = text_of(text);
	if (strlen(text) > SHAPE_MAX_TEXT)
		return error_set(
		        err, ERR_JOB_SPEC, "%s: more than %d bytes", option, SHAPE_MAX_TEXT);
	*to = *text ? nodefilter_expression(option, text, err) : xstrdup("");
	return *to ? 0 : -1;
}

/* `named`: how many nodes the list names. Without --nodes the job gets just these; and never fewer
 * than these. */
static int read_counts(
        struct shape *s, const struct submit_job *job, uint32_t named, struct error *err)
{
	s->nodes_min = job->nodes_min ? job->nodes_min : job->nodes_max || !named ? 1 : named;
	s->nodes_max = job->nodes_max ? job->nodes_max : s->nodes_min;
	if (s->nodes_max > CONF_MAX_NODES)
		return error_set(err, ERR_JOB_SPEC, "--nodes=%u: at most %d are possible",
		        s->nodes_max, CONF_MAX_NODES);
	if (s->nodes_min > s->nodes_max)
		return error_set(err, ERR_JOB_SPEC, "--nodes=%u-%u: the least is above the most",
		        s->nodes_min, s->nodes_max);
	if (named > s->nodes_max)
		return error_set(err, ERR_JOB_SPEC,
		        "--nodelist=%.*s: %u nodes, and --nodes asks for at most %u", SHOWN,
		        s->nodelist, named, s->nodes_max);
	if (s->nodes_min < named)
		s->nodes_min = named;
	s->per_node = job->gpus_per_node && s->n && s->nodes_max > 1;
	for (size_t i = 0; i < s->n && !s->per_node; i++) {
		if (s->v[i].count >= s->nodes_min)
			continue;
		error_set(err, ERR_JOB_SPEC, "--gpus=%s for --nodes=%u: fewer GPUs than nodes",
		        s->text, s->nodes_min);
		return error_hint(err, "for so many on each node: --gpus-per-node=%.200s", s->text);
	}
	return 0;
}

/* --- licences -------------------------------------------------------------------------------- */

static int by_licence(const void *x, const void *y)
{
	return strcmp(x, y); /* the name comes first */
}

static int read_licence(struct shape *s, char *part, struct error *err)
{
	char *colon = strchr(part, ':'), *end = NULL, shown[SHOWN];
	unsigned long count = 1;

	text_escape(shown, sizeof(shown), part, strlen(part));
	if (colon) {
		*colon = '\0';
		count = strtoul(colon + 1, &end, 10);
	}
	if (!is_name(part) || (colon && (colon[1] < '0' || colon[1] > '9' || *end)) || count < 1 ||
	        count > UINT32_MAX / 2)
		return error_set(
		        err, ERR_JOB_SPEC, "--licenses: '%s': expected NAME or NAME:COUNT", shown);
	if (s->n_licences == MAX_LICENCE_NEEDS)
		return error_set(
		        err, ERR_JOB_SPEC, "--licenses: more than %d of them", MAX_LICENCE_NEEDS);
	for (size_t i = 0; i < s->n_licences; i++) {
		if (!strcmp(s->licences[i].name, part))
			return error_set(err, ERR_JOB_SPEC, "--licenses: '%s' twice", shown);
	}
	snprintf(s->licences[s->n_licences].name, SHAPE_MAX_NAME + 1, "%s", part);
	s->licences[s->n_licences++].count = (uint32_t)count;
	return 0;
}

static int read_licences(struct shape *s, const char *text, struct error *err)
{
	char *copy, *at, *part;
	int rc = 0;

	text = text_of(text);
	if (!*text)
		return 0;
	if (strlen(text) > SHAPE_MAX_TEXT)
		return error_set(
		        err, ERR_JOB_SPEC, "--licenses: more than %d bytes", SHAPE_MAX_TEXT);
	at = copy = xstrdup(text);
	while (rc == 0 && (part = strsep(&at, ",")))
		rc = read_licence(s, part, err);
	free(copy);
	qsort(s->licences, s->n_licences, sizeof(s->licences[0]), by_licence);
	return rc;
}

/* --- all of it ------------------------------------------------------------------------------- */

static void say(struct strbuf *text, const char *key, const char *value)
{
	if (*value)
		strbuf_addf(text, " %s%s%s", key, *key ? "=" : "", value);
}

/* Only what differs from the default. parse_place() reads it back; licences stand last
 * (request_licences()). */
static void write_place(struct shape *s)
{
	struct strbuf text = { 0 };

	if (s->nodes_max > s->nodes_min)
		strbuf_addf(&text, " nodes=%u-%u", s->nodes_min, s->nodes_max);
	else if (s->nodes_max > 1)
		strbuf_addf(&text, " nodes=%u", s->nodes_max);
	say(&text, "", s->per_node ? "per_node" : "");
	say(&text, "", s->exclusive ? "exclusive" : "");
	if (s->gpu_mem_min_mb)
		strbuf_addf(&text, " mem_min=%llu", (unsigned long long)s->gpu_mem_min_mb);
	say(&text, "link", near_link_word(s->link));
	if (s->share.mem_mb)
		strbuf_addf(&text, " gpu_mem=%llu", (unsigned long long)s->share.mem_mb);
	if (s->gpu_mem_burst_mb)
		strbuf_addf(&text, " gpu_burst=%llu", (unsigned long long)s->gpu_mem_burst_mb);
	if (s->share.milli)
		strbuf_addf(&text, " gpu_share=%u", s->share.milli);
	say(&text, "constraint", s->constraint);
	say(&text, "prefer", s->prefer);
	say(&text, "nodelist", s->nodelist);
	say(&text, "exclude", s->exclude);
	if (s->tmp_mb)
		strbuf_addf(&text, " tmp=%llu", (unsigned long long)s->tmp_mb);
	say(&text, "service", s->service);
	if (s->ports)
		strbuf_addf(&text, " ports=%u", s->ports);
	for (size_t i = 0; i < s->n_licences; i++)
		strbuf_addf(&text, "%s%s:%u", i ? "," : " licences=", s->licences[i].name,
		        s->licences[i].count);
	s->place = text.len ? xstrdup(text.s + 1) : xstrdup("");
	strbuf_free(&text);
}

/* Where GPUs of a node are counted, and whole. */
static int read_link(struct shape *s, const struct submit_job *job, struct error *err)
{
	const char *word = near_link_word((enum near_link)job->gpu_link);

	if (job->gpu_link >= NEAR_LINK_COUNT)
		return error_set(err, ERR_JOB_SPEC, "--gpu-link: there is no %u", job->gpu_link);
	s->link = (enum near_link)job->gpu_link;
	if (!s->link)
		return 0;
	if (!s->n)
		return error_set(err, ERR_JOB_SPEC, "--gpu-link=%s: the job asks for no GPU", word);
	if (share_wished(&s->share))
		return error_set(err, ERR_JOB_SPEC,
		        "--gpu-link=%s: applies to whole GPUs, the job asks for parts", word);
	if (s->exclusive)
		return error_set(err, ERR_JOB_SPEC,
		        "--gpu-link=%s: with --exclusive a job has all GPUs of its nodes", word);
	if (s->nodes_max > 1 && !s->per_node)
		return error_set(err, ERR_JOB_SPEC,
		        "--gpu-link=%s: on several nodes it needs --gpus-per-node", word);
	return 0;
}

int shape_read(
        struct shape *s, const struct submit_job *job, struct shape_memo *memo, struct error *err)
{
	char mem[UNITS_TEXT];
	uint32_t named, excluded;

	memset(s, 0, sizeof(*s));
	COPY_FIELDS(s, job, exclusive, gpu_mem_min_mb, tmp_mb, ports);
	s->service = xstrdup(text_of(job->replica_of));
	if ((*s->service && !is_name(s->service)) || (s->ports && !*s->service)) {
		error_set(err, ERR_JOB_SPEC, "--service: no such name");
		goto fail;
	}
	if (read_gpus(s, job, err) < 0 || read_share(s, job, err) < 0 ||
	        read_features("--constraint", job->constraint, &s->constraint, err) < 0 ||
	        read_features("--prefer", job->prefer, &s->prefer, err) < 0 ||
	        read_hostlist(memo, "--nodelist", job->nodelist, &s->nodelist, &named, err) < 0 ||
	        read_hostlist(memo, "--exclude", job->exclude, &s->exclude, &excluded, err) < 0 ||
	        read_counts(s, job, named, err) < 0 || read_link(s, job, err) < 0 ||
	        read_licences(s, job->licences, err) < 0)
		goto fail;
	if (s->gpu_mem_min_mb && !s->n) {
		error_set(err, ERR_JOB_SPEC, "--gpu-mem-min=%s: the job asks for no GPU",
		        size_format_mb(mem, s->gpu_mem_min_mb));
		goto fail;
	}
	write_place(s);
	return 0;
fail:
	shape_clear(s);
	return -1;
}

void shape_clear(struct shape *s)
{
	free(s->constraint);
	free(s->prefer);
	free(s->nodelist);
	free(s->exclude);
	free(s->service);
	free(s->text);
	free(s->place);
	memset(s, 0, sizeof(*s));
}

/* --- from rows ------------------------------------------------------------------------------- */

/* "TYPE:COUNT|..."; `copy` holds the names. */
static bool parse_gpus(struct submit_job *job, char *copy)
{
	char *at = copy, *part;

	while (*copy && (part = strsep(&at, "|"))) {
		char *colon = strrchr(part, ':'), *end;
		unsigned long count;

		if (job->n_gpus == MAX_GPU_ALTERNATIVES || !colon || colon == part)
			return false;
		*colon = '\0';
		count = strtoul(colon + 1, &end, 10);
		if (*end || count < 1 || count > MAX_COUNT)
			return false;
		job->gpus[job->n_gpus].type = part;
		job->gpus[job->n_gpus++].count = (uint32_t)count;
	}
	return true;
}

static bool parse_number(const char *text, unsigned long long max, unsigned long long *n)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*n = strtoull(text, &end, 10);
	return !*end && *n <= max;
}

static bool parse_nodes(struct submit_job *job, char *value)
{
	char *dash = strchr(value, '-');
	unsigned long long min, max;

	if (dash)
		*dash = '\0';
	if (!parse_number(value, CONF_MAX_NODES, &min) ||
	        !parse_number(dash ? dash + 1 : value, CONF_MAX_NODES, &max))
		return false;
	job->nodes_min = (uint32_t)min;
	job->nodes_max = (uint32_t)max;
	return true;
}

/* The words of a kept place: each sets one member of a submit. A number is one of 32 bits where its
 * bound fits in them. */
static const struct place_word {
	const char *key;
	enum { WORD_FLAG, WORD_TEXT, WORD_U32, WORD_U64 } kind;
	size_t at;
	unsigned long long max;
} place_words[] = {
	{ "per_node", WORD_FLAG, offsetof(struct submit_job, gpus_per_node), 0 },
	{ "exclusive", WORD_FLAG, offsetof(struct submit_job, exclusive), 0 },
	{ "mem_min", WORD_U64, offsetof(struct submit_job, gpu_mem_min_mb), UINT64_MAX },
	{ "gpu_mem", WORD_U64, offsetof(struct submit_job, gpu_mem_mb), UINT64_MAX },
	{ "gpu_burst", WORD_U64, offsetof(struct submit_job, gpu_mem_burst_mb), UINT64_MAX },
	{ "gpu_share", WORD_U32, offsetof(struct submit_job, gpu_share_milli), GPU_MILLI },
	{ "constraint", WORD_TEXT, offsetof(struct submit_job, constraint), 0 },
	{ "prefer", WORD_TEXT, offsetof(struct submit_job, prefer), 0 },
	{ "nodelist", WORD_TEXT, offsetof(struct submit_job, nodelist), 0 },
	{ "exclude", WORD_TEXT, offsetof(struct submit_job, exclude), 0 },
	{ "tmp", WORD_U64, offsetof(struct submit_job, tmp_mb), UINT64_MAX },
	{ "service", WORD_TEXT, offsetof(struct submit_job, replica_of), 0 },
	{ "ports", WORD_U32, offsetof(struct submit_job, ports), UINT16_MAX },
	{ "licences", WORD_TEXT, offsetof(struct submit_job, licences), 0 },
};

/* A word without a value is a flag, and the other way round. */
static bool set_word(struct submit_job *job, const struct place_word *word, char *value)
{
	void *to = (char *)job + word->at;
	unsigned long long n;

	if (word->kind == WORD_FLAG)
		return *(bool *)to = !value;
	if (!value || !*value)
		return false;
	if (word->kind == WORD_TEXT) {
		*(const char **)to = value;
		return true;
	}
	if (!parse_number(value, word->max, &n))
		return false;
	if (word->kind == WORD_U32)
		*(uint32_t *)to = (uint32_t)n;
	else
		*(uint64_t *)to = n;
	return true;
}

static bool parse_word(struct submit_job *job, char *word)
{
	char *value = strchr(word, '=');
	enum near_link link;

	if (value)
		*value++ = '\0';
	if (value && !strcmp(word, "nodes"))
		return parse_nodes(job, value);
	if (value && !strcmp(word, "link")) {
		if (near_link_parse(value, &link, NULL) < 0)
			return false;
		job->gpu_link = link;
		return true;
	}
	for (size_t i = 0; i < sizeof(place_words) / sizeof(place_words[0]); i++) {
		if (!strcmp(word, place_words[i].key))
			return set_word(job, &place_words[i], value);
	}
	return false;
}

static bool parse_place(struct submit_job *job, char *copy)
{
	char *at = copy, *word;

	while (*copy && (word = strsep(&at, " "))) {
		if (!parse_word(job, word))
			return false;
	}
	return true;
}

int shape_parse(struct shape *s, const char *gpus, const char *place, struct error *err)
{
	char *gpus_copy = xstrdup(gpus), *place_copy = xstrdup(place);
	struct submit_job job = { 0 };
	int rc = -1;

	if (!parse_gpus(&job, gpus_copy)) {
		error_set(err, ERR_INTERNAL, "gpus '%.80s': expected \"TYPE:COUNT|...\"", gpus);
	} else if (!parse_place(&job, place_copy)) {
		error_set(err, ERR_INTERNAL, "place '%.80s': no such words", place);
	} else {
		rc = shape_read(s, &job, NULL, err);
		if (rc < 0 && err)
			err->code = ERR_INTERNAL;
	}
	free(gpus_copy);
	free(place_copy);
	return rc;
}
