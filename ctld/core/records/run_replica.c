/* run_replica.c - what a node says of a run that is a replica of a service
 *
 * Health, times, ports and address are durable, so that a restart of the controller changes no
 * endpoint; loads come every second and are not. Only replicas have memory for all of this.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run_impl.h"
#include "ctld/core/rows/row_codec.h"

/* --- rows ------------------------------------------------------------------------------------ */

void run_replica_drop(struct runs *runs, struct run *run)
{
	struct run_replica *r = run_replica_known(run);

	if (!r)
		return;
	DROP_TEXTS(runs->strings, r, address, ports, text);
	free(r);
}

static const struct codec_column replica_columns[COL_RUN_COUNT] = {
#define F(field) [COL_RUN_##field] = COLUMN(struct run_replica, field)
	F(health),
	F(ready_time),
	F(ready_us),
	F(requests),
	F(tokens),
#undef F
};

static const char *keep_value(struct runs *runs, const struct value *v)
{
	return strings_keep_n(runs->strings, v->p, v->n);
}

/* Only replicas get memory for it. */
int run_replica_decode(
        struct runs *runs, struct run *run, const struct row *row, struct error *err)
{
	struct run_replica found = { 0 };

	if (!row->v[COL_RUN_health].i && !row->v[COL_RUN_ports].n)
		return 0;
	if (row->v[COL_RUN_health].i > HEALTH_LAST)
		return row_error(row, COL_RUN_health, err, "no such health");
	if (codec_decode(replica_columns, &found, row, runs->strings, err) < 0)
		return -1;
	found.text = strings_intern(runs->strings, "");
	found.address = keep_value(runs, &row->v[COL_RUN_address]);
	found.ports = keep_value(runs, &row->v[COL_RUN_ports]);
	run_more_made(run)->replica = xmemdup(&found, sizeof(found));
	return 0;
}

void run_replica_encode(const struct run *run, struct row *row)
{
	codec_encode(replica_columns, run_replica(run), row);
	row->v[COL_RUN_address] = value_text(run_replica(run)->address);
	row->v[COL_RUN_ports] = value_text(run_replica(run)->ports);
}

/* --- reports --------------------------------------------------------------------------------- */

struct run_replica *run_replica_known(struct run *run)
{
	return run->link.more ? run->link.more->replica : NULL;
}

const struct run_replica *run_replica(const struct run *run)
{
	static const struct run_replica none = { .address = "", .ports = "", .text = "" };

	return run->link.more && run->link.more->replica ? run->link.more->replica : &none;
}

static struct run_replica *replica(struct runs *runs, struct run *run)
{
	struct run_replica *r = run_replica_known(run);

	if (!r) {
		r = run_more_made(run)->replica = xmemdup(run_replica(run), sizeof(*r));
		KEEP_TEXTS(runs->strings, r, address, ports, text);
	}
	return r;
}

/* "20001,20002" */
static const char *ports_text(const struct replica_report *report, char text[96])
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < report->n_ports && i < REPLICA_PORTS_MAX; i++)
		n += (size_t)snprintf(
		        text + n, 96 - n, "%s%u", i ? "," : "", report->ports[i] & 0xffff);
	return text;
}

bool run_set_replica(
        struct runs *runs, struct run *run, const struct replica_report *report, usec_t mono)
{
	struct run_replica *r;
	char ports[96];
	usec_t since;
	bool changed;

	if (report->health > HEALTH_LAST || (!report->health && !report->n_ports))
		return false;
	r = replica(runs, run);
	changed = r->health != report->health;
	r->health = (uint8_t)report->health;
	since = r->ready_since;
	if (report->health != HEALTH_READY)
		r->ready_since = 0;
	else if (!r->ready_since)
		r->ready_since = mono ? mono : 1;
	if (r->ready_since != since) /* from then on it is protected for a while */
		node_runs_changed(run->link.node);
	if (report->ready_time && !r->ready_time)
		r->ready_time = report->ready_time;
	r->ready_us = report->ready_us;
	if (report->requests)
		r->requests = report->requests;
	if (report->tokens)
		r->tokens = report->tokens;
	changed |= strings_set(runs->strings, &r->text, report->text ? report->text : "");
	if (report->address && *report->address)
		changed |= strings_set(runs->strings, &r->address, report->address);
	if (report->n_ports)
		changed |= strings_set(runs->strings, &r->ports, ports_text(report, ports));
	dirty_put(runs->dirty, &run->mark);
	return changed;
}

void run_set_load(struct run *run, const struct run_load *load)
{
	struct run_replica *r = run_replica_known(run);

	if (!r)
		return;
	r->load = *load;
	if (load->requests)
		r->requests = load->requests;
	if (load->tokens)
		r->tokens = load->tokens;
}
