/* metrics_pages.c - which pages of metrics there are, and the manual's list of them */
#include "cmds/web/metrics_rows.h"

const struct metrics_page metrics_pages[] = {
	{ "/metrics", "This project's own names", metrics_own },
	{ NULL, NULL, NULL },
};

void metrics_manual(FILE *out)
{
	for (const struct metrics_page *page = metrics_pages; page->path; page++) {
		fprintf(out, ".Ss %s\n%s.\n.Bl -tag -width Ds\n", page->path, page->about);
		for (const struct metric *m = page->rows; m->name; m++)
			fprintf(out, ".It Li %s%s%s%s Pq %s\n%s.\n", m->name, *m->labels ? "{" : "",
			        m->labels, *m->labels ? "}" : "", m->type, m->help);
		fprintf(out, ".El\n");
	}
}
