/* gpast.c - answers the requests of gacct, greport and gctl events from a file: an archive, or a
 * copy of history.db
 *
 *	gpast FILE
 *
 * The command (cmds/api/pastfile.h) starts it as its user: the file's permissions decide what that
 * user may see. In unencrypted frames (common/net/frame.h) it writes to its standard output which
 * cluster the file belongs to (Pong), reads one request from its standard input, and answers it as
 * the controller would.
 */
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "common/net/frame.h"
#include "common/net/msg.h"
#include "ctld/rpc/acct/acct_answers.h"
#include "ctld/rpc/acct/acct_record.h"
#include "ctld/wire/answer_frame.h"
#include "ctld/wire/convert.h"

/* --- frames --------------------------------------------------------------------------------- */

static struct error unsent; /* why something of the answer could not be sent; code ERR_NONE: all was
			     * sent */

/* The command reads with the table of messages, as from a controller. */
static void send_frame(void *to, unsigned type, const ProtobufCMessage *m)
{
	struct error err;
	uint8_t *bytes;
	size_t len;
	(void)to;

	if (answer_pack(type, 1, m, &bytes, &len, &err) < 0) {
		if (!unsent.code)
			unsent = err;
		return;
	}
	if (fwrite(bytes, 1, len, stdout) != len)
		exit(EXIT_OWN_FAILURE); /* the reader has gone */
	free(bytes);
}

static void reply(const struct error *err)
{
	Gpusched__Reply m = GPUSCHED__REPLY__INIT;

	if (err) {
		m.code = (uint32_t)err->code;
		m.text = (char *)err->text;
		m.hint = (char *)err->hint;
	}
	send_frame(NULL, GPUSCHED__MSG_TYPE__MSG_REPLY, &m.base);
	fflush(stdout);
}

