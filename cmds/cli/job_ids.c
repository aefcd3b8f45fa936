/* job_ids.c - see job_ids.h */
#include "cmds/cli/job_ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/net/msg_truncate.h"

/* "7", "3-9,12", "[3-9,12]" of `len` bytes. */
static int add_some(
        struct cmd_ids *ids, struct cmd_id *id, const char *tasks, size_t len, struct error *err)
{
	Gpusched__JobTasks *t = xcalloc(1, sizeof(*t));

	gpusched__job_tasks__init(t);
	if (len >= 2 && *tasks == '[' && tasks[len - 1] == ']') {
		tasks++;
		len -= 2;
	}
	t->job = id->id;
	t->tasks = xstrndup(tasks, len);
	ids->some = xrealloc(ids->some, ids->n_some + 1, sizeof(*ids->some));
	ids->some[ids->n_some++] = t;
	id->some = true;
	return taskset_parse(t->tasks, &id->left, err) < 0 ? -1 : 0;
}

/* One of `len` bytes: "123", "123_7", "123_[3-9,12]". */
static int add_id(struct cmd_ids *ids, const char *text, size_t len, struct error *err)
{
	const char *line = memchr(text, '_', len);
	char *number = xstrndup(text, line ? (size_t)(line - text) : len);
	uint64_t id = 0;
	int rc = count_parse(number, 1, ((uint64_t)1 << 40) - 1, &id, NULL);

	free(number);
	if (rc < 0)
		return error_set(err, ERR_USAGE,
		        "expected a job id (123, 123_7, 123_[3-9,12]), or several with commas "
		        "between");
	ids->v = xrealloc(ids->v, ids->n + 1, sizeof(*ids->v));
	ids->v[ids->n] = (struct cmd_id){ .id = id };
	if (line)
		return add_some(
		        ids, &ids->v[ids->n++], line + 1, len - (size_t)(line + 1 - text), err);
	ids->n++;
	ids->whole = xrealloc(ids->whole, ids->n_whole + 1, sizeof(*ids->whole));
	ids->whole[ids->n_whole++] = id;
	return 0;
}

int cmd_ids_add(struct cmd_ids *ids, const char *text, struct error *err)
{
	const char *start = text;
	bool inside = false;

	for (;; text++) {
		inside = *text == '[' || (inside && *text != ']');
		if (*text && (*text != ',' || inside))
			continue;
		if (add_id(ids, start, (size_t)(text - start), err) < 0)
			return -1;
		if (!*text)
			return 0;
		start = text + 1;
	}
}

void cmd_ids_clear(struct cmd_ids *ids)
{
	for (size_t i = 0; i < ids->n_some; i++) {
		free(ids->some[i]->tasks);
		free(ids->some[i]);
	}
	free(ids->some);
	free(ids->whole);
	for (size_t i = 0; i < ids->n; i++)
		taskset_clear(&ids->v[i].left);
	free(ids->v);
	*ids = (struct cmd_ids){ .n = 0 };
}

/* Take what both have out of `of`. */
static void take_out(struct taskset *of, const struct taskset *both)
{
	struct taskset taken;

	taskset_take(of, both, &taken);
	taskset_clear(&taken);
}

static bool is_cut(const char *text)
{
	size_t n = strlen(text), mark = strlen(MSG_CUT_MARK);

	return n >= mark && !strcmp(text + n - mark, MSG_CUT_MARK);
}

bool cmd_id_is_task(uint64_t id, const struct cmd_id_reported *job)
{
	struct taskset all, has;
	uint32_t at_once, task = TASK_NONE;
	bool is;

	if (!*job->array || id <= job->id || id - job->id > TASK_MAX + 1)
		return false;
	if (is_cut(job->array) || is_cut(job->tasks)) /* it may be in what is not told */
		return true;
	if (taskset_parse_signed(job->array, &all, &at_once, NULL) < 0)
		return false;
	if (id - job->id <= all.count)
		task = taskset_at(&all, (uint32_t)(id - job->id - 1));
	taskset_clear(&all);
	if (task == TASK_NONE || taskset_parse_kept(job->tasks, &has, NULL) < 0)
		return false;
	is = taskset_has(&has, task);
	taskset_clear(&has);
	return is;
}

