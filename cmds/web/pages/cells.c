/* cells.c - see cells.h */
#include "cmds/web/pages/cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmds/views/views.h"
#include "cmds/views/whyview.h"
#include "common/base/units.h"

void put_time(struct html *h, int64_t us, int64_t now)
{
	char text[WHY_TIME_TEXT], exact[32];
	time_t s = (time_t)(us / 1000000);
	struct tm tm;

	if (!us) {
		HTML(h, "-");
		return;
	}
	strftime(exact, sizeof(exact), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&s, &tm));
	HTML(h, "<time datetime=\"%s\">%s</time>", exact, why_time(text, us, now));
}

void put_span(struct html *h, uint64_t s)
{
	char text[UNITS_TEXT];

	HTML(h, "%s", duration_format(text, s));
}

void put_size_mb(struct html *h, uint64_t mb)
{
	char text[UNITS_TEXT];

	HTML(h, "%s", mb ? size_format_mb(text, mb) : "-");
}

void put_percent(struct html *h, double part, double all)
{
	if (all > 0)
		HTML(h, "%.0f %%", 100 * part / all);
	else
		HTML(h, "-");
}

static const char *colour_class(enum table_colour colour)
{
	static const char *const classes[TABLE_COLOURS] = {
		[TABLE_PLAIN] = "",
		[TABLE_GOOD] = "good",
		[TABLE_WARN] = "warn",
		[TABLE_BAD] = "bad",
		[TABLE_DIM] = "dim",
	};

	return classes[colour];
}

void put_state(struct html *h, const char *state)
{
	const struct job_state *s = job_state(state);

	HTML(h, "<span class=\"%s\">%s</span>", colour_class(s ? s->colour : TABLE_PLAIN), state);
}

const char *job_path(char buf[JOB_PATH], uint64_t id, const char *tasks, bool several)
{
	if (*tasks && !several)
		snprintf(buf, JOB_PATH, "%" PRIu64 "_%s", id, tasks);
	else
		snprintf(buf, JOB_PATH, "%" PRIu64, id);
	return buf;
}

void put_job(struct html *h, uint64_t id, const char *tasks, bool several)
{
	char path[JOB_PATH], text[VIEW_JOB_TEXT];

	HTML_LINK(h, "/job/", job_path(path, id, tasks, several),
	        view_job_text(text, id, tasks, several));
}

void put_bar(struct html *h, double part, double all, double mark)
{
	double width = all > 0 ? 100 * part / all : 0;
	bool over = mark >= 0 && all > 0 && part > mark;

	width = width < 0 ? 0 : width > 100 ? 100 : width;
	HTML(h,
	        "<svg class=\"bar\" viewBox=\"0 0 100 9\" preserveAspectRatio=\"none\" "
	        "aria-hidden=\"true\"><rect class=\"all\" width=\"100\" height=\"9\"/>"
	        "<rect class=\"%s\" width=\"%.1f\" height=\"9\"/>",
	        over ? "over" : "part", width);
	if (mark >= 0 && all > 0)
		HTML(h, "<rect class=\"mark\" x=\"%.1f\" width=\"1.5\" height=\"9\"/>",
		        mark >= all ? 98.5 : 98.5 * mark / all);
	HTML(h, "</svg>");
}

void put_fact(struct html *h, const char *name, const char *value)
{
	if (value && *value)
		HTML(h, "<dt>%s</dt><dd>%s</dd>", name, value);
}

/* --- columns of a listing --------------------------------------------------------------------- */

static const struct view_column *find(const struct view_kind *kind, const char *name)
{
	for (size_t i = 0; i < kind->n; i++)
		if (!strcmp(kind->columns[i].name, name))
			return &kind->columns[i];
	return NULL;
}

static const char *cell_class(const struct column *c, const struct view_column *v)
{
	if (c->class)
		return c->class;
	if (v && v->table.flags & TABLE_RIGHT)
		return "n";
	return !strcmp(c->name, "NAME") ? "name" : "t";
}

static void put_heading(struct html *h, const struct column *c, const struct view_column *v,
        const char *sort, const char *query)
{
	bool down = sort && *sort == '-', by = c->sort && sort && !strcmp(sort + down, c->sort);

	HTML(h, "<th scope=\"col\" class=\"%s\" title=\"%s\"", cell_class(c, v), v ? v->help : "");
	if (by)
		HTML(h, " aria-sort=\"%s\"", down ? "descending" : "ascending");
	HTML(h, ">");
	if (c->sort)
		HTML(h, "<a href=\"?%ssort=%s%s\">%s</a></th>", query ? query : "",
		        by && !down ? "-" : "", c->sort, c->heading);
	else
		HTML(h, "%s</th>", c->heading);
}

void put_table(struct html *h, const char *caption, const struct view_kind *kind,
        const struct column *columns, size_t n, const char *sort, const char *query)
{
	HTML(h,
	        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\">"
	        "<table class=\"wide\"><caption class=\"hide\">%s</caption><thead><tr>",
	        caption, caption);
	for (size_t i = 0; i < n; i++)
		put_heading(h, &columns[i], find(kind, columns[i].name), sort, query);
	HTML(h, "</tr></thead><tbody>");
}

static void put_cell(struct html *h, const struct column *c, const struct view_column *v,
        const void *object, int64_t now)
{
	struct view_cell cell = { .text = "" };
	const char *class = cell_class(c, v);

	if (v)
		view_show(v, object, false, &cell);
	HTML(h, "<td class=\"%s\"", class);
	if (!strncmp(class, "name", 4))
		HTML(h, " title=\"%s\"", cell.text);
	HTML(h, ">");
	if (c->put)
		c->put(h, object, cell.text, now);
	else if (cell.colour != TABLE_PLAIN)
		HTML(h, "<span class=\"%s\">%s</span>", colour_class(cell.colour), cell.text);
	else
		html_text(h, cell.text);
	HTML(h, "</td>");
}

void put_row(struct html *h, const struct view_kind *kind, const struct column *columns, size_t n,
        const void *object, int64_t now)
{
	HTML(h, "<tr>");
	for (size_t i = 0; i < n; i++)
		put_cell(h, &columns[i], find(kind, columns[i].name), object, now);
	HTML(h, "</tr>\n");
}

void put_table_end(struct html *h)
{
	HTML(h, "</tbody></table></div>");
}
