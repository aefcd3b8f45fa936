/* update_audit.c - see update_audit.h
 *
 * One table (CHANGES) has a row for each field: the option that sets it, and how its value is
 * shown. The text has "option old -> new" for each field that the update names. Values are cut,
 * since the text goes into a row that cannot grow without a bound.
 */
#include "ctld/core/intake/update_audit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "common/gpu/gpu_topology.h"
#include "common/job/mail_types.h"
#include "ctld/core/rows/state.h"

/* Cut to CHANGES_VALUE, with "..." at its end. */
static void show_text(char *to, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	snprintf(to, CHANGES_VALUE, "%s", text ? text : "");
	if (len >= CHANGES_VALUE)
		memcpy(to + CHANGES_VALUE - 4, "...", 4);
}

static void show_number(char *to, int64_t n)
{
	snprintf(to, CHANGES_VALUE, "%" PRId64, n);
}

static void show_mb(char *to, uint64_t mb)
{
	char buf[UNITS_TEXT];

	snprintf(to, CHANGES_VALUE, "%s", mb ? size_format_mb(buf, mb) : "");
}

static void show_seconds(char *to, uint32_t s)
{
	char buf[UNITS_TEXT];

	snprintf(to, CHANGES_VALUE, "%s", s ? duration_format(buf, s) : "");
}

/* As the time from now on: texts of the trail name no time zone. */
static void show_time(char *to, usec_t time, usec_t now)
{
	char buf[UNITS_TEXT];
	usec_t left = time > now ? (time - now) / USEC_PER_S : 0;

	snprintf(to, CHANGES_VALUE, "%s%s", time ? "in " : "",
	        time ? duration_format(buf, (uint64_t)left) : "");
}

static void show_gpus(char *to, const struct submit_job *j)
{
	size_t used = 0, i;

	for (i = 0; i < j->n_gpus && used < CHANGES_VALUE; i++)
		used += (size_t)snprintf(to + used, CHANGES_VALUE - used, "%s%s%s%" PRIu32,
		        i ? "|" : "", j->gpus[i].type, *j->gpus[i].type ? ":" : "",
		        j->gpus[i].count);
	if (used && used < CHANGES_VALUE && j->gpus_per_node)
		snprintf(to + used, CHANGES_VALUE - used, " a node");
}

static void show_nodes(char *to, const struct submit_job *j)
{
	if (j->nodes_max > j->nodes_min)
		snprintf(to, CHANGES_VALUE, "%" PRIu32 "-%" PRIu32, j->nodes_min, j->nodes_max);
	else
		show_number(to, j->nodes_min ? j->nodes_min : 1);
}

/* The signal by its number: its name is the clients' affair. */
static void show_warning(char *to, const struct submit_job *j)
{
	if (j->warn_signal || j->warn_before_s)
		snprintf(to, CHANGES_VALUE, "%" PRIu32 "@%" PRIu32, j->warn_signal,
		        j->warn_before_s);
	else
		show_text(to, "");
}

static void show_labels(char *to, const struct submit_job *j)
{
	size_t used = 0, i;

	*to = '\0';
	for (i = 0; i < j->n_labels && used < CHANGES_VALUE; i++)
		used += (size_t)snprintf(to + used, CHANGES_VALUE - used, "%s%s=%s", i ? "," : "",
		        j->labels[i].key, j->labels[i].value);
}

static void show_limit(char *to, uint32_t limit_s)
{
	char buf[UNITS_TEXT];
	uint64_t s = limit_s == TIME_LIMIT_NONE ? DURATION_FOREVER : limit_s;

	snprintf(to, CHANGES_VALUE, "%s", limit_s ? duration_format(buf, s) : "");
}

static void show_mails(char *to, uint32_t types)
{
	char buf[MAIL_TEXT_MAX];

	show_text(to, mail_types_format(buf, types));
}

static void show_kill(char *to, unsigned kill)
{
	static const char *const words[] = {
		[KILL_AS_CONFIGURED] = "", [KILL_YES] = "yes", [KILL_NO] = "no"
	};

	show_text(to, kill < sizeof(words) / sizeof(words[0]) ? words[kill] : "");
}

