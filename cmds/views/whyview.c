/* whyview.c - see whyview.h */
#include "cmds/views/whyview.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/api/gpus.h"
#include "cmds/cli/table.h"
#include "cmds/cli/view.h"
#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define USEC_PER_S   1000000
#define LABEL_MIN    16 /* "PLANNED START   " */
#define CLEARS_WIDTH 25 /* on 80 columns */
#define OPTION_WIDTH 34
#define GAP          2

static unsigned usable(unsigned width)
{
	if (!width || width > WHY_WIDE)
		return WHY_WIDE;
	return width < 20 ? 20 : width;
}

/* --- lines ---------------------------------------------------------------------------------- */

/* A text broken into lines. */
struct lines {
	char **v;
	size_t n;
};

static void add_line(struct lines *l, const char *s, size_t len)
{
	l->v = xrealloc(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = xstrndup(s, len);
}

static void lines_clear(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct lines){ NULL, 0 };
}

/* How many bytes of `s` fill a line: whole words, or as much of a long word as there is room for.
 */
static size_t line_length(const char *s, unsigned width)
{
	size_t fits = 0, len = 0, best = 0;
	char piece[512];

	while (s[len] && len < sizeof(piece) - 1) {
		size_t next = len + 1;

		while ((s[next] & 0xc0) == 0x80)
			next++;
		memcpy(piece, s, next);
		piece[next] = '\0';
		if (table_text_width(piece) > width)
			break;
		if (s[next] == ' ' || !s[next])
			best = next;
		fits = len = next;
	}
	return best ? best : fits ? fits : 1;
}

/* Lines of at most `width` columns; all but the first begin with `hang` blanks. */
static struct lines wrap(const char *text, unsigned width, unsigned hang)
{
	struct lines l = { NULL, 0 };
	char *plain = text_escape_dup(text), *s = plain;

	if (hang + 8 > width)
		hang = 0;
	while (*s) {
		unsigned indent = l.n ? hang : 0;
		size_t n = line_length(s, width - indent);
		char *line = xasprintf("%*s%.*s", (int)indent, "", (int)n, s);

		add_line(&l, line, strlen(line));
		free(line);
		s += n;
		s += strspn(s, " ");
	}
	free(plain);
	return l;
}

static void print_wrapped(FILE *out, const char *text, unsigned width, unsigned hang)
{
	struct lines l = wrap(text, width, hang);

	for (size_t i = 0; i < l.n; i++)
		fprintf(out, "%s\n", l.v[i]);
	lines_clear(&l);
}

/* Texts side by side, each with its column; no blanks at the end of a line. */
struct cell {
	const char *text;
	unsigned at, width, hang;
};

static void print_cells(FILE *out, const struct cell *cells, size_t n)
{
	struct lines l[3];
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		l[i] = wrap(cells[i].text, cells[i].width, cells[i].hang);
		most = l[i].n > most ? l[i].n : most;
	}
	for (size_t row = 0; row < most; row++) {
		unsigned at = 0;

		for (size_t i = 0; i < n; i++) {
			if (row >= l[i].n)
				continue;
			fprintf(out, "%*s%s", (int)(cells[i].at > at ? cells[i].at - at : 0), "",
			        l[i].v[row]);
			at = cells[i].at + table_text_width(l[i].v[row]);
		}
		putc('\n', out);
	}
	for (size_t i = 0; i < n; i++)
		lines_clear(&l[i]);
}

/* --- times ---------------------------------------------------------------------------------- */

char *why_time(char buf[WHY_TIME_TEXT], int64_t us, int64_t now)
{
	time_t then = (time_t)(us / USEC_PER_S), present = (time_t)(now / USEC_PER_S);
	struct tm a, b;
	bool same_day;

	snprintf(buf, WHY_TIME_TEXT, "?");
	if (!localtime_r(&then, &a) || !localtime_r(&present, &b))
		return buf;
	same_day = a.tm_yday == b.tm_yday && a.tm_year == b.tm_year;
	strftime(buf, WHY_TIME_TEXT,
	        same_day                 ? "%H:%M"
	        : a.tm_year == b.tm_year ? "%m-%d %H:%M"
	                                 : "%Y-%m-%d %H:%M",
	        &a);
	return buf;
}

/* --- the lists ------------------------------------------------------------------------------ */

struct layout {
	FILE *out;
	int64_t now;
	unsigned width, label; /* of all, of the first column */
	unsigned clears;       /* where that column begins; 0: there is none */
	const char *job;       /* to be updated; NULL: there is none yet */
};

