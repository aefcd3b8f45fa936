/* gserve_show.c - gserve show, gserve endpoints */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cmds/serve/gserve.h"
#include "cmds/views/serviceview.h"
#include "cmds/views/whyview.h"
#include "common/base/xalloc.h"

struct service_query serve_query(const struct gserve *g)
{
	return (struct service_query){ .names = g->names,
		.n = g->n,
		.mine = g->me,
		.replicas = g->details || g->why || g->listing.json };
}

/* --- a list, or all about some --------------------------------------------------------------- */

/* A table of its own, below its service. */
static int print_replicas(struct gserve *g, const Gpusched__Service *s, struct error *err)
{
	struct listing *l = &g->listing;
	struct table_style style = table_style_for(stdout);
	struct view *view;

	style.heading = !l->no_heading;
	if (l->columns && !isatty(STDOUT_FILENO))
		style.width = 0; /* another program reads them */
	view = view_new(&replica_kind,
	        l->columns  ? l->columns
	        : l->longer ? replica_kind.longer
	                    : NULL,
	        l->sort, &style, err);
	if (!view)
		return -1;
	for (size_t i = 0; i < s->n_replicas; i++)
		view_add(view, s->replicas[i]);
	view_end(view);
	return 0;
}

static int print_details(const Gpusched__Service *s, void *arg, struct error *err)
{
	struct gserve *g = arg;

	if (g->listing.out.n++)
		putchar('\n');
	view_print_record(&service_kind, s, stdout);
	putchar('\n');
	return print_replicas(g, s, err);
}

static int add_row(const Gpusched__Service *s, void *arg, struct error *err)
{
	struct gserve *g = arg;

	(void)err;
	listing_add(&g->listing, s, &s->base);
	return 0;
}

int serve_print(struct gserve *g, struct client *c, struct error *err)
{
	struct service_query query = serve_query(g);

	g->listing.out.n = 0;
	return service_list(
	        c, &query, g->details && !g->listing.json ? print_details : add_row, g, err);
}

/* --- why replicas wait ----------------------------------------------------------------------- */

struct waiting {
	uint64_t *jobs;
	size_t n;
};

static int find_waiting(const Gpusched__Service *s, void *arg, struct error *err)
{
	struct waiting *w = arg;
	uint64_t jobs[] = { s->pending ? s->job : 0, s->pending ? s->next_job : 0 };

	(void)err;
	for (size_t i = 0; i < 2; i++) {
		if (!jobs[i])
			continue;
		w->jobs = xrealloc(w->jobs, w->n + 1, sizeof(*w->jobs));
		w->jobs[w->n++] = jobs[i];
	}
	return 0;
}

static int on_why(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__WhyResult *why = (const Gpusched__WhyResult *)m;
	struct gserve *g = arg;

	if (!why->job)
		return error_set(err, ERR_PROTOCOL, "a reason without its job");
	if (g->listing.json) {
		jsonout_message(&g->listing.out, m);
		return 0;
	}
	if (g->listing.out.n++)
		putchar('\n');
	why_print(why, stdout, table_style_for(stdout).width);
	return 0;
}

static int ask_why(struct gserve *g, struct client *c, const struct waiting *w, struct error *err)
{
	Gpusched__JobWhy request = GPUSCHED__JOB_WHY__INIT;
	struct client_call call = CLIENT_ASK(JOB_WHY, &request.base, WHY_RESULT, on_why, g);

	request.ids = w->jobs;
	request.n_ids = w->n;
	return w->n ? client_call(c, &call, err) : 0;
}

static int show_why(struct gserve *g, struct error *err)
{
	struct service_query query = serve_query(g);
	struct waiting w = { .n = 0 };
	struct client *c = client_new(NULL, err);
	int rc;

	if (!c)
		return -1;
	cmd_tell_retry(&serve_cmd, c);
	jsonout_begin(&g->listing.out, stdout, client_conf(c)->cluster, "jobs");
	rc = service_list(c, &query, find_waiting, &w, err);
	rc = rc < 0 ? -1 : ask_why(g, c, &w, err);
	if (g->listing.json)
		jsonout_end(&g->listing.out, rc < 0 ? err : NULL);
	else if (rc >= 0 && !w.n)
		printf("No replica that is wanted waits for a node\n");
	free(w.jobs);
	client_free(c);
	return rc < 0 ? -1 : EXIT_DONE;
}

