/* gsubmit_service.c - gsubmit --service, and gserve update: services */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmds/api/service.h"
#include "cmds/api/submit.h"
#include "cmds/cli/jsonout.h"
#include "cmds/options/file_checks.h"
#include "cmds/submit/gsubmit.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

/* --- the service that is updated ------------------------------------------------------------- */

/* "h100:2|l40s:4", in `text`. */
static const char *gpus_text(const Gpusched__Job *job, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < job->n_gpus && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s:%" PRIu32, i ? "|" : "",
		        *job->gpus[i]->type ? job->gpus[i]->type : "any", job->gpus[i]->count);
	return text;
}

static const char *mb_text(uint64_t mb, char text[UNITS_TEXT])
{
	text[0] = '\0';
	if (mb)
		snprintf(text, UNITS_TEXT, "%" PRIu64 "M", mb);
	return text;
}

/* The requests of the present generation stay, unless an option changes them. */
int gsubmit_take_present(struct submit_options *o, const Gpusched__Job *job, struct error *err)
{
	char gpus[512], cpus[16] = "", share[16] = "", mem[6][UNITS_TEXT];
	const struct {
		const char *option, *value; /* "": none */
	} rows[] = {
		{ "partition", job->partition },
		{ "account", job->account },
		{ "qos", job->qos },
		{ job->gpus_per_node ? "gpus-per-node" : "gpus",
		        gpus_text(job, gpus, sizeof(gpus)) },
		{ "gpu-mem-min", mb_text(job->gpu_mem_min_mb, mem[0]) },
		{ "gpu-mem", mb_text(job->gpu_mem_mb, mem[1]) },
		{ "gpu-mem-burst", mb_text(job->gpu_mem_burst_mb, mem[2]) },
		{ "gpu-link", job->gpu_link },
		{ "gpu-share", share },
		{ "cpus-per-task", cpus },
		{ "mem", mb_text(job->mem_mb, mem[3]) },
		{ "tmp", mb_text(job->tmp_mb, mem[4]) },
		{ "constraint", job->constraint },
		{ "prefer", job->prefer },
		{ "nodelist", job->nodelist },
		{ "exclude", job->exclude },
		{ "licenses", job->licences },
		{ "exclusive", job->exclusive ? "yes" : "" },
	};

	if (job->gpu_share_milli)
		snprintf(share, sizeof(share), "%u.%u%%", job->gpu_share_milli / 10,
		        job->gpu_share_milli % 10);
	if (job->cpus)
		snprintf(cpus, sizeof(cpus), "%" PRIu32, job->cpus);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (*rows[i].value &&
		        options_set(o, option_by_name(rows[i].option, strlen(rows[i].option)),
		                rows[i].value, err) < 0)
			return error_wrap(err, "the present generation");
	o->source++;
	return 0;
}

int gsubmit_find_present(struct gsubmit *g, struct submit_options *o, struct error *err)
{
	struct client *c = client_new(NULL, err);
	Gpusched__Job *job = NULL;
	int rc = -1;

	if (!c)
		return -1;
	cmd_tell_retry(&gsubmit_cmd, c);
	g->present = service_find(c, g->update, err);
	if (g->present)
		job = service_job(c, g->present->job, err);
	if (job)
		rc = gsubmit_take_present(o, job, err);
	if (job)
		gpusched__job__free_unpacked(job, NULL);
	client_free(c);
	free(o->service.name);
	o->service.name = xstrdup(g->update);
	return rc;
}

/* --- what its options make ------------------------------------------------------------------- */

int gsubmit_check_service(
        const struct gsubmit *g, const struct submit_options *o, struct error *err)
{
	struct service_job scratch;

	if (g->update && strcmp(o->service.name, g->update) != 0)
		return error_set(err, ERR_USAGE, "--service=%s: service %s is to be updated",
		        o->service.name, g->update);
	if (!o->service.name)
		return service_check_none(o, err);
	return service_job_make(o, g->present, &scratch, err);
}

int gsubmit_make_service(
        const struct gsubmit *g, struct submit_options *o, struct job *job, struct error *err)
{
	struct mistakes *mistakes = o->mistakes;
	int rc;

	o->mistakes = NULL; /* they were told */
	rc = service_job_make(o, g->present, &job->service, err);
	o->mistakes = mistakes;
	job->spec.array = job->service.array;
	return rc;
}

/* --- answers --------------------------------------------------------------------------------- */

static const char *replicas_text(const Gpusched__ServiceRequest *r, char text[UNITS_TEXT])
{
	if (r->min == r->max)
		snprintf(text, UNITS_TEXT, "%" PRIu32 " replica%s", r->min, r->min == 1 ? "" : "s");
	else
		snprintf(text, UNITS_TEXT, "%" PRIu32 " to %" PRIu32 " replicas", r->min, r->max);
	return text;
}

static void print_submitted(
        const struct submit_options *o, const struct job *job, const char *cluster, uint64_t id)
{
	const char *name = job->service.spec.name;
	bool update = job->service.request.update;
	char replicas[UNITS_TEXT];
	struct jsonout j;

	if (o->json) {
		jsonout_begin(&j, stdout, cluster, "jobs");
		jsonout_object(&j, json_pack("{s:I,s:s}", "id", (json_int_t)id, "service", name));
		jsonout_end(&j, NULL);
	} else if (o->parsable) {
		printf("%" PRIu64 "\n", id);
	} else {
		printf("%s service %s (job %" PRIu64 "): %s\n", update ? "Updating" : "Submitted",
		        name, id, replicas_text(&job->service.request, replicas));
	}
	if (fflush(stdout) != 0)
		cmd_warn(&gsubmit_cmd, "service %s was submitted: job %" PRIu64, name, id);
	if (job->service.request.min < job->service.request.max &&
	        !(job->service.request.target > 0))
		cmd_advise(&gsubmit_cmd, "without --target the number of replicas stays at MIN");
	cmd_advise(&gsubmit_cmd, "gserve show %s", name);
}

int gsubmit_service(const struct gsubmit *g, const struct submit_options *o, const struct job *job,
        struct error *err)
{
	struct client *c = client_new(NULL, err);
	uint64_t id = 0;
	int rc;

	if (!c)
		return -1;
	cmd_tell_retry(&gsubmit_cmd, c);
	cmd_tell_warnings(&gsubmit_cmd, c);
	rc = options_check_cluster(o, client_conf(c)->cluster, err);
	if (rc >= 0) {
		files_check(&job->spec, gsubmit_warn, NULL);
		rc = submit_one(c, &job->spec, &job->service.both, &id, err);
	}
	if (rc >= 0)
		print_submitted(o, job, client_conf(c)->cluster, id);
	else if (g->manner->refused)
		g->manner->refused(err);
	client_free(c);
	return rc < 0 ? -1 : EXIT_DONE;
}

/* Before the verdict of --test-only, which is about one replica. */
void gsubmit_print_service_test(const struct job *job, const Gpusched__SubmitResult *r)
{
	const Gpusched__ServiceRequest *asked = &job->service.request;
	char replicas[UNITS_TEXT];

	printf("service %s, %s: ", job->service.spec.name, replicas_text(asked, replicas));
	if (!asked->update)
		printf("its first ");
	else if (r->would_start_now)
		printf("the first of the next generation ");
	else if (asked->surge)
		printf("there is no room for one more beside those that run (--surge=%" PRIu32
		       "); with --surge=0 each waits for the end of an old one; now it ",
		        asked->surge);
	else
		printf("it takes the place of an old one; beside those that run it ");
}
