/* effective_limits.c - see effective_limits.h */
#include "noded/confine/effective_limits.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "common/job/rlimit.h"
#include "noded/contain/comma_lists.h"
#include "noded/contain/process_tracking.h"
#include "noded/record/record.h"

static void refuse_setting(struct strbuf *refused, const char *key, const char *value)
{
	strbuf_addf(refused, "%s%s %.80s", refused->len ? ", " : "", key, value);
}

static void add_word(struct strbuf *words, const char *word)
{
	if (!words->len || !comma_list_has(words->s, word))
		strbuf_addf(words, "%s%s", words->len ? "," : "", word);
}

static void add_containment(const struct launcher_options *own, const Gpusched__NodeSettings *told,
        struct effective_limits *out, struct strbuf *refused)
{
	struct strbuf words = { 0 };

	strbuf_adds(&words, own->containment ? own->containment : "");
	for (size_t i = 0; i < told->n_containment; i++) {
		const char *word = told->containment[i];

		if (!*word || strpbrk(word, ", ") || !comma_list_has(CONTAIN_WORDS, word))
			refuse_setting(refused, "containment", word);
		else
			add_word(&words, word);
	}
	out->containment = strbuf_take(&words);
}

static void add_private(
        const Gpusched__NodeSettings *told, struct effective_limits *out, struct strbuf *refused)
{
	struct error err;
	uint32_t kinds;

	for (size_t i = 0; i < told->n_private_kinds; i++) {
		if (private_parse(told->private_kinds[i], &kinds, &err) < 0)
			refuse_setting(refused, "private", told->private_kinds[i]);
		else
			out->private_kinds |= kinds;
	}
	for (int k = 0; k < PRIVATE_KINDS; k++) {
		if (comma_list_has(out->containment, private_name((enum private_kind)k)))
			out->private_kinds |= 1u << k;
	}
}

/* The limit of the agent's options; else a new one with the table's values and the soft limit
 * `soft`. */
static Gpusched__RunRlimit *rlimit_of(
        struct effective_limits *out, const struct rlimit_row *row, uint64_t soft)
{
	Gpusched__RunRlimit *r = out->rlimits;

	while (r < out->rlimits + out->n_rlimits && r->kind != (uint32_t)row->kind)
		r++;
	if (r == out->rlimits + out->n_rlimits) {
		out->n_rlimits++; /* the array has one place for each kind */
		gpusched__run_rlimit__init(r);
		r->kind = (uint32_t)row->kind;
		r->soft = soft < row->hard ? soft : row->hard;
		r->hard = row->hard;
	}
	return r;
}

static void add_rlimits(
        const Gpusched__NodeSettings *told, struct effective_limits *out, struct strbuf *refused)
{
	for (size_t i = 0; i < told->n_rlimits; i++) {
		struct rlimit_said said;
		struct error err;
		Gpusched__RunRlimit *r;

		if (rlimit_parse(told->rlimits[i], &said, &err) < 0) {
			refuse_setting(refused, "rlimit", told->rlimits[i]);
			continue;
		}
		r = rlimit_of(out, rlimit_row_of((uint64_t)said.kind), said.soft);
		r->hard = said.hard < r->hard ? said.hard : r->hard;
		r->soft = said.soft < r->soft ? said.soft : r->soft;
		r->soft = r->soft < r->hard ? r->soft : r->hard;
	}
}

/* Options may name a limit several times: the last counts. */
static void own_rlimits(const struct launcher_options *own, struct effective_limits *out)
{
	for (size_t i = 0; i < own->n_rlimits; i++) {
		const struct rlimit_row *row = rlimit_row_of(own->rlimits[i].kind);
		Gpusched__RunRlimit *r = row ? rlimit_of(out, row, 0) : NULL;

		if (r)
			*r = own->rlimits[i];
	}
}

static bool is_device(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 && !strstr(path, "/..");
}

static void add_devices(const struct launcher_options *own, const Gpusched__NodeSettings *told,
        struct effective_limits *out, struct strbuf *refused)
{
	bool fixed = own->containment && comma_list_has(own->containment, CONTAIN_DEVICES);
	struct device_grants_wish *w = &out->devices;

	if (told->gpu_devices[0] && (!w->gpus || !*w->gpus)) {
		if (is_device(told->gpu_devices)) {
			w->gpus = told->gpu_devices;
			w->gpus_told = true;
		} else {
			refuse_setting(refused, "gpu_devices", told->gpu_devices);
		}
	}
	for (size_t i = 0; i < told->n_devices; i++) {
		if (fixed || !is_device(told->devices[i]) || w->n_told == DEVICE_GRANTS_ALL_MAX)
			refuse_setting(refused, "device", told->devices[i]);
		else
			w->told[w->n_told++] = told->devices[i];
	}
}