static char *clears_text(const Gpusched__Blocker *b, int64_t now, unsigned *hang)
{
	bool place = !strncmp(b->clears, "on ", 3);
	char when[WHY_TIME_TEXT];

	*hang = 0;
	if (!b->clears_time)
		return xstrdup(b->clears);
	why_time(when, b->clears_time, now);
	*hang = (unsigned)strlen(when) + 1;
	return xasprintf("%s%s%s", when, !*b->clears ? "" : place ? " " : ", ", b->clears);
}

static struct layout lay_out(const Gpusched__Why *why, int64_t now, FILE *out, unsigned width)
{
	struct layout l = { .out = out, .now = now, .label = LABEL_MIN };
	unsigned right;
	bool any = false;

	l.width = usable(width);
	for (size_t i = 0; i < why->n_blockers; i++) {
		const Gpusched__Blocker *b = why->blockers[i];
		unsigned in = *b->partition ? table_text_width(b->partition) + 4 : 0;
		unsigned want = table_text_width(b->reason) + in + 2 + GAP + (i > 8);

		l.label = want > l.label ? want : l.label;
		any |= b->clears_time || *b->clears;
	}
	right = CLEARS_WIDTH + (l.width > 80 ? (l.width - 80) / 3 : 0);
	if (any && l.width >= WHY_NARROW && l.width >= l.label + right + 22)
		l.clears = l.width - right;
	return l;
}

/* A label, and what belongs to it: beside it, or below where there is no room. */
static void print_labelled(const struct layout *l, const char *label, const char *text)
{
	bool below = l->width < l->label + 20;
	struct cell cells[] = { { label, 0, l->label, 0 },
		{ text, l->label, l->width - (below ? 0 : l->label), 0 } };

	if (!below) {
		print_cells(l->out, cells, 2);
		return;
	}
	print_cells(l->out, &(struct cell){ label, 0, l->width, 0 }, 1);
	if (*text)
		print_cells(l->out, &(struct cell){ text, GAP, l->width - GAP, 0 }, 1);
}

static void print_blocker(const struct layout *l, size_t i, const Gpusched__Blocker *b)
{
	char *label = xasprintf("%zu %s%s%s", i + 1, b->reason, *b->partition ? " in " : "",
	              b->partition),
	     *both;
	unsigned hang;
	char *clears = clears_text(b, l->now, &hang);

	if (l->clears) {
		struct cell cells[] = { { label, 0, l->label, 0 },
			{ b->text, l->label, l->clears - l->label - GAP, 0 },
			{ clears, l->clears, l->width - l->clears, hang } };

		print_cells(l->out, cells, 3);
	} else {
		both = xasprintf("%s%s%s%s", b->text, *clears ? " (clears " : "", clears,
		        *clears ? ")" : "");
		print_labelled(l, label, both);
		free(both);
	}
	free(label);
	free(clears);
}

/* The codes of causes as words: "Priority: job 17", "AssocGrpGRES". */
static char *say_cause(const char *why)
{
	if (!strncmp(why, "Priority: ", 10))
		return xasprintf("delayed by %s", why + 10);
	if (!strcmp(why, "Priority"))
		return xstrdup("delayed by a job of higher priority");
	if (*why && !strchr(why, ' ') && strcmp(why, "reconfigured"))
		return xasprintf("delayed by %s", why);
	return xstrdup(why);
}

static void print_plan(const struct layout *l, const Gpusched__Why *why)
{
	char when[WHY_TIME_TEXT], first[WHY_TIME_TEXT];
	struct strbuf text = { 0 };
	char *cause = say_cause(why->planned_why);

	if (why->planned_start_time) {
		strbuf_addf(&text, "%s%s%s or earlier; no backfilled job can delay it",
		        why_time(when, why->planned_start_time, l->now),
		        *why->planned_nodes ? " on " : "", why->planned_nodes);
		if (!why->first_planned_start_time && *why->planned_why) /* it is only imagined */
			strbuf_addf(&text, "; %s", cause);
		if (why->first_planned_start_time &&
		        why->planned_start_time > why->first_planned_start_time)
			strbuf_addf(&text, " (first planned for %s%s%s)",
			        why_time(first, why->first_planned_start_time, l->now),
			        *why->planned_why ? "; " : "", cause);
	} else if (*why->planned_why) {
		strbuf_addf(&text, "none: %s", cause);
	}
	if (text.len)
		print_labelled(l, "PLANNED START", text.s);
	strbuf_free(&text);
	free(cause);
}

/* Where it stands, unless one of the reasons says so. */
static void print_position(const struct layout *l, const Gpusched__Why *why)
{
	char text[64];

	for (size_t i = 0; i < why->n_blockers; i++)
		if (!strcmp(why->blockers[i]->reason, "Priority"))
			return;
	if (!why->position)
		return;
	snprintf(text, sizeof(text), "%" PRIu32 " of %" PRIu32 " in its partition", why->position,
	        why->position_of);
	print_labelled(l, "POSITION", text);
}