void cmd_ids_saw(struct cmd_ids *ids, const struct cmd_id_reported *job)
{
	const char *tasks = job->tasks;
	struct taskset has = { .n = 0 };
	bool read = false;

	for (size_t i = 0; i < ids->n; i++) {
		struct cmd_id *named = &ids->v[i];

		if (!named->seen && !named->some)
			named->seen = cmd_id_is_task(named->id, job);
		if (named->id != job->id || named->seen)
			continue;
		if (named->some && is_cut(tasks)) { /* it may be in what is not told */
			named->seen = true;
			continue;
		}
		if (named->some && !read)
			read = taskset_parse_kept(tasks, &has, NULL) >= 0;
		if (named->some && read)
			take_out(&named->left, &has);
		named->seen = !named->some || !named->left.count;
	}
	taskset_clear(&has);
}

bool cmd_ids_miss(const struct cmd_ids *ids, const struct cmd_id_reported *job)
{
	bool missing = false;

	for (size_t i = 0; i < ids->n && !missing; i++) {
		const struct cmd_id *named = &ids->v[i];
		struct taskset has = { .n = 0 };

		missing = !named->seen && !named->some && cmd_id_is_task(named->id, job);
		if (named->id != job->id || named->seen)
			continue;
		missing = !named->some || (taskset_parse_kept(job->tasks, &has, NULL) >= 0 &&
		                                  taskset_meets(&named->left, &has));
		taskset_clear(&has);
	}
	return missing;
}

/* What was said of the names before is not said again. */
static bool is_missing(struct cmd_ids *ids, size_t i)
{
	struct cmd_id *named = &ids->v[i];

	for (size_t k = 0; k < i && !named->seen; k++) {
		const struct cmd_id *before = &ids->v[k];

		if (before->seen || before->id != named->id || before->some != named->some)
			continue;
		if (named->some)
			take_out(&named->left, &before->left);
		named->seen = !named->some || !named->left.count;
	}
	return !named->seen;
}

/* "12", "12_7", "12_[3-9,12]"; the caller frees it. */
static char *name_of(const struct cmd_id *named)
{
	char *tasks = named->some ? taskset_text(&named->left) : NULL, *text;
	bool one = named->left.count == 1;

	text = !tasks ? xasprintf("%" PRIu64, named->id)
	              : xasprintf("%" PRIu64 "_%s%s%s", named->id, one ? "" : "[", tasks,
	                        one ? "" : "]");
	free(tasks);
	return text;
}

int cmd_ids_end(struct cmd_ids *ids, int rc, const char *why, struct error *err)
{
	char text[150] = "";
	size_t n = 0, said = 0, used = 0;
	bool several = false;

	if (rc < 0 && err->code != ERR_NO_JOB)
		return rc;
	for (size_t i = 0; i < ids->n; i++) {
		char *name;

		if (!is_missing(ids, i))
			continue;
		name = name_of(&ids->v[i]);
		several |= n || ids->v[i].left.count > 1;
		/* A list of tasks may be as long as it likes: the first is told in any case. */
		if (n++ == said && (!used || used + strlen(name) + 2 < sizeof(text))) {
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.140s",
			        said ? ", " : "", name);
			said++;
		}
		free(name);
	}
	if (!n)
		return rc;
	if (n == said)
		return error_set(err, ERR_NO_JOB, "%s %s: %s", several ? "jobs" : "job", text, why);
	return error_set(err, ERR_NO_JOB, "jobs %s and %zu others: %s", text, n - said, why);
}