/* The policies are ordered by how strict they are. */
static void add_over_memory(const struct launcher_options *own, const Gpusched__NodeSettings *told,
        struct effective_limits *out, struct strbuf *refused)
{
	enum overmem_policy policy;
	struct error err;

	if (!told->over_memory[0])
		return;
	if (overmem_parse(told->over_memory, &policy, &err) < 0)
		refuse_setting(refused, "over_memory", told->over_memory);
	else if (!own->over_memory_said || policy > own->over_memory)
		out->over_memory = policy;
}

static void clear_programs(struct effective_limits *limits)
{
	for (size_t k = 0; k < PROGRAM_KINDS; k++) {
		free(limits->programs[k].path);
		limits->programs[k].path = NULL;
	}
}

static void tell_program(const struct launcher_options *own, const Gpusched__RunProgram *told,
        struct effective_limits *out)
{
	struct effective_program *p = &out->programs[told->kind];
	char *path = record_string(&told->path);
	struct error err;

	free(p->path);
	p->path = program_told(path, own->programs_of, geteuid() == 0, &err);
	if (told->timeout_ms)
		p->timeout_ms = told->timeout_ms < PROGRAM_TIMEOUT_MIN_MS   ? PROGRAM_TIMEOUT_MIN_MS
		                : told->timeout_ms > PROGRAM_TIMEOUT_MAX_MS ? PROGRAM_TIMEOUT_MAX_MS
		                                                            : told->timeout_ms;
	if (!p->path && !*out->programs_why)
		snprintf(out->programs_why, sizeof(out->programs_why), "%s %.220s",
		        program_name((enum program_kind)told->kind), err.text);
	free(path);
}

void effective_limits_make_programs(const struct launcher_options *own,
        const Gpusched__NodeSettings *told, struct effective_limits *out)
{
	clear_programs(out);
	out->programs_why[0] = '\0';
	out->health_interval_s = own->health_interval_s;
	for (size_t k = 0; k < PROGRAM_KINDS; k++) {
		out->programs[k].timeout_ms = own->program_timeout_ms;
		if (own->programs[k])
			out->programs[k].path = xstrdup(own->programs[k]);
	}
	for (size_t i = 0; told && i < told->n_programs; i++) {
		const Gpusched__RunProgram *p = told->programs[i];

		if (p->kind >= PROGRAM_KINDS || own->programs[p->kind])
			continue;
		tell_program(own, p, out);
		if (p->kind == PROGRAM_HEALTH && told->health_interval_s)
			out->health_interval_s =
			        told->health_interval_s < LIMITS_HEALTH_INTERVAL_MAX_S
			                ? told->health_interval_s
			                : LIMITS_HEALTH_INTERVAL_MAX_S;
	}
}

/* The smaller value of those given (0: not given); the controller's counts as at least `least`. */
static uint64_t lesser(uint64_t own, uint64_t told, uint64_t least)
{
	told = told && told < least ? least : told;
	return !told || (own && own < told) ? own : told;
}

void effective_limits_make(const struct launcher_options *own, const Gpusched__NodeSettings *told,
        struct effective_limits *out, struct strbuf *refused)
{
	static const Gpusched__NodeSettings nothing = GPUSCHED__NODE_SETTINGS__INIT;

	*out = (struct effective_limits){ .private_kinds = own->private_kinds,
		.over_memory = own->over_memory,
		.share_users_one = own->share_users_one || (told && told->share_users_one),
		.devices = own->devices };
	if (!told)
		told = &nothing;
	own_rlimits(own, out);
	add_containment(own, told, out, refused);
	add_private(told, out, refused);
	add_rlimits(told, out, refused);
	add_devices(own, told, out, refused);
	add_over_memory(own, told, out, refused);
	effective_limits_make_programs(own, told, out);
	out->max_processes = lesser(own->max_processes, told->max_processes, 1);
	out->sample_ms = lesser(own->sample_ms, told->sample_ms, LIMITS_SAMPLE_MIN_MS);
	out->idle_sample_ms =
	        lesser(own->idle_sample_ms, told->idle_sample_ms, LIMITS_IDLE_SAMPLE_MIN_MS);
	out->kill_wait_ms = lesser(own->kill_wait_ms, told->kill_wait_ms, LIMITS_KILL_WAIT_MIN_MS);
	out->gpu_recheck_ms =
	        lesser(own->gpu_recheck_ms, told->gpu_recheck_ms, LIMITS_GPU_RECHECK_MIN_MS);
	out->private_tmp_mb = lesser(own->private_tmp_mb, told->private_tmp_mb, 1);
	if (out->private_tmp_mb)
		out->private_kinds |= 1u << PRIVATE_TMP;
	out->spool_min_free_mb = told->spool_min_free_mb > own->spool_min_free_mb
	                                 ? told->spool_min_free_mb
	                                 : own->spool_min_free_mb;
}

void effective_limits_clear(struct effective_limits *limits)
{
	clear_programs(limits);
	free(limits->containment);
	limits->containment = NULL;
}