/* --- show ------------------------------------------------------------------------------------ */

static int show_details(struct gserve *g, struct error *err)
{
	struct client *c = client_new(NULL, err);
	int rc;

	if (!c)
		return -1;
	cmd_tell_retry(&serve_cmd, c);
	rc = serve_print(g, c, err);
	client_free(c);
	return rc < 0 ? -1 : EXIT_DONE;
}

static int show_list(struct gserve *g, struct error *err)
{
	struct client *c =
	        listing_open(&g->listing, &serve_cmd, &service_kind, "services", NULL, err);
	int rc;

	if (!c)
		return -1;
	rc = serve_print(g, c, err);
	return listing_close(&g->listing, c, rc, false, err) < 0 ? -1 : EXIT_DONE;
}

int serve_show(struct gserve *g, struct error *err)
{
	static const char named[] = "it is about waiting jobs";
	const struct cmd_pair pairs[] = {
		{ g->why, g->watch, "--why", "--watch", NULL },
		{ g->why, g->listing.columns, "--why", "--format", named },
		{ g->why, g->listing.sort, "--why", "--sort", named },
		{ g->why, g->listing.longer, "--why", "--long", named },
		{ g->why, g->listing.csv, "--why", "--csv", named },
		{ g->watch, g->listing.sort, "--watch", "--sort",
		        "services are printed as they change" },
	};

	if (cmd_check_pairs(CMD_PAIRS(pairs), err) < 0)
		return -1;
	if (g->why)
		return show_why(g, err);
	if (g->watch)
		return serve_watch(g, err);
	return g->details && !g->listing.json ? show_details(g, err) : show_list(g, err);
}

/* --- endpoints ------------------------------------------------------------------------------- */

static json_t *endpoint_object(const Gpusched__Service *s, const Gpusched__ServiceReplica *r)
{
	json_t *ports = json_array();

	for (size_t i = 0; i < r->n_ports; i++)
		json_array_append_new(ports, json_integer(r->ports[i]));
	return json_pack("{s:s,s:I,s:I,s:s,s:s,s:o}", "service", s->name, "slot",
	        (json_int_t)r->slot, "generation", (json_int_t)r->generation, "node", r->node,
	        "address", r->address, "ports", ports);
}

static int print_endpoints(const Gpusched__Service *s, void *arg, struct error *err)
{
	char text[REPLICA_ENDPOINT_TEXT];
	struct gserve *g = arg;

	if (s->spec && !s->spec->ports && !g->listing.json) {
		error_set(err, ERR_JOB_SPEC, "service %s has no ports", s->name);
		return error_hint(err, "gserve update %s --ports=1 SCRIPT", s->name);
	}
	for (size_t i = 0; i < s->n_replicas; i++) {
		const Gpusched__ServiceReplica *r = s->replicas[i];

		if (!r->serves)
			continue;
		if (g->listing.json)
			jsonout_object(&g->listing.out, endpoint_object(s, r));
		else if (*replica_endpoint(r, text))
			puts(text);
	}
	return 0;
}

int serve_endpoints(struct gserve *g, struct error *err)
{
	struct service_query query = { .names = g->names, .n = g->n, .replicas = true };
	struct client *c = client_new(NULL, err);
	int rc;

	if (!c)
		return -1;
	cmd_tell_retry(&serve_cmd, c);
	jsonout_begin(&g->listing.out, stdout, client_conf(c)->cluster, "endpoints");
	rc = service_list(c, &query, print_endpoints, g, err);
	if (g->listing.json)
		jsonout_end(&g->listing.out, rc < 0 ? err : NULL);
	client_free(c);
	return rc < 0 ? -1 : EXIT_DONE;
}
