/* gctl_show.c - gctl show: all about jobs, nodes and partitions, and the configuration */
#include "cmds/ctl/gctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/api/reassemble.h"
#include "cmds/views/acctview.h"
#include "cmds/views/views.h"
#include "common/base/hostlist.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/gpu/topology_table.h"

/* One more object: as a record of its own, or in the JSON list. */
static void show_object(
        struct run *r, const struct view_kind *kind, const void *object, const ProtobufCMessage *m)
{
	if (r->g->json) {
		jsonout_message(&r->out, m);
	} else {
		if (r->seen)
			putchar('\n');
		view_print_record(kind, object, stdout);
	}
	r->seen++;
}

static int show_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Job *job = (const Gpusched__Job *)m;
	struct run *r = arg;

	(void)err;
	cmd_ids_saw(&r->g->filter.ids, CMD_REPORTED(job));
	show_object(r, &job_kind, job, m);
	if (!r->g->json)
		job_print_runs(job, stdout);
	return 0;
}

/* A line for each GPU that is not given to jobs. */
static void show_bad_gpus(const Gpusched__Node *n)
{
	for (size_t i = 0; i < n->n_devices; i++) {
		const Gpusched__NodeGpu *g = n->devices[i];
		struct view_cell since = { .text = "" };

		if (!strcmp(g->state, "free") || !strcmp(g->state, "whole"))
			continue;
		view_time(&since, g->since);
		printf("%-16s  %" PRIu32 " %s%s%s%s%s", "GPU", g->index, g->uuid,
		        *g->uuid ? " " : "", g->state, *g->reason ? ": " : "", g->reason);
		if (g->since)
			printf(" [%s%s%s]", g->reason_by, *g->reason_by ? " " : "", since.text);
		putchar('\n');
	}
}

/* "GPU now    0 37%, 38G of 80G used, 412 W, 61 C, 1755 MHz" */
static void show_gpu_now(const Gpusched__NodeGpu *g)
{
	char used[UNITS_TEXT], all[UNITS_TEXT], sm[16] = "";

	if (g->sm_known)
		snprintf(sm, sizeof(sm), "%" PRIu32 "%%, ", g->sm_pct);
	printf("%-16s  %" PRIu32 " %s%s of %s used", "GPU now", g->index, sm,
	        size_format_mb(used, g->fb_used_mb),
	        size_format_mb(all, g->mem_mb ? g->mem_mb : g->fb_used_mb + g->fb_free_mb));
	if (g->power_mw)
		printf(", %" PRIu32 " W", (g->power_mw + 500) / 1000);
	if (g->temp_c)
		printf(", %" PRIu32 " C", g->temp_c);
	if (g->sm_clock_mhz)
		printf(", %" PRIu32 " MHz", g->sm_clock_mhz);
	if (g->last_xid)
		printf(", last Xid %" PRIu32, g->last_xid);
	printf(" (%" PRIu32 " s ago)\n", g->sample_age_s);
}

/* The present use of its GPUs, also of those that no job has. */
static void show_samples(const Gpusched__Node *n)
{
	for (size_t i = 0; i < n->n_devices; i++) {
		if (n->devices[i]->sample_known)
			show_gpu_now(n->devices[i]);
	}
}

/* How close its GPUs are to each other, where that is known. */
static void show_near(const Gpusched__Node *n)
{
	const char **rows = xcalloc(n->n_devices + 1, sizeof(*rows));
	uint32_t *numbers = xcalloc(n->n_devices + 1, sizeof(*numbers));

	for (size_t i = 0; i < n->n_devices; i++) {
		rows[i] = n->devices[i]->near;
		numbers[i] = n->devices[i]->index;
	}
	topology_table_print(rows, numbers, n->n_devices, stdout);
	free(rows);
	free(numbers);
}

static int show_node(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Node *node = (const Gpusched__Node *)m;
	struct run *r = arg;

	(void)err;
	show_object(r, &node_kind, node, m);
	if (r->g->json)
		return 0;
	show_bad_gpus(node);
	show_samples(node);
	show_near(node);
	return 0;
}

/* The types of GPU stand in one record: a line for each but the first. */
static void show_more_types(const Gpusched__Partition *p)
{
	for (size_t i = 1; i < p->n_gpus; i++)
		printf("%-16s  %s: %" PRIu32 " of %" PRIu32 " free\n", "GPUS", p->gpus[i]->type,
		        p->gpus[i]->free, p->gpus[i]->total);
}

static int show_partition(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct partition_line line = { (const Gpusched__Partition *)m, 0 };
	struct run *r = arg;

	(void)err;
	show_object(r, &partition_kind, &line, m);
	if (!r->g->json)
		show_more_types(line.partition);
	return 0;
}

int gctl_end(struct run *r, int rc, struct error *err)
{
	if (r->g->json)
		jsonout_end(&r->out, rc < 0 ? err : NULL);
	return rc < 0 ? -1 : EXIT_DONE;
}

/* --- what a job runs ------------------------------------------------------------------------ */

