/* plotdir.c - a folder of charts; see jobplots.h */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/xalloc.h"
#include "common/plot/jobplots.h"

int plotdir_make(const char *dir, struct error *err)
{
	struct stat st;

	if (mkdir(dir, 0777) == 0 ||
	        (errno == EEXIST && stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
		return 0;
	return error_set(
	        err, ERR_SYSTEM, "%s: %s", dir, strerror(errno == EEXIST ? ENOTDIR : errno));
}

static int write_file(const char *path, const struct strbuf *text, struct error *err)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	if (text->len)
		fwrite(text->s, 1, text->len, file);
	if (ferror(file) | fclose(file))
		return error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	return 0;
}

int plotdir_write(const char *dir, const char *name, struct strbuf *svg, struct error *err)
{
	char *path = xasprintf("%s/%s.svg", dir, name);
	int rc = write_file(path, svg, err);

	free(path);
	strbuf_free(svg);
	return rc;
}

static bool has_plans(const struct plotted *d)
{
	size_t i;

	for (i = 0; i < d->n_jobs; i++) {
		if (isfinite(d->jobs[i].planned))
			return true;
	}
	return false;
}

int plotdir_jobs(const char *dir, const struct plotted *d, struct error *err)
{
	const struct jobplot *p;
	struct strbuf svg = { 0 };
	int rc = plotdir_make(dir, err);

	for (p = jobplots; rc == 0 && p->name; p++) {
		if (p->of_plans && !has_plans(d))
			continue;
		jobplot(&svg, p, d, NULL, false);
		rc = plotdir_write(dir, p->name, &svg, err);
	}
	return rc;
}
