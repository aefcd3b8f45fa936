/* verify.c - see verify.h */
#include "ctld/verify.h"

#include "common/base/progress.h"
#include "common/base/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/store/verify_copy.h"

static int take_row(void *arg, const struct row *row, struct error *err)
{
	return core_load(arg, row, err);
}

struct progress_parts {
	struct progress *bar;
	enum verify_part part;
};

static void on_progress(void *arg, enum verify_part part, uint64_t done)
{
	struct progress_parts *p = arg;

	if (part == VERIFY_ROWS && p->part != part)
		progress_part(p->bar, "checking rows", "rows", PROGRESS_COUNT, 0);
	p->part = part;
	progress_at(p->bar, done);
}

static const char *remark(const struct verified *verified)
{
	return verified->summed ? "" : " (its pages have no sums: an older version wrote it)";
}

static char *state_is_good(const struct core *core, const char *path, const struct verified *v)
{
	struct core_stats stats;

	core_stats(core, &stats);
	return xasprintf("%s: good%s: %llu jobs, %llu runs, epoch %llu", path, remark(v),
	        (unsigned long long)stats.jobs, (unsigned long long)stats.runs,
	        (unsigned long long)stats.epoch - 1);
}

int verify_state(const struct conf *conf, const char *path, char **told, struct error *err)
{
	struct core *core = core_new(conf, 1);
	struct verified verified;
	struct progress_parts parts = {
		progress_new("checking pages", "steps", PROGRESS_COUNT, 0, false), VERIFY_PAGES
	};
	int rc = store_verify(path, take_row, core, &verified, on_progress, &parts, err);

	progress_end(parts.bar);
	if (rc == 0 && verified.is_history) {
		*told = xasprintf("%s: good%s: history of %llu jobs, %llu runs", path,
		        remark(&verified), (unsigned long long)verified.jobs,
		        (unsigned long long)verified.runs);
		core_free(core);
		return 0;
	}
	if (rc == 0)
		rc = core_start(core, ctld_now(), err);
	if (rc == 0)
		rc = core_check(core, err);
	if (rc == 0)
		*told = state_is_good(core, path, &verified);
	core_free(core);
	return rc;
}