/* As it is; on a terminal only what cannot steer it. */
static void print_bytes(const void *bytes, size_t n)
{
	const char *p = bytes, *end = p + n;

	if (!isatty(STDOUT_FILENO)) {
		fwrite(bytes, 1, n, stdout);
		return;
	}
	while (p < end) {
		const char *stop = p;
		char *line, *plain;

		while (stop < end && *stop != '\n' && *stop != '\t')
			stop++;
		line = xstrndup(p, (size_t)(stop - p));
		plain = text_escape_dup(line);
		fputs(plain, stdout);
		if (stop < end)
			putchar(*stop);
		free(plain);
		free(line);
		p = stop + 1;
	}
}

static int print_env(const Gpusched__ScriptResult *m, struct error *err)
{
	Gpusched__SignedSpec *spec = gpusched__signed_spec__unpack(NULL, m->spec.len, m->spec.data);

	if (!spec)
		return error_set(err, ERR_PROTOCOL, "the job's environment cannot be decoded");
	for (size_t i = 0; i < spec->n_env; i++) {
		print_bytes(spec->env[i].data, spec->env[i].len);
		putchar('\n');
	}
	gpusched__signed_spec__free_unpacked(spec, NULL);
	return 0;
}

static int on_script(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ScriptResult *result = (const Gpusched__ScriptResult *)m;
	struct run *r = arg;

	if (r->g->env)
		return print_env(result, err);
	print_bytes(result->script.data, result->script.len);
	return 0;
}

/* Prints the scripts one after another; the tasks of an array share one script. */
static int show_scripts(struct run *r, struct error *err)
{
	struct cmd_ids *ids = &r->g->filter.ids;
	Gpusched__ShowScript request = GPUSCHED__SHOW_SCRIPT__INIT;

	if (r->g->json || (r->g->script && r->g->env))
		return error_set(err, ERR_USAGE, "show job: %s and %s exclude each other",
		        r->g->script ? "--script" : "--env", r->g->json ? "--json" : "--env");
	for (size_t i = 0; i < ids->n; i++) {
		request.job = ids->v[i].id;
		if (gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_SHOW_SCRIPT, &request.base, true,
		            GPUSCHED__MSG_TYPE__MSG_SCRIPT_RESULT, on_script, err) >= 0)
			ids->v[i].seen = true;
		else if (err->code != ERR_NO_JOB)
			return -1;
	}
	return cmd_ids_end(ids, EXIT_DONE, "not known, or the script was erased", err);
}

/* Of a job that is history: what accounting knows of it, with its runs. */
static int show_past_job(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Acct *job = (const Gpusched__Acct *)m;
	struct run *r = arg;

	(void)err;
	if (!cmd_ids_miss(&r->g->filter.ids, CMD_REPORTED(job)))
		return 0;
	cmd_ids_saw(&r->g->filter.ids, CMD_REPORTED(job));
	if (r->g->json && !r->past)
		jsonout_list(&r->out, "history");
	r->past = true;
	show_object(r, &acct_kind, job, m);
	for (size_t i = 0; i < job->n_runs && !r->g->json; i++) {
		struct acct_run_line line = { job, job->runs[i] };

		putchar('\n');
		view_print_record(&acct_run_kind, &line, stdout);
	}
	return 0;
}

/* Jobs that the controller no longer holds in memory come from its history. */
static int show_past(struct run *r, struct error *err)
{
	const struct cmd_ids *ids = &r->g->filter.ids;
	uint64_t *unseen = xcalloc(ids->n, sizeof(*unseen));
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	Gpusched__ListAcct request = GPUSCHED__LIST_ACCT__INIT;
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_ACCT_CHUNK, show_past_job, r, NULL };
	int rc = 0;

	for (size_t i = 0; i < ids->n; i++)
		if (!ids->v[i].seen)
			unseen[filter.n_ids++] = ids->v[i].id;
	filter.ids = unseen;
	request.filter = &filter;
	request.with_runs = true;
	request.whole = true;
	if (filter.n_ids)
		rc = reassembly_ask(
		        r->client, GPUSCHED__MSG_TYPE__MSG_LIST_ACCT, &request.base, &jobs, err);
	free(unseen);
	return rc;
}

int gctl_show_job(struct run *r, struct error *err)
{
	Gpusched__JobFilter filter;
	Gpusched__ListJobs request = GPUSCHED__LIST_JOBS__INIT;
	struct reassembly jobs = { GPUSCHED__MSG_TYPE__MSG_JOB_CHUNK, show_job, r, NULL };
	struct filter *f = &r->g->filter;
	int rc;

	for (size_t i = 0; i < r->n; i++)
		if (filter_add(f, FILTER_IDS, "ID", r->words[i], err) < 0)
			return -1;
	if (r->g->script || r->g->env)
		return show_scripts(r, err);
	f->ended = true;
	filter_message(f, &filter);
	request.filter = &filter;
	request.with_runs = true;
	request.whole = true;
	jsonout_begin(&r->out, stdout, client_conf(r->client)->cluster, "jobs");
	rc = reassembly_ask(
	        r->client, GPUSCHED__MSG_TYPE__MSG_LIST_JOBS, &request.base, &jobs, err);
	if (rc >= 0 || err->code == ERR_NO_JOB)
		rc = show_past(r, err);
	return gctl_end(r, cmd_ids_end(&f->ids, rc, "not known", err), err);
}