static void print_changes(const struct layout *l, const Gpusched__Why *why)
{
	unsigned option = GAP + OPTION_WIDTH;
	char *text;

	if (why->n_changes) {
		putc('\n', l->out);
		print_wrapped(l->out,
		        "WOULD START IT NOW, each tried on the scheduler, smallest change first:",
		        l->width, 0);
	}
	for (size_t i = 0; i < why->n_changes; i++) {
		const Gpusched__Change *c = why->changes[i];
		struct cell cells[] = { { c->option, GAP, OPTION_WIDTH - GAP, GAP },
			{ c->effect, option, l->width - option, 0 } };

		if (l->width >= WHY_NARROW && table_text_width(c->option) <= OPTION_WIDTH - GAP) {
			print_cells(l->out, cells, 2);
			continue;
		}
		cells[0].width = l->width - GAP;
		cells[1] = (struct cell){ c->effect, 2 * GAP, l->width - 2 * GAP, 0 };
		print_cells(l->out, &cells[0], 1);
		print_cells(l->out, &cells[1], 1);
	}
	if (why->n_changes && l->job) {
		text = xasprintf("As in: gctl update %s %s", l->job, why->changes[0]->option);
		print_wrapped(l->out, text, l->width, GAP);
		free(text);
	}
	if (!*why->tried && !why->cut_short)
		return;
	if (!why->n_changes)
		putc('\n', l->out);
	text = xasprintf("%s%s%s%s", *why->tried ? "Tried without success: " : "", why->tried,
	        *why->tried ? "." : "",
	        !why->cut_short ? ""
	        : *why->tried   ? " The search was cut short before all changes were tried."
	                        : "The search was cut short before all changes were tried.");
	print_wrapped(l->out, text, l->width, 0);
	free(text);
}

static void print_list(
        const Gpusched__Why *why, const char *job, int64_t now, FILE *out, unsigned width)
{
	struct layout l = lay_out(why, now, out, width);
	struct cell heading[] = { { "HELD BY", 0, l.clears ? l.clears - GAP : l.width, 0 },
		{ "CLEARS", l.clears, CLEARS_WIDTH, 0 } };

	l.job = job;
	if (why->n_blockers)
		print_cells(out, heading, l.clears ? 2 : 1);
	else
		print_wrapped(out,
		        "No reason is known yet: the scheduler has not evaluated it.",
		        l.width, 0);
	for (size_t i = 0; i < why->n_blockers; i++)
		print_blocker(&l, i, why->blockers[i]);
	print_position(&l, why);
	print_plan(&l, why);
	print_changes(&l, why);
}

void why_print_list(const Gpusched__Why *why, int64_t now, FILE *out, unsigned width)
{
	print_list(why, NULL, now, out, width);
}

/* --- the job in words ----------------------------------------------------------------------- */

static void say_gpus(struct strbuf *s, const Gpusched__Job *j)
{
	for (size_t i = 0; i < j->n_gpus; i++) {
		const Gpusched__GpuCount *g = j->gpus[i];

		strbuf_addf(s, "%s%" PRIu32 " %s", i ? " or " : "", g->count,
		        *g->type        ? g->type
		        : g->count == 1 ? "GPU"
		                        : "GPUs");
	}
}

static void say_nodes(struct strbuf *s, const Gpusched__Job *j)
{
	const char *each = j->gpus_per_node || !j->n_gpus ? "each of " : "";

	if (j->nodes_max <= 1)
		strbuf_adds(s, " on one node");
	else if (j->nodes_min < j->nodes_max)
		strbuf_addf(s, " on %s%" PRIu32 " to %" PRIu32 " nodes", each, j->nodes_min,
		        j->nodes_max);
	else
		strbuf_addf(s, " on %s%" PRIu32 " nodes", each, j->nodes_max);
}

static void say_host(struct strbuf *s, const Gpusched__Job *j)
{
	char mem[UNITS_TEXT];

	strbuf_addf(s, "%" PRIu32 " CPU%s", j->cpus, j->cpus == 1 ? "" : "s");
	if (j->mem_mb)
		strbuf_addf(s, " and %s memory", size_format_mb(mem, j->mem_mb));
}

static void say_time(struct strbuf *s, const Gpusched__Job *j)
{
	char limit[UNITS_TEXT];

	if (j->time_limit_s && j->time_limit_s != UINT32_MAX)
		strbuf_addf(s, ", for up to %s.", duration_format(limit, j->time_limit_s));
	else
		strbuf_adds(s, ", without a time limit.");
}

