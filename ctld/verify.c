/* verify.c - see verify.h */
#include "ctld/verify.h"

#include "common/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/store/verify.h"

static int take_row(void *arg, const struct row *row, struct error *err)
{
	return core_load(arg, row, err);
}

int verify_state(const struct conf *conf, const char *path, char **told, struct error *err)
{
	struct core *core = core_new(conf, 1);
	struct core_stats stats;
	bool summed;
	int rc = store_verify(path, take_row, core, &summed, err);

	if (rc == 0)
		rc = core_start(core, ctld_now(), err);
	if (rc == 0)
		rc = core_check(core, err);
	if (rc == 0) {
		core_stats(core, &stats);
		*told = xasprintf("%s: good%s: %llu jobs, %llu runs, epoch %llu", path,
		        summed ? "" : " (it has no sum: is no backup, or an old one)",
		        (unsigned long long)stats.jobs, (unsigned long long)stats.runs,
		        (unsigned long long)stats.epoch - 1);
	}
	core_free(core);
	return rc;
}
