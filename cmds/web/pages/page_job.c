/* page_job.c - one job: what it is, why it waits, what its attempts were and used
 *
 * What it is now the snapshot says. Why it waits and what it used are asked of the controller for
 * each page, so the page asks for itself again less often than others do.
 */
#include <stdio.h>
#include <string.h>

#include "cmds/views/views.h"
#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/job_parts.h"
#include "common/base/text.h"

static const struct snapshot_job *find(const struct page *p, const struct job_name *name)
{
	size_t n;
	struct snapshot_job **v = snapshot_records(p->snap, name->id, &n);

	for (size_t i = 0; *name->tasks && i < n; i++)
		if (!strcmp(v[i]->tasks, name->tasks))
			return v[i];
	return *name->tasks ? NULL : snapshot_job(p->snap, name->id);
}

/* --- what it is ------------------------------------------------------------------------------- */

/* The columns of gqueue that are facts of a job, with their words here. */
static const struct {
	const char *column, *name;
} facts[] = {
	{ "WHY", "Reason" },
	{ "PROGRESS", "Progress" },
	{ "REMARK", "Remark" },
	{ "COMMENT", "Last note" },
	{ "GPUS", "GPUs" },
	{ "GPU-SHARE", "Of each GPU" },
	{ "GPUIDS", "Which GPUs" },
	{ "NODES", "Nodes" },
	{ "NODE", "On" },
	{ "CPUS", "CPUs a node" },
	{ "MEM", "Memory a node" },
	{ "TIMELIMIT", "Time limit" },
	{ "CONSTRAINT", "Constraint" },
	{ "LICENCES", "Licences" },
	{ "DEPENDENCY", "Dependency" },
	{ "BEGIN", "Not before" },
	{ "DEADLINE", "Deadline" },
	{ "MAXWAIT", "Should start within" },
	{ "COST", "Cost at most" },
	{ "CHECKPOINT", "Checkpoint" },
	{ "SUSPENDED", "Suspended" },
	{ "PRIORITY", "Priority" },
	{ "EXIT", "Exit" },
	{ "ATTEMPT", "Attempt" },
	{ "LABELS", "Labels" },
	{ "ARRAY", "Array" },
	{ "HOST", "Submitted on" },
	{ "WORKDIR", "Folder" },
	{ "STDOUT", "Output" },
	{ "STDERR", "Errors" },
};

static void put_job_fact(
        struct html *h, const Gpusched__Job *j, const char *column, const char *name)
{
	static const char *const nothing[] = { "-", "0", "0:0" };
	struct view_cell cell = { .text = "" };

	for (size_t i = 0; i < job_kind.n; i++)
		if (!strcmp(job_kind.columns[i].name, column))
			view_show(&job_kind.columns[i], j, false, &cell);
	if (!text_among(cell.text, nothing, sizeof(nothing) / sizeof(nothing[0])))
		put_fact(h, name, cell.text);
}

static void put_facts(struct page *p, const Gpusched__Job *j)
{
	struct html *h = p->h;

	HTML(h, "<section><h2>What it is</h2><dl class=\"facts\">");
	HTML(h, "<dt>Submitted</dt><dd>");
	put_time(h, j->submit_time, p->now);
	HTML(h, "</dd>");
	if (j->start_time) {
		HTML(h, "<dt>Started</dt><dd>");
		put_time(h, j->start_time, p->now);
		HTML(h, "</dd>");
	}
	if (j->end_time) {
		HTML(h, "<dt>Ended</dt><dd>");
		put_time(h, j->end_time, p->now);
		HTML(h, "</dd>");
	}
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		put_job_fact(h, j, facts[i].column, facts[i].name);
	HTML(h, "</dl></section>");
}

/* --- its head --------------------------------------------------------------------------------- */

static void put_head(struct page *p, uint64_t id, const char *tasks, bool several, const char *name,
        const char *state)
{
	char label[VIEW_JOB_TEXT];

	view_job_text(label, id, tasks, several);
	snprintf(p->title, sizeof(p->title), "Job %s", label);
	HTML(p->h, "<h1>Job %s %s</h1>", label, name);
	HTML(p->h, "<p>");
	put_state(p->h, state);
}

static void put_whose(struct html *h, const char *user, const char *account, const char *partition,
        const char *qos)
{
	HTML(h, " <span class=\"dim\">of</span> <a href=\"/queue?user=");
	html_url(h, user);
	HTML(h, "\">%s</a>", user);
	if (*account)
		HTML(h, "<span class=\"dim\">, account</span> %s", account);
	HTML(h, "<span class=\"dim\">, partition</span> %s", partition);
	if (*qos)
		HTML(h, "<span class=\"dim\">, QOS</span> %s", qos);
	HTML(h, "</p>");
}

