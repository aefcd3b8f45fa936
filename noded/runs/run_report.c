/* run_report.c - see run_report.h */
#include "noded/runs/run_report.h"

#include <stdlib.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

struct run_id run_id_of(const Gpusched__RunId *id)
{
	return (struct run_id){
		.job = id->job, .task = id->task, .attempt = id->attempt, .rank = id->rank
	};
}

Gpusched__RunReport *run_report_copy(const Gpusched__RunReport *r)
{
	Gpusched__RunReport *copy = (Gpusched__RunReport *)msg_copy(&r->base);

	if (!copy)
		abort(); /* our own bytes: there is no memory left */
	return copy;
}

Gpusched__RunReport *run_report_new(struct run_id id)
{
	Gpusched__RunReport r = GPUSCHED__RUN_REPORT__INIT;
	Gpusched__RunId run = GPUSCHED__RUN_ID__INIT;

	COPY_FIELDS(&run, &id, job, task, attempt, rank);
	r.run = &run;
	return run_report_copy(&r);
}

void run_report_free(Gpusched__RunReport *r)
{
	if (r)
		gpusched__run_report__free_unpacked(r, NULL);
}

void run_report_set(char **field, const char *value)
{
	/* Unset strings of protobuf-c all point to one empty constant. */
	if (*field != protobuf_c_empty_string)
		free(*field);
	*field = xstrdup(value);
}