/* The request; its body lives in `reader`. */
static int read_request(struct frame_reader *reader, struct frame *out, struct error *err)
{
	char buf[4096];
	size_t used;
	ssize_t n;
	int rc;

	while ((rc = frame_reader_next(reader, out, err)) == 0) {
		n = read(STDIN_FILENO, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_set(err, ERR_PROTOCOL, "no request came");
		if (frame_reader_feed(reader, buf, (size_t)n, &used, err) < 0)
			return -1;
	}
	return rc < 0 ? -1 : 0;
}

/* --- walks ---------------------------------------------------------------------------------- */

struct walk {
	struct past *past;
	struct store_batch *batch;
	struct arena *arena;
	struct acct_out out;
	const struct conf *conf;
};

static int walk_jobs(struct walk *w, struct acct_query *query, const struct acct_taker *taker,
        void *data, struct error *err)
{
	struct past_cursor cursor = { 0 };
	size_t at = 0;
	int more = 1;

	while (acct_query_past(query)->ids && more > 0) {
		more = acct_query_find_past(query, w->past, &at, err);
		if (more < 0)
			return -1;
	}
	more = 1;

	while (!cursor.end) {
		struct acct_reader reader = { .batch = w->batch, .arena = w->arena };
		Gpusched__Acct *job;

		batch_reset(w->batch);
		arena_reset(w->arena, WIRE_ARENA_CAP);
		if (past_jobs(w->past, acct_query_past(query), &cursor, PAST_SLICE, w->batch, err) <
		        0)
			return -1;
		while ((job = acct_next(&reader)))
			if (acct_query_fits(query, job))
				taker->job(data, job);
		if (taker->slice)
			taker->slice(&w->out, data);
	}
	while (taker->past && more > 0) {
		more = taker->past(data, w->past, err);
		if (more < 0)
			return -1;
		arena_reset(w->arena, WIRE_ARENA_CAP);
		if (taker->slice)
			taker->slice(&w->out, data);
	}
	return taker->end ? taker->end(&w->out, data, err) : 0;
}

static int answer_acct(struct walk *w, const ProtobufCMessage *m, struct error *err)
{
	const Gpusched__ListAcct *request = (const Gpusched__ListAcct *)m;
	struct acct_query *query = acct_query_new(request, w->conf, NULL, err);
	void *data;
	int rc;

	if (!query)
		return -1;
	data = acct_listing_data(request);
	rc = walk_jobs(w, query, &acct_listing, data, err);
	acct_listing.free(data);
	acct_query_free(query);
	return rc;
}

static int answer_report(struct walk *w, const ProtobufCMessage *m, struct error *err)
{
	const Gpusched__Report *request = (const Gpusched__Report *)m;
	struct acct_query *query = acct_query_new(request->jobs, w->conf, NULL, err);
	void *data = query ? acct_report_data(request, query, w->conf, err) : NULL;
	int rc = data ? walk_jobs(w, query, &acct_report, data, err) : -1;

	if (data)
		acct_report.free(data);
	acct_query_free(query);
	return rc;
}

static int answer_steps(struct walk *w, const ProtobufCMessage *m, struct error *err)
{
	const Gpusched__ListSteps *request = (const Gpusched__ListSteps *)m;
	struct acct_query *query = NULL;
	Gpusched__ListAcct jobs;
	void *data;
	int rc;

	if (acct_steps_query(request, &jobs, err) == 0)
		query = acct_query_new(&jobs, w->conf, NULL, err);
	if (!query)
		return -1;
	data = acct_steps_data(NULL, NULL);
	rc = walk_jobs(w, query, &acct_steps, data, err);
	acct_steps.free(data);
	acct_query_free(query);
	return rc;
}

static int answer_events(struct walk *w, const ProtobufCMessage *m, struct error *err)
{
	const Gpusched__ListEvents *request = (const Gpusched__ListEvents *)m;
	struct past_cursor cursor = { 0 };
	struct past_events which;
	void *data = acct_events_data(request, w->conf, &which, err);
	int rc = 0;

	if (!data)
		return -1;
	while (rc == 0 && !cursor.end) {
		struct batch_item item;
		size_t offset = 0;

		batch_reset(w->batch);
		arena_reset(w->arena, WIRE_ARENA_CAP);
		rc = past_events(w->past, &which, &cursor, PAST_SLICE, w->batch, err);
		while (rc == 0 && batch_next(w->batch, &offset, &item))
			acct_events.event(data, &item.row, w->arena);
		acct_events.slice(&w->out, data);
	}
	acct_events.free(data);
	return rc;
}

static int answer(struct walk *w, unsigned type, const ProtobufCMessage *m, struct error *err)
{
	switch (type) {
	case GPUSCHED__MSG_TYPE__MSG_LIST_ACCT:
		return answer_acct(w, m, err);
	case GPUSCHED__MSG_TYPE__MSG_REPORT:
		return answer_report(w, m, err);
	case GPUSCHED__MSG_TYPE__MSG_LIST_STEPS:
		return answer_steps(w, m, err);
	case GPUSCHED__MSG_TYPE__MSG_LIST_EVENTS:
		return answer_events(w, m, err);
	default:
		return error_set(
		        err, ERR_PROTOCOL, "a %s cannot be answered from a file", msg_name(type));
	}
}

/* --- the program ---------------------------------------------------------------------------- */

/* The configuration of this host, for the tree of accounts and the currency. NULL: there is none,
 * and each account stands for itself. */
static struct conf *find_conf(void)
{
	const char *path = getenv("GPUSCHED_CONF");
	struct conf_problems problems = { 0 };
	struct conf *conf =
	        conf_load(path ? path : SYSCONFDIR "/gpusched/gpusched.conf", &problems);

	conf_problems_clear(&problems);
	return conf;
}

static int serve(struct walk *w, const char *path, struct error *err)
{
	struct frame_reader *reader = frame_reader_new(NULL, MSG_BY_USER);
	struct arena *arena = arena_new(WIRE_ARENA_CAP);
	Gpusched__Pong pong = GPUSCHED__PONG__INIT;
	const ProtobufCMessage *m = NULL;
	char cluster[256] = "";
	struct frame frame;
	int rc = -1;

	w->past = past_open_file(path, err);
	if (w->past && past_cluster(w->past, cluster, sizeof(cluster), err) == 0) {
		pong.cluster = cluster;
		pong.version = PACKAGE_VERSION;
		send_frame(NULL, GPUSCHED__MSG_TYPE__MSG_PONG, &pong.base);
		fflush(stdout);
		rc = read_request(reader, &frame, err);
	}
	if (rc == 0)
		m = msg_unpack(frame.type, frame.body, frame.len, arena, err);
	if (m)
		rc = answer(w, frame.type, m, err);
	past_close(w->past);
	arena_free(arena);
	frame_reader_free(reader);
	return m ? rc : -1;
}

int main(int argc, char **argv)
{
	static const struct conf nothing = { .prices.currency = (char *)"" };
	struct walk w = { .out = { .send = send_frame } };
	struct conf *conf;
	struct error err = { .code = ERR_NONE };
	int rc;

	setlocale(LC_ALL, "");
	if (argc != 2) {
		fputs("usage: gpast FILE; gacct --file=FILE starts it\n", stderr);
		return EXIT_USAGE;
	}
	conf = find_conf();
	w.conf = conf ? conf : &nothing;
	w.out.currency = w.conf->prices.currency;
	w.batch = batch_new();
	w.arena = arena_new(WIRE_ARENA_CAP);
	w.out.arena = w.arena;
	rc = serve(&w, argv[1], &err);
	if (rc == 0 && unsent.code) {
		err = unsent;
		rc = -1;
	}
	reply(rc < 0 ? &err : NULL);
	batch_free(w.batch);
	arena_free(w.arena);
	conf_free(conf);
	return rc < 0 ? error_exit_status(err.code) : EXIT_SUCCESS;
}