/* `live`: what is known of it now; NULL. What is shown of its output is only for its owner. */
static void put_output(struct page *p, uint32_t uid, const char *label, const Gpusched__Job *live)
{
	bool own = p->r->viewer->known && p->r->viewer->uid == uid;
	struct html *h = p->h;

	HTML(h, "<section><h2>Output</h2>");
	if (own && live && !live->show_output) {
		HTML(h, "<p class=\"dim\">Its end is shown here, to you alone, if you submit with "
		        "--show-output and the node's administrator allows it too.</p>");
	} else if (own && live && live->attempt && !live->several &&
	           strcmp(live->state, "PENDING") != 0) {
		HTML(h, "<p>");
		HTML_LINK(h, "/output/", label, "Its last lines");
		HTML(h, "</p>");
	}
	HTML(h,
	        "<p class=\"dim\">Its owner follows it with</p>"
	        "<pre tabindex=\"0\">glog -f %s</pre></section>",
	        label);
}

/* --- the page --------------------------------------------------------------------------------- */

static void put_past(struct page *p, const struct job_answers *a)
{
	struct html *h = p->h;

	if (!a->past) {
		if (a->past_error.code)
			HTML(h, "<p class=\"dim\">What it used is not known: %s.</p>",
			        a->past_error.text);
		return;
	}
	HTML(h, "<section><h2>Attempts</h2>");
	if (a->past->submit_time)
		put_timeline(p, a->past);
	put_attempts(p, a->past);
	HTML(h, "</section>");
	if (!a->past->n_runs)
		return;
	HTML(h, "<section><h2>Use and cost</h2>");
	put_job_use(p, a->past, a->currency ? a->currency : "");
	HTML(h, "</section>");
}

static void put_waiting(struct page *p, const struct job_answers *a, const Gpusched__Job *j)
{
	HTML(p->h, "<section id=\"why\"><h2>Why it waits</h2>");
	if (a->why)
		put_why(p, a->why);
	else
		HTML(p->h, "<p>%s: %s.</p><p class=\"dim\">More is not known: %s.</p>", j->reason,
		        j->reason_text, a->why_error.text);
	HTML(p->h, "</section>");
}

static void show_live(struct page *p, const struct snapshot_job *s, const struct job_name *name)
{
	struct job_answers a = { .why = NULL };
	Gpusched__Job *j = snapshot_job_unpack(p->snap, s);
	char path[JOB_PATH];

	if (!j) {
		page_error(p, 500, "There is no memory");
		return;
	}
	put_head(p, j->id, j->tasks, j->several, j->name, j->state);
	put_whose(p->h, j->user, j->account, j->partition, j->qos);
	HTML(p->h, "<div class=\"beside\"><div>");
	if (s->status->waits) {
		job_ask_why(p, name, &a);
		put_waiting(p, &a, j);
	}
	if (!s->several)
		job_ask_past(p, name, s->status->waits, &a);
	put_past(p, &a);
	HTML(p->h, "</div><div class=\"side\">");
	put_facts(p, j);
	put_output(p, j->uid, job_path(path, j->id, j->tasks, j->several), j);
	HTML(p->h, "</div></div>");
	job_answers_clear(&a);
	gpusched__job__free_unpacked(j, NULL);
}

/* Shows a job that is no longer in the snapshot. The controller hides private jobs from users, but
 * answers gweb in full: so only a job that every user may see is shown. */
static void show_past(struct page *p, const struct job_name *name)
{
	struct job_answers a = { .why = NULL };
	char path[JOB_PATH];

	job_ask_past(p, name, false, &a);
	if (!a.past || !page_sees_owner(p, a.past->uid, a.past->account)) {
		if (a.past || !a.past_error.code || a.past_error.code == ERR_NO_JOB)
			page_error(p, 404, "There is no such job");
		else
			page_error(p, http_status_of(&a.past_error), a.past_error.text);
		job_answers_clear(&a);
		return;
	}
	put_head(p, a.past->id, a.past->tasks, a.past->several, a.past->name, a.past->state);
	put_whose(p->h, a.past->user, a.past->account, a.past->partition, a.past->qos);
	put_past(p, &a);
	put_output(p, a.past->uid,
	        job_path(path, a.past->id, a.past->tasks, a.past->several), NULL);
	job_answers_clear(&a);
}

void page_job(struct page *p)
{
	const struct snapshot_job *s;
	struct job_name name;

	if (!job_name_parse(p->r->name, &name)) {
		page_error(p, 404, "A job is a number, a task of an array a number_task");
		return;
	}
	s = find(p, &name);
	if (!s)
		show_past(p, &name);
	else if (page_sees(p, s))
		show_live(p, s, &name);
	else
		page_error(p, 404, "There is no such job");
}

/* What the queue opens below a row. */
void page_job_why(const struct http_request *r, struct http_answer *a)
{
	struct page p = { .r = r, .snap = r->snap, .options = r->arg, .h = html_new() };
	struct job_answers answers = { .why = NULL };
	const struct snapshot_job *s;
	struct job_name name;

	if (!r->snap || !job_name_parse(r->name, &name) || !(s = find(&p, &name)) ||
	        !page_sees(&p, s)) {
		html_free(p.h);
		http_answer_error(a, 404, "no such job");
		return;
	}
	job_ask_why(&p, &name, &answers);
	if (answers.why)
		put_why(&p, answers.why);
	else
		HTML(p.h, "<p>%s.</p>", answers.why_error.text);
	job_answers_clear(&answers);
	a->type = "text/html; charset=utf-8";
	html_end(p.h, &a->body);
}
