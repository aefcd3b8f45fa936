/* gsubmit_test_only.c - gsubmit --test-only: would the job start, where, at what cost */
#include <stdio.h>

#include "cmds/api/submit.h"
#include "cmds/cli/jsonout.h"
#include "cmds/cli/table.h"
#include "cmds/submit/gsubmit.h"
#include "cmds/views/whyview.h"
#include "common/base/clock.h"
#include "common/base/number_list.h"
#include "common/base/units.h"

/* What is made of the answer to --test-only. */
struct verdict_out {
	const struct gsubmit_manner *manner;
	const struct submit_options *o;
	const struct job *job;
	struct jsonout *json; /* NULL: text */
};

/* "h07 with h100:4 (GPUs 2,3,6,7)", "s01 with l40s:1/20G (GPU 3)" */
static void print_place(const Gpusched__Place *p, const struct submit_options *o)
{
	char share[UNITS_TEXT], numbers[NUMBERS_TEXT];

	fputs(p->node, stdout);
	if (!p->n_gpus)
		return;
	share_format(share, o->gpu_mem_mb, o->gpu_share_milli);
	printf(" with %s:%zu%s%s (GPU%s %s)", p->gpu_type, p->n_gpus, *share ? "/" : "", share,
	        p->n_gpus > 1 ? "s" : "",
	        numbers_format(numbers, sizeof(numbers), p->gpus, p->n_gpus));
}

static void print_cost(const Gpusched__SubmitResult *r)
{
	if (r->cost_max > 0)
		printf("; up to %s%s%.2f", r->currency, *r->currency ? " " : "", r->cost_max);
	putchar('\n');
}

static void print_verdict(const Gpusched__SubmitResult *r, const struct submit_options *o)
{
	char when[WHY_TIME_TEXT];

	if (r->would_start_now) {
		printf("would start now%s%s on ", *r->partition ? " in " : "", r->partition);
		for (size_t i = 0; i < r->n_places; i++) {
			fputs(!i ? "" : i + 1 == r->n_places ? " and " : ", ", stdout);
			print_place(r->places[i], o);
		}
	} else if (r->why && r->why->planned_start_time) {
		printf("would wait%s%s until %s", *r->partition ? " for " : "", r->partition,
		        why_time(when, r->why->planned_start_time, clock_us(CLOCK_REALTIME)));
	} else {
		printf("would wait");
	}
	print_cost(r);
	if (r->why)
		why_print_list(
		        r->why, clock_us(CLOCK_REALTIME), stdout, table_style_for(stdout).width);
}

static void on_verdict(const Gpusched__SubmitResult *r, void *arg)
{
	const struct verdict_out *out = arg;

	if (out->json)
		jsonout_message(out->json, &r->base);
	else if (out->manner->verdict)
		out->manner->verdict(r, out->o);
	else {
		if (out->o->service.name)
			gsubmit_print_service_test(out->job, r);
		print_verdict(r, out->o);
	}
}

int gsubmit_test_only(const struct gsubmit_manner *manner, const struct submit_options *o,
        const struct job *job, struct error *err)
{
	struct client *c = client_new(NULL, err);
	struct jsonout json;
	struct verdict_out out = { manner, o, job, o->json ? &json : NULL };
	int rc;

	if (!c)
		return -1;
	cmd_tell_retry(&gsubmit_cmd, c);
	cmd_tell_warnings(&gsubmit_cmd, c);
	rc = options_check_cluster(o, client_conf(c)->cluster, err);
	if (rc >= 0) {
		jsonout_begin(&json, stdout, client_conf(c)->cluster, "jobs");
		rc = submit_test(c, &job->spec, gsubmit_job_service(job), on_verdict, &out, err);
	}
	if (o->json && rc >= 0)
		jsonout_end(&json, NULL);
	client_free(c);
	return rc < 0 ? -1 : EXIT_DONE;
}
