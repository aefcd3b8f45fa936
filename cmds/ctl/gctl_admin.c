/* gctl_admin.c - gctl ping, partition, reconfigure, backup and shutdown */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/ctl/gctl.h"
#include "common/base/clock.h"
#include "common/base/progress.h"
#include "common/base/text.h"

/* --- ping ------------------------------------------------------------------------------------ */

static int on_pong(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__Pong *pong = (const Gpusched__Pong *)m;
	struct run *r = arg;

	(void)err;
	if (r->g->json)
		jsonout_message(&r->out, m);
	else
		printf("%s: gctld %s on %s, epoch %" PRIu64 "; you are uid %" PRIu32 "\n",
		        pong->cluster, pong->version, pong->host, pong->epoch, pong->uid);
	return 0;
}

int gctl_ping(struct run *r, struct error *err)
{
	Gpusched__Ping ping = GPUSCHED__PING__INIT;
	int64_t start = clock_us(CLOCK_MONOTONIC);
	int rc;

	client_set_retry(r->client, 0);
	jsonout_begin(&r->out, stdout, client_conf(r->client)->cluster, "pong");
	rc = gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_PING, &ping.base, true,
	        GPUSCHED__MSG_TYPE__MSG_PONG, on_pong, err);
	if (!r->g->json && rc >= 0)
		printf("answered in %.1f ms, including the handshake\n",
		        (double)(clock_us(CLOCK_MONOTONIC) - start) / 1e3);
	return gctl_end(r, rc, err);
}

/* --- partitions ------------------------------------------------------------------------------ */

static const struct {
	const char *word;
	Gpusched__PartitionControl__State state;
} partition_states[] = {
	{ "up", GPUSCHED__PARTITION_CONTROL__STATE__UP },
	{ "drain", GPUSCHED__PARTITION_CONTROL__STATE__DRAIN },
	{ "down", GPUSCHED__PARTITION_CONTROL__STATE__DOWN },
	{ "inactive", GPUSCHED__PARTITION_CONTROL__STATE__INACTIVE },
};
#define N_PARTITION_STATES (sizeof(partition_states) / sizeof(partition_states[0]))

int gctl_partition(struct run *r, struct error *err)
{
	Gpusched__PartitionControl request = GPUSCHED__PARTITION_CONTROL__INIT;
	size_t s = 0;

	while (s < N_PARTITION_STATES && strcmp(partition_states[s].word, r->words[1]) != 0)
		s++;
	if (s == N_PARTITION_STATES)
		return error_set(err, ERR_USAGE,
		        "partition: '%s': expected up, drain, down or inactive", r->words[1]);
	request.name = (char *)r->words[0];
	request.state = partition_states[s].state;
	request.reason = gctl_reason(r);
	if (gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_PARTITION_CONTROL, &request.base, false, 0, NULL,
	            err) < 0)
		return -1;
	printf("%s: %s\n", r->words[0], r->words[1]);
	return EXIT_DONE;
}

/* --- the controller itself ------------------------------------------------------------------- */

static int on_reconfigured(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ReconfigureResult *result = (const Gpusched__ReconfigureResult *)m;
	struct run *r = arg;

	(void)err;
	for (size_t i = 0; i < result->n_changes; i++) {
		char *plain = text_escape_dup(result->changes[i]);

		puts(plain);
		free(plain);
	}
	if (result->n_cut)
		puts("... the rest is in the controller's log");
	for (size_t i = 0; i < result->n_warnings; i++) {
		char *plain = text_escape_dup(result->warnings[i]);

		fprintf(stderr, "gctl: warning: %s\n", plain);
		free(plain);
	}
	r->seen += result->n_changes;
	return 0;
}

int gctl_reconfigure(struct run *r, struct error *err)
{
	Gpusched__Reconfigure request = GPUSCHED__RECONFIGURE__INIT;

	request.reason = gctl_reason(r);
	request.dry_run = r->g->dry_run;
	if (gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_RECONFIGURE, &request.base, false,
	            GPUSCHED__MSG_TYPE__MSG_RECONFIGURE_RESULT, on_reconfigured, err) < 0)
		return -1;
	printf("%zu change%s%s\n", r->seen, r->seen == 1 ? "" : "s",
	        r->g->dry_run ? ", not made" : "");
	return EXIT_DONE;
}

int gctl_shutdown(struct run *r, struct error *err)
{
	Gpusched__Shutdown request = GPUSCHED__SHUTDOWN__INIT;

	request.reason = gctl_reason(r);
	if (gctl_ask(r, GPUSCHED__MSG_TYPE__MSG_SHUTDOWN, &request.base, false, 0, NULL, err) < 0)
		return -1;
	puts("The controller is shutting down; jobs continue.");
	return EXIT_DONE;
}

static int on_progress(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__BackupProgress *progress = (const Gpusched__BackupProgress *)m;

	(void)err;
	progress_total(arg, progress->all_pages);
	progress_at(arg, progress->pages);
	return 0;
}

int gctl_backup(struct run *r, struct error *err)
{
	Gpusched__Backup request = GPUSCHED__BACKUP__INIT;
	struct progress *bar;
	struct client_call call = {
		CLIENT_CALL(BACKUP, &request.base, BACKUP_PROGRESS, on_progress, NULL),
		.timeout_ms = -1 /* it takes as long as it takes */
	};
	int rc;

	if (r->words[0][0] != '/')
		return error_set(err, ERR_USAGE,
		        "backup: the path must be absolute: the controller writes it, on its host");
	request.path = (char *)r->words[0];
	request.reason = gctl_reason(r);
	request.progress = true;
	call.arg = bar = progress_new("copying", "pages", PROGRESS_COUNT, 0, r->g->quiet);
	rc = client_call(r->client, &call, err);
	progress_end(bar);
	if (rc < 0)
		return -1;
	printf("Backup written to %s; check it with gctl verify %s\n", r->words[0], r->words[0]);
	return EXIT_DONE;
}