/* X(field, name of its option, how its value in j is shown: `to`, `now`) */
#define CHANGES(X)                                                                        \
	X(UPDATE_PARTITION, "partition", show_text(to, j->partition))                     \
	X(UPDATE_ACCOUNT, "account", show_text(to, j->account))                           \
	X(UPDATE_GPUS, "gpus", show_gpus(to, j))                                          \
	X(UPDATE_GPU_MEM_MIN, "gpu-mem-min", show_mb(to, j->gpu_mem_min_mb))              \
	X(UPDATE_GPU_LINK, "gpu-link",                                                    \
	        show_text(to, near_link_word((enum near_link)j->gpu_link)))               \
	X(UPDATE_TMP, "tmp", show_mb(to, j->tmp_mb))                                      \
	X(UPDATE_GPU_MEM, "gpu-mem", show_mb(to, j->gpu_mem_mb))                          \
	X(UPDATE_GPU_SHARE, "gpu-share", share_format(to, 0, j->gpu_share_milli))         \
	X(UPDATE_GPU_MEM_BURST, "gpu-mem-burst", show_mb(to, j->gpu_mem_burst_mb))        \
	X(UPDATE_NODES, "nodes", show_nodes(to, j))                                       \
	X(UPDATE_CPUS, "cpus", show_number(to, j->cpus))                                  \
	X(UPDATE_MEM, "mem", show_mb(to, j->mem_mb))                                      \
	X(UPDATE_TIME, "time", show_limit(to, j->time_limit_s))                           \
	X(UPDATE_NICE, "nice", show_number(to, j->nice))                                  \
	X(UPDATE_CONSTRAINT, "constraint", show_text(to, j->constraint))                  \
	X(UPDATE_PREFER, "prefer", show_text(to, j->prefer))                              \
	X(UPDATE_NODELIST, "nodelist", show_text(to, j->nodelist))                        \
	X(UPDATE_EXCLUDE, "exclude", show_text(to, j->exclude))                           \
	X(UPDATE_EXCLUSIVE, "exclusive", show_text(to, j->exclusive ? "yes" : "no"))      \
	X(UPDATE_QOS, "qos", show_text(to, j->qos))                                       \
	X(UPDATE_MAX_WAIT, "max-wait", show_seconds(to, j->max_wait_s))                   \
	X(UPDATE_LICENCES, "licences", show_text(to, j->licences))                        \
	X(UPDATE_BEGIN, "begin", show_time(to, j->begin_time, now))                       \
	X(UPDATE_DEADLINE, "deadline", show_time(to, j->deadline, now))                   \
	X(UPDATE_DEPENDENCY, "dependency", show_text(to, j->depends))                     \
	X(UPDATE_REMARK, "comment", show_text(to, j->remark))                             \
	X(UPDATE_MAIL_TYPE, "mail-type", show_mails(to, j->mail_types))                   \
	X(UPDATE_MAIL_USER, "mail-user", show_text(to, j->mail_user))                     \
	X(UPDATE_REQUEUE_ON, "requeue-on", show_text(to, j->requeue_on))                  \
	X(UPDATE_REQUEUE_DELAY, "requeue-delay", show_seconds(to, j->requeue_delay_s))    \
	X(UPDATE_KILL_INVALID_DEP, "kill-on-invalid-dep", show_kill(to, j->kill_invalid)) \
	X(UPDATE_NO_REQUEUE, "requeue", show_text(to, j->requeue ? "yes" : "no"))         \
	X(UPDATE_WARNING, "signal", show_warning(to, j))                                  \
	X(UPDATE_LABELS, "label", show_labels(to, j))                                     \
	X(UPDATE_AT_ONCE, "array-throttle", show_number(to, j->array_at_once))

static const struct {
	uint64_t field;
	const char *name;
} names[] = {
#define X(field, name, show) { field, name },
	CHANGES(X)
#undef X
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

static_assert(N_NAMES <= CHANGES_MAX, "a row for each");

/* The table as a function; a field that is not in it shows nothing. */
static void show(uint64_t of, char *to, const struct submit_job *j, usec_t now)
{
#define X(field, name, shows) \
	if (of == (field))    \
		shows;
	CHANGES(X)
#undef X
}

const char *change_name(uint64_t field)
{
	for (size_t i = 0; i < N_NAMES; i++)
		if (names[i].field == field)
			return names[i].name;
	return NULL;
}

void changes_show(struct changes *to, const struct submit_job *job, uint64_t fields, usec_t now)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		to->v[i][0] = '\0';
		if (fields & names[i].field)
			show(names[i].field, to->v[i], job, now);
	}
}

void changes_tell(char text[CHANGES_TEXT], const struct changes *was, const struct changes *is,
        uint64_t fields)
{
	size_t used = 0, i;

	*text = '\0';
	for (i = 0; i < N_NAMES && used < CHANGES_TEXT; i++) {
		const char *before = was->v[i], *after = is->v[i];

		if (!(fields & names[i].field))
			continue;
		used += (size_t)snprintf(text + used, CHANGES_TEXT - used, "%s%s %s -> %s",
		        used ? ", " : "", names[i].name, *before ? before : "none",
		        *after ? after : "none");
	}
	if (used >= CHANGES_TEXT)
		memcpy(text + CHANGES_TEXT - 4, "...", 4);
}
