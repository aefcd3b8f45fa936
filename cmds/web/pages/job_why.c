/* job_why.c - why a job waits, what would start it, and asking for both (job_parts.h) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/views/whyview.h"
#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/job_parts.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define ASK_MS 10000

bool job_name_parse(const char *text, struct job_name *out)
{
	char *end;
	unsigned long long id = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || !id || (*end && *end != '_'))
		return false;
	out->id = id;
	out->tasks = *end ? end + 1 : "";
	return strspn(out->tasks, "0123456789") == strlen(out->tasks) && (!*end || *out->tasks);
}

/* --- asking ----------------------------------------------------------------------------------- */

static int on_why(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct job_answers *a = arg;

	if (!a->why)
		a->why = (Gpusched__WhyResult *)msg_copy(m);
	return a->why ? 0 : error_set(err, ERR_SYSTEM, "out of memory");
}

static void forget_why(void *arg)
{
	struct job_answers *a = arg;

	if (a->why)
		gpusched__why_result__free_unpacked(a->why, NULL);
	a->why = NULL;
}

void job_ask_why(struct page *p, const struct job_name *name, struct job_answers *out)
{
	Gpusched__JobWhy request = GPUSCHED__JOB_WHY__INIT;
	Gpusched__JobTasks tasks = GPUSCHED__JOB_TASKS__INIT, *of = &tasks;
	uint64_t id = name->id;
	struct client_call call = { CLIENT_CALL(JOB_WHY, &request.base, WHY_RESULT, on_why, out),
		.timeout_ms = ASK_MS,
		.repeatable = true };

	tasks.job = name->id;
	tasks.tasks = (char *)name->tasks;
	if (*name->tasks)
		request.tasks = &of, request.n_tasks = 1;
	else
		request.ids = &id, request.n_ids = 1;
	if (page_ask(p, &call, forget_why, &out->why_error) >= 0)
		out->why_error.code = ERR_NONE;
}

static int on_past(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__AcctChunk *chunk = (const Gpusched__AcctChunk *)m;
	struct job_answers *a = arg;

	if (!chunk->n_jobs || a->past)
		return 0;
	a->past = (Gpusched__Acct *)msg_copy(&chunk->jobs[0]->base);
	a->currency = xstrdup(chunk->currency);
	return a->past ? 0 : error_set(err, ERR_SYSTEM, "out of memory");
}

static void forget_past(void *arg)
{
	struct job_answers *a = arg;

	if (a->past)
		gpusched__acct__free_unpacked(a->past, NULL);
	free(a->currency);
	a->past = NULL;
	a->currency = NULL;
}

/* A job that waits is left out unless its state is asked for. */
void job_ask_past(
        struct page *p, const struct job_name *name, bool waits, struct job_answers *out)
{
	static char pending[] = "PENDING";
	char *states[] = { pending };
	Gpusched__ListAcct request = GPUSCHED__LIST_ACCT__INIT;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	Gpusched__JobTasks tasks = GPUSCHED__JOB_TASKS__INIT, *of = &tasks;
	uint64_t id = name->id;
	struct client_call call = { CLIENT_CALL(LIST_ACCT, &request.base, ACCT_CHUNK, on_past, out),
		.timeout_ms = ASK_MS,
		.repeatable = true };

	tasks.job = name->id;
	tasks.tasks = (char *)name->tasks;
	if (*name->tasks)
		filter.tasks = &of, filter.n_tasks = 1;
	else
		filter.ids = &id, filter.n_ids = 1;
	filter.states = states;
	filter.n_states = waits ? 1 : 0;
	request.filter = &filter;
	request.with_runs = true;
	if (page_ask(p, &call, forget_past, &out->past_error) >= 0)
		out->past_error.code = ERR_NONE;
}

void job_answers_clear(struct job_answers *a)
{
	forget_why(a);
	forget_past(a);
}

/* --- showing ---------------------------------------------------------------------------------- */

static void put_blockers(struct page *p, const Gpusched__WhyResult *r)
{
	struct html *h = p->h;

	if (!r->why->n_blockers)
		return;
	HTML(h, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Held by\"><table>"
	        "<thead><tr><th scope=\"col\">Held by</th><th scope=\"col\">That is</th>"
	        "<th scope=\"col\">Clears</th></tr></thead><tbody>");
	for (size_t i = 0; i < r->why->n_blockers; i++) {
		const Gpusched__Blocker *b = r->why->blockers[i];
		unsigned hang;
		char *clears = why_say_clears(b, r->now_time, &hang);

		HTML(h, "<tr><th scope=\"row\">%s%s%s</th><td>%s</td><td>%s</td></tr>", b->reason,
		        *b->partition ? " in " : "", b->partition, b->text,
		        *clears ? clears : "not known");
		free(clears);
	}
	HTML(h, "</tbody></table></div>");
}

static void put_changes(struct page *p, const Gpusched__Why *why)
{
	struct html *h = p->h;

	if (why->n_changes) {
		HTML(h, "<h3>Would start it now</h3>"
		        "<p class=\"dim\">Each was tried on the scheduler, the smallest change "
		        "first.</p>"
		        "<dl class=\"facts changes\">");
		for (size_t i = 0; i < why->n_changes; i++)
			HTML(h, "<dt class=\"option\">%s</dt><dd>%s</dd>", why->changes[i]->option,
			        why->changes[i]->effect);
		HTML(h, "</dl>");
	}
	if (*why->tried)
		HTML(h, "<p class=\"dim\">Tried without success: %s.%s</p>", why->tried,
		        why->cut_short ? " There was more to try." : "");
}

void put_why(struct page *p, const Gpusched__WhyResult *r)
{
	struct html *h = p->h;
	char *request, *plan;

	if (!r->why) {
		HTML(h, "<p>It does not wait.</p>");
		return;
	}
	request = why_say_request(r->job);
	plan = why_say_plan(r->why, r->now_time);
	HTML(h, "<p>%s</p>", request);
	put_blockers(p, r);
	HTML(h, "<dl class=\"facts\">");
	put_fact(h, "Planned start", plan);
	if (r->why->position)
		HTML(h, "<dt>Position</dt><dd>%u of %u in its partition</dd>", r->why->position,
		        r->why->position_of);
	HTML(h, "</dl>");
	put_changes(p, r->why);
	free(request);
	free(plan);
}