/* What else it asks of its nodes: "It needs nodes with nvlink&ib, none of h03, ..." */
static void say_wishes(struct strbuf *s, const Gpusched__Job *j)
{
	char text[UNITS_TEXT], share[UNITS_TEXT], tmp[UNITS_TEXT];
	const struct {
		const char *before, *value, *after;
	} wishes[] = {
		{ "nodes with ", j->constraint, "" },
		{ "preferably nodes with ", j->prefer, "" },
		{ "to be on ", j->nodelist, "" },
		{ "none of ", j->exclude, "" },
		{ "GPUs of ", j->gpu_mem_min_mb ? size_format_mb(text, j->gpu_mem_min_mb) : "",
		        " or more" },
		{ "GPUs linked by ", j->gpu_link, " or closer" },
		{ "", share_format(share, j->gpu_mem_mb, j->gpu_share_milli), " of each GPU" },
		{ "disks for temporary data of ", j->tmp_mb ? size_format_mb(tmp, j->tmp_mb) : "",
		        " or more" },
		{ "licences ", j->licences, "" },
		{ "its nodes for itself", j->exclusive ? " " : "", "" },
	};
	const char *comma = " It needs ";

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (!*wishes[i].value)
			continue;
		strbuf_addf(s, "%s%s%s%s", comma, wishes[i].before,
		        *wishes[i].value == ' ' ? "" : wishes[i].value, wishes[i].after);
		comma = ", ";
	}
	if (*comma == ',')
		strbuf_adds(s, ".");
}

static char *say_request(const Gpusched__Job *j)
{
	struct strbuf s = { 0 };

	strbuf_adds(&s, "It asks for ");
	if (j->n_gpus)
		say_gpus(&s, j);
	else
		say_host(&s, j);
	say_nodes(&s, j);
	if (j->n_gpus) {
		strbuf_adds(&s, ", ");
		say_host(&s, j);
		if (j->nodes_max > 1)
			strbuf_adds(&s, " on each");
	}
	say_time(&s, j);
	say_wishes(&s, j);
	return strbuf_take(&s);
}

static bool is_blocker(const Gpusched__Why *why, const char *text)
{
	for (size_t i = 0; i < why->n_blockers; i++)
		if (!strcmp(why->blockers[i]->text, text))
			return true;
	return false;
}

static char *say_job(const Gpusched__WhyResult *r)
{
	const Gpusched__Job *j = r->job;
	char waited[UNITS_TEXT], when[WHY_TIME_TEXT], label[VIEW_JOB_TEXT];
	struct strbuf s = { 0 };

	strbuf_addf(&s, "Job %s %s (%s%s%s, partition %s%s%s)",
	        view_job_text(label, j->id, j->tasks, j->several), j->name, j->user,
	        *j->account ? ", account " : "", j->account, j->partition, *j->qos ? ", QOS " : "",
	        j->qos);
	if (r->why) {
		int64_t us = r->now_time - j->submit_time;

		duration_format(waited, us > 0 ? (uint64_t)(us / USEC_PER_S) : 0);
		if (j->attempt)
			strbuf_addf(&s, " waits again, submitted %s ago.", waited);
		else
			strbuf_addf(&s, " has waited %s.", waited);
		/* A user whose job waits again needs this first. */
		if (j->attempt && *j->comment && !is_blocker(r->why, j->comment))
			strbuf_addf(&s, " Last note: %s.", j->comment);
		return strbuf_take(&s);
	}
	if (j->several && !j->task_count) {
		strbuf_addf(&s, ": none of its tasks waits; %u run, %u have ended.",
		        j->tasks_running, j->tasks_ended);
		return strbuf_take(&s);
	}
	strbuf_addf(&s, " does not wait: it is %s", j->state);
	if (*j->nodes)
		strbuf_addf(&s, " on %s", j->nodes);
	if (j->start_time)
		strbuf_addf(&s, ", started %s", why_time(when, j->start_time, r->now_time));
	strbuf_adds(&s, ".");
	if (j->reason && *j->reason && !j->end_time)
		strbuf_addf(&s, " %s: %s.", j->reason, j->reason_text);
	if (*j->comment)
		strbuf_addf(&s, " Last note: %s.", j->comment);
	return strbuf_take(&s);
}

void why_print(const Gpusched__WhyResult *r, FILE *out, unsigned width)
{
	unsigned lines = usable(width);
	char label[VIEW_JOB_TEXT], *text = say_job(r);

	print_wrapped(out, text, lines, 0);
	free(text);
	if (!r->why)
		return;
	text = say_request(r->job);
	print_wrapped(out, text, lines, 0);
	free(text);
	putc('\n', out);
	/* An array's record is updated by its id, without the brackets that a shell would take. */
	view_job_text(label, r->job->id, r->job->several ? "" : r->job->tasks, false);
	print_list(r->why, label, r->now_time, out, width);
}
