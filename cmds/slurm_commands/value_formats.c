/* value_formats.c - see value_formats.h */
#include "cmds/slurm_commands/value_formats.h"

#include <ctype.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/cli/parse_time.h"

/* The format is the user's own. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool formatted(char *buf, size_t size, const char *format, const struct tm *tm)
{
	return strftime(buf, size, format, tm) > 0;
}
#pragma GCC diagnostic pop

void slurm_time(struct view_cell *cell, int64_t us, const char *none)
{
	const char *format = getenv("SLURM_TIME_FORMAT");
	time_t s = (time_t)(us / 1000000);
	struct tm tm;

	if (!format || !*format || !strcmp(format, "standard") || !strcmp(format, "relative"))
		format = "%Y-%m-%dT%H:%M:%S";
	cell->is_number = true;
	cell->number = us;
	cell->text = cell->buf;
	if (!us || !localtime_r(&s, &tm) || !formatted(cell->buf, sizeof(cell->buf), format, &tm))
		cell->text = none;
}

void slurm_clock(struct view_cell *cell, uint64_t s)
{
	unsigned long long days = s / 86400, hours = s / 3600 % 24, minutes = s / 60 % 60;

	cell->is_number = true;
	cell->number = (int64_t)s;
	cell->text = cell->buf;
	if (days)
		snprintf(cell->buf, sizeof(cell->buf), "%llu-%02llu:%02llu:%02llu", days, hours,
		        minutes, (unsigned long long)s % 60);
	else
		snprintf(cell->buf, sizeof(cell->buf), "%02llu:%02llu:%02llu", hours, minutes,
		        (unsigned long long)s % 60);
}

void slurm_limit(struct view_cell *cell, uint64_t s, const char *none)
{
	if (s && s != UINT32_MAX)
		slurm_clock(cell, s);
	else
		view_text(cell, none);
}

void slurm_memory(struct view_cell *cell, uint64_t mb)
{
	static const char units[] = "MGTP";
	uint64_t n = mb;
	size_t u = 0;

	for (; n && n % 1024 == 0 && u < 3; n /= 1024)
		u++;
	if (mb)
		view_printf(cell, "%llu%c", (unsigned long long)n, units[u]);
	else
		view_text(cell, "0");
	cell->is_number = true;
	cell->number = (int64_t)mb;
}

void slurm_texts(struct view_cell *cell, char *const *v, size_t n, const char *none)
{
	view_text(cell, none);
	for (size_t i = 0; i < n; i++)
		view_item(cell, ",", "%s", v[i]);
}

struct primary_group {
	uint32_t uid;
	unsigned gid;
	char name[128];
};

/* Lists have many jobs of one user behind each other: the last is kept. */
static const struct primary_group *primary_group(uint32_t uid)
{
	static struct primary_group last;
	const struct passwd *p;
	const struct group *g;

	if (uid == last.uid && *last.name)
		return &last;
	p = getpwuid(uid);
	last.uid = uid;
	last.gid = p ? p->pw_gid : uid;
	g = getgrgid(last.gid);
	if (g)
		snprintf(last.name, sizeof(last.name), "%s", g->gr_name);
	else
		snprintf(last.name, sizeof(last.name), "%u", last.gid);
	return &last;
}

const char *slurm_group(uint32_t uid)
{
	return primary_group(uid)->name;
}

unsigned slurm_gid(uint32_t uid)
{
	return primary_group(uid)->gid;
}

/* Slurm also takes a "-" between the day and the time. */
void slurm_moment(const char *text, int64_t *us, struct error *err)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", text);
	if (strlen(copy) > 11 && isdigit((unsigned char)copy[0]) && copy[4] == '-' &&
	        copy[10] == '-')
		copy[10] = 'T';
	err->code = ERR_NONE;
	parse_time(copy, parse_time_now(), us, err);
}
