/* partition.c - see partition.h */
#include "cmds/submit/partition.h"

#include <stdlib.h>
#include <string.h>

#include "cmds/api/submit.h"
#include "common/base/xalloc.h"

/* When it would start: 0 now, INT64_MAX not known. */
static void on_answer(const Gpusched__SubmitResult *r, void *arg)
{
	int64_t *start = arg, planned = r->why ? r->why->planned_start_time : 0;

	*start = r->would_start_now ? 0 : planned ? planned : INT64_MAX;
}

int partition_choose(struct submit_options *o, struct gpusched_spec *spec,
        const struct spec_service *service, struct error *err)
{
	char *list = o->partition, *at = list, *one, *best = NULL;
	struct client *c = client_new(NULL, err);
	int64_t soonest = 0, start;
	struct error why, first = { .code = ERR_NONE };

	while (c && (one = strsep(&at, ","))) {
		spec->partition = one;
		if (!*one) {
			error_set(&why, ERR_USAGE,
			        "--partition: a name between the commas is missing");
		} else if (submit_test(c, spec, service, on_answer, &start, &why) >= 0) {
			if (!best || start < soonest) {
				best = one;
				soonest = start;
			}
			continue;
		}
		if (!first.code)
			first = why;
		if (error_exit_status(why.code) == EXIT_NO_CONTROLLER)
			break;
	}
	client_free(c);
	if (c && !best && err)
		*err = first;
	o->partition = best ? xstrdup(best) : NULL;
	spec->partition = o->partition;
	free(list);
	return best ? 0 : -1;
}
