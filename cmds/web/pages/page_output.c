/* page_output.c - the end of what a job has written, for its owner (cmds/web/output_tail.h)
 *
 * It is read when the page is asked for, and not again by itself: each time costs a process on the
 * job's node. What cannot be shown says why, and the command that shows it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cmds/web/output_tail.h"
#include "cmds/web/pages/cells.h"
#include "cmds/web/pages/job_parts.h"
#include "common/base/units.h"

static const char *const headings[TAIL_FILES] = { "Output", "Errors" };

static void put_command(struct html *h, const char *job, bool error)
{
	HTML(h,
	        "<p class=\"dim\">On a host of the cluster all of it can be read with</p>"
	        "<pre tabindex=\"0\">glog %s-f %s</pre>",
	        error ? "--stderr " : "", job);
}

static void put_file(struct page *p, const struct tail *t, int which)
{
	const struct tail_file *file = &t->files[which];
	struct html *h = p->h;

	HTML(h, "<section><h2>%s</h2><p class=\"dim\">%s on node ", headings[which], file->path);
	HTML_LINK(h, "/node/", t->node, t->node);
	HTML(h, ", attempt %u</p>", (unsigned)t->attempt);
	if (file->error.code)
		HTML(h, "<p role=\"status\">It cannot be shown: %s.</p>", file->error.text);
	else if (!file->text.len)
		HTML(h, "<p>Nothing is in it.</p>");
	else {
		if (file->at)
			HTML(h, "<p>Its end, from byte %llu on:</p>", (unsigned long long)file->at);
		HTML(h, "<pre tabindex=\"0\">");
		html_bytes(h, file->text.s, file->text.len);
		HTML(h, "</pre>");
	}
	put_command(h, p->r->name, which == TAIL_STDERR);
	HTML(h, "</section>");
}

static void put_links(struct page *p, uint64_t lines)
{
	struct html *h = p->h;

	HTML(h, "<p>");
	HTML_LINK(h, "/job/", p->r->name, "The job");
	HTML(h, " <a href=\"/output/");
	html_url(h, p->r->name);
	HTML(h, "?tail=%llu\">Read it again</a></p>", (unsigned long long)lines);
}

void page_output(struct page *p)
{
	struct tail_ask ask = { .viewer = p->r->viewer->uid,
		.name = p->r->name,
		.lines = TAIL_LINES,
		.wanted = { [TAIL_STDOUT] = true, [TAIL_STDERR] = true } };
	const char *lines = page_query(p, "tail");
	struct job_name name;
	struct error err;
	struct tail t;

	if (!job_name_parse(p->r->name, &name)) {
		page_error(p, 404, "A job is a number, a task of an array a number_task");
		return;
	}
	if (*lines && count_parse(lines, 1, TAIL_LINES_MAX, &ask.lines, &err) < 0) {
		page_error(p, 400, err.text);
		return;
	}
	snprintf(p->title, sizeof(p->title), "Output of job %s", p->r->name);
	if (tail_read(p->r->client, &ask, &t, &err) < 0) {
		page_error(p, http_status_of(&err), err.text);
	} else {
		HTML(p->h, "<h1>Output of job %s</h1>", p->r->name);
		put_links(p, ask.lines);
		for (int i = 0; i < TAIL_FILES; i++)
			if (t.files[i].asked)
				put_file(p, &t, i);
	}
	tail_clear(&t);
}