int gctl_take_nodes(const char *const *words, size_t n, struct cmd_list *out, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		char shown[160];

		if (cmd_hosts_add(out, words[i], err) >= 0)
			continue;
		text_escape(shown, sizeof(shown), words[i], strlen(words[i]));
		return error_wrap(err, "nodes %s", shown);
	}
	return 0;
}

int gctl_list_nodes(
        struct run *r, const struct cmd_list *names, gctl_on_chunk *on_chunk, struct error *err)
{
	Gpusched__ListNodes request = GPUSCHED__LIST_NODES__INIT;

	request.names = names->v;
	request.n_names = names->n;
	request.devices = true;
	return gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_LIST_NODES, &request.base, true,
	        GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK, on_chunk, err);
}

int gctl_show_node(struct run *r, struct error *err)
{
	struct reassembly nodes = { GPUSCHED__MSG_TYPE__MSG_NODE_CHUNK, show_node, r, NULL };
	Gpusched__ListNodes request = GPUSCHED__LIST_NODES__INIT;
	struct cmd_list names = { .n = 0 };
	int rc = gctl_take_nodes(r->words, r->n, &names, err);

	jsonout_begin(&r->out, stdout, client_conf(r->client)->cluster, "nodes");
	request.names = names.v;
	request.n_names = names.n;
	request.devices = true;
	request.whole = true;
	if (rc >= 0)
		rc = reassembly_ask(
		        r->client, GPUSCHED__MSG_TYPE__MSG_LIST_NODES, &request.base, &nodes, err);
	cmd_list_clear(&names);
	return gctl_end(r, rc, err);
}

int gctl_show_partition(struct run *r, struct error *err)
{
	struct reassembly partitions = { GPUSCHED__MSG_TYPE__MSG_PARTITION_CHUNK, show_partition, r,
		NULL };
	Gpusched__ListPartitions request = GPUSCHED__LIST_PARTITIONS__INIT;

	request.names = (char **)r->words;
	request.n_names = r->n;
	request.whole = true;
	jsonout_begin(&r->out, stdout, client_conf(r->client)->cluster, "partitions");
	return gctl_end(r,
	        reassembly_ask(r->client, GPUSCHED__MSG_TYPE__MSG_LIST_PARTITIONS, &request.base,
	                &partitions, err),
	        err);
}

/* --- the configuration ---------------------------------------------------------------------- */

/* Is the line, at the outermost level, of a section that was asked for? */
static bool in_section(const struct run *r, const char *line)
{
	size_t len = strcspn(line, " ");

	for (size_t i = 0; i < r->n; i++)
		if (strlen(r->words[i]) == len && !strncmp(r->words[i], line, len))
			return true;
	return !r->n;
}

static int on_config(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ConfigChunk *chunk = (const Gpusched__ConfigChunk *)m;
	struct run *r = arg;

	(void)err;
	for (size_t i = 0; i < chunk->n_lines; i++) {
		const char *line = chunk->lines[i];
		bool goes_on = i == 0 && chunk->continues;

		if (!goes_on && line[0] != ' ' && line[0] != ')' && line[0] != '}')
			r->inside = in_section(r, line);
		if (!r->inside)
			continue;
		fputs(line, stdout);
		if (!chunk->more || i + 1 < chunk->n_lines)
			putchar('\n');
		r->seen++;
	}
	return 0;
}

int gctl_show_config(struct run *r, struct error *err)
{
	Gpusched__ShowConfig request = GPUSCHED__SHOW_CONFIG__INIT;

	if (gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_SHOW_CONFIG, &request.base, true,
	            GPUSCHED__MSG_TYPE__MSG_CONFIG_CHUNK, on_config, err) < 0)
		return -1;
	if (!r->seen) {
		error_set(
		        err, ERR_USAGE, "'%s': no such section in the configuration", r->words[0]);
		return error_hint(
		        err, "sections: controller, nodes, partitions, accounts, qos, ...");
	}
	return EXIT_DONE;
}

/* --- lists of nodes, which need no controller ------------------------------------------------ */

static int print_name(const char *name, void *arg)
{
	(void)arg;
	puts(name);
	return 0;
}

int gctl_show_hostnames(struct run *r, struct error *err)
{
	const char *list = r->n ? r->words[0] : getenv("GPUSCHED_NODELIST");

	if (!list || !*list) {
		error_set(err, ERR_USAGE, "show hostnames: a list of nodes is required");
		return error_hint(
		        err, "in a job its own nodes: GPUSCHED_NODELIST, which is not set");
	}
	return hostlist_each(list, HOSTLIST_MAX, print_name, NULL, err) < 0 ? -1 : EXIT_DONE;
}

int gctl_show_hostlist(struct run *r, struct error *err)
{
	char **names, *list;
	size_t n;

	if (hostlist_expand(r->words[0], HOSTLIST_MAX, &names, &n, err) < 0)
		return -1;
	list = hostlist_compress((const char *const *)names, n);
	puts(list);
	free(list);
	free(names);
	return EXIT_DONE;
}
