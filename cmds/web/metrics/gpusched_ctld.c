/* gpusched_ctld.c - gpusched_ctld_*: what the controller says of itself
 *
 * The names come from the controller, so that a figure that is new there is here without a change.
 * Only letters, digits, "." and "_" make a name: anything else is left out.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmds/web/metrics/rows.h"
#include "cmds/web/snapshot.h"

static const struct {
	const char *unit, *suffix;
	double times;
} units[] = {
	{ "ms", "_seconds", 1e-3 },
	{ "s", "_seconds", 1 },
	{ "us", "_seconds", 1e-6 },
	{ "MiB", "_bytes", 1048576 },
	{ "B", "_bytes", 1 },
	{ "%", "_ratio", 0.01 },
	{ "", "", 1 },
};

static bool make_name(const char *stat, const char *suffix, char *buf, size_t size)
{
	size_t len = strlen(stat), more = *suffix ? strlen(suffix + 1) : 0;
	/* "streams.bytes" has its unit already. */
	bool said = more && len > more && !strcmp(stat + len - more, suffix + 1);
	int n = snprintf(buf, size, "gpusched_ctld_%s%s", stat, said ? "" : suffix);

	if (n < 0 || (size_t)n >= size)
		return false;
	for (char *c = buf; *c; c++) {
		if (*c == '.')
			*c = '_';
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	}
	return true;
}

/* A line of help has neither line ends nor backslashes. */
static bool is_plain(const char *help)
{
	return !strpbrk(help, "\\\n\r");
}

void metrics_ctld(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t i = 0; snap && i < snap->n_stats; i++) {
		const Gpusched__Stat *s = snap->stats[i];
		struct metric row = { .type = "gauge", .labels = "", .help = s->help };
		struct metric_out one = { .text = o->text, .metric = &row, .in = o->in };
		char name[128];
		size_t u = 0;

		while (*units[u].unit && strcmp(units[u].unit, s->unit) != 0)
			u++;
		if (!make_name(s->name, units[u].suffix, name, sizeof(name)) || !is_plain(s->help))
			continue;
		row.name = name;
		metric_put(&one, s->value * units[u].times);
	}
}
