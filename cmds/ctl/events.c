/* events.c - gctl events: which user changed what, when, from where and why */
#include "cmds/ctl/events.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/cli/parse_time.h"
#include "cmds/cli/signal_exit.h"
#include "cmds/views/filter.h"
#include "common/base/hostlist.h"
#include "common/base/units.h"

struct events {
	struct listing listing;
	struct filter filter; /* nodes alone */
	struct cmd_list kinds, nodes;
	uint64_t job;
	bool by_uid, me, follow;
	int64_t uid, since, until;
	uint64_t cursor;  /* what came later; 0: by time */
	uint64_t shown;   /* the highest number */
	bool again;       /* after a break */
	const char *file; /* what is asked instead of the controller; NULL: none */
	struct client *client;
};

/* --- columns -------------------------------------------------------------------------------- */

#define FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, Gpusched__Event, member)

/* The name that the number has here; the trail keeps numbers. */
SHOW(by)
{
	const Gpusched__Event *e = object;
	const struct passwd *pw;

	if (e->uid < 0) {
		view_text(cell, "-");
		return;
	}
	pw = getpwuid((uid_t)e->uid);
	view_printf(cell, pw ? "%s" : "%s%" PRId64, pw ? pw->pw_name : "", e->uid);
}

static const struct view_column columns[] = {
	FIELD("TIME", 19, 0, TABLE_WHOLE, "when", TIME, time),
	FIELD("SEQ", 8, 0, NUM, "its number", NUMBER, seq),
	FIELD("EVENT", 12, 8, 0, "what: job.submit job.cancel node.drain ...", TEXT, kind),
	COLUMN("BY", 8, 4, 0, "user; -: the controller itself", by),
	FIELD("UID", 7, 0, NUM, "number of the user", NUMBER, uid),
	FIELD("FROM", 15, 8, 0, "host of the user", TEXT_OR_DASH, host),
	FIELD("JOBID", 7, 0, NUM, "which job", NUMBER_OR_DASH, job),
	FIELD("NODE", 8, 4, 0, "which node", TEXT_OR_DASH, node),
	FIELD("TEXT", 0, 10, TABLE_DEAR, "why, and what else there is to say", TEXT, text),
};

static const struct view_kind kind = {
	VIEW_COLUMNS(columns),
	.standard = "TIME,EVENT,BY,JOBID,NODE,TEXT",
	.longer = "TIME,SEQ,EVENT,BY,FROM,JOBID,NODE,TEXT",
};

/* --- the command line ----------------------------------------------------------------------- */

static CMD_SETTER(set_by)
{
	const struct passwd *pw = getpwnam(value);
	struct events *e = field;
	uint64_t uid;

	e->by_uid = true;
	if (!pw && count_parse(value, 0, UINT32_MAX - 1, &uid, NULL) < 0)
		return error_set(err, ERR_USAGE, "unknown user on this host");
	e->uid = pw ? (int64_t)pw->pw_uid : (int64_t)uid;
	return 0;
}

/* Digits alone are the number of an event. */
static CMD_SETTER(set_since)
{
	struct events *e = field;

	if (*value && !value[strspn(value, "0123456789")])
		return count_parse(value, 1, INT64_MAX, &e->cursor, err);
	return parse_time(value, parse_time_now(), &e->since, err);
}

#define AT(member) offsetof(struct events, member)
#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct events, member, name, letter, arg, set, help)

static const struct cmd_option table[] = {
	CMD_HEADING("Which events (several restrict together; LIST has commas between):"),
	{ "by", 0, "USER", "What this user did, by name or number", set_by, 0, 0, 0 },
	ROW(me, "me", 0, NULL, cmd_set_flag, "What I did"),
	{ "job", 'j', "ID", "What happened to this job", cmd_set_number, AT(job), 1, 0 },
	{ "nodes", 'w', "NODES", "What happened to these nodes", filter_set, AT(filter),
	        FILTER_NODES, 0 },
	ROW(kinds, "kind", 'k', "LIST", cmd_set_list,
	        "Of these kinds: job.cancel, or job for all about jobs"),
	{ "since", 0, "TIME|CURSOR",
	        "From then on, or after the event of that number; by default of today, or of all "
	        "time for a job",
	        set_since, 0, 0, 0 },
	ROW(until, "until", 0, "TIME", cmd_set_past, "Before then"),
	ROW(follow, "follow", 0, NULL, cmd_set_flag,
	        "Then what comes, as it happens, until interrupted"),
	ROW(file, "file", 0, "FILE", cmd_set_text,
	        "In this file, of gctl archive or a copy of history.db; asks no controller"),
	LISTING_OPTIONS(struct events, listing),
	CMD_TABLE_END,
};

static const struct cmd cmd = {
	.name = "gctl events",
	.arguments = "",
	.about = "List changes: what, by which user, when, from where and why.",
	.examples =
	        "Administrators see all events, users what they did themselves (--me) and what "
	        "happened to a job of theirs (--job). In order of time.\n"
	        "\n"
	        "Examples:\n"
	        "  gctl events --by=ana --since=today\n"
	        "  gctl events --job=4812\n"
	        "  gctl events --kind=node,partition --since=now-7d\n"
	        "  gctl events --follow --json --since=88120\n"
	        "  gctl events --file=/srv/2025.db --job=4812\n"
	        "\n"
	        "Exit status: 0 done; 2 usage; 3 no such job or node; 4 the controller was not "
	        "reached; 5 "
	        "not permitted.",
	.table = table,
	.lists = { { "Columns", &kind } },
};

static int on_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__EventChunk *chunk = (const Gpusched__EventChunk *)m;
	struct events *e = arg;

	for (size_t i = 0; i < chunk->n_events; i++) {
		uint64_t seq = chunk->events[i]->seq;

		if (e->again && seq <= e->shown)
			continue;
		e->shown = seq > e->shown ? seq : e->shown;
		listing_add(&e->listing, chunk->events[i], &chunk->events[i]->base);
	}
	if (!chunk->cursor)
		return 0;
	e->cursor = chunk->cursor;
	listing_part(&e->listing, e->cursor, false);
	signal_exit_say("gctl: to go on from here: events --follow --since=%" PRIu64, e->cursor);
	client_worked(e->client);
	if (!getenv(CLIENT_RETRY_VARIABLE))
		client_set_retry(e->client, -1); /* it was there, and will be again */
	return ferror(stdout) ? error_set(err, ERR_SYSTEM, "output: %s", strerror(errno)) : 0;
}

/* Until it fails. Another connection goes on at the last cursor; what has been shown since is not
 * shown again. */
static int follow(struct events *e, struct client_call *call, struct error *err)
{
	Gpusched__ListEvents *request = (Gpusched__ListEvents *)(uintptr_t)call->request;
	struct error why = { .code = ERR_NONE };

	signal_exit_begin();
	client_for_reader(e->client, STDOUT_FILENO);
	request->follow = true;
	call->timeout_ms = -1;
	call->repeatable = false;
	do {
		request->after_seq = e->cursor;
		if (client_call(e->client, call, &why) == 0)
			error_set(&why, ERR_PROTOCOL, "the controller has ended the stream");
		e->again = true;
	} while (client_pause(e->client, &why));
	*err = why;
	return -1;
}

static int add_node(const char *name, void *arg)
{
	return cmd_list_add(arg, name, NULL);
}

/* Of events nodes are asked for one by one, by their names. */
static int expand_nodes(struct events *e, struct error *err)
{
	const struct cmd_list *given = &e->filter.lists[FILTER_NODES];

	for (size_t i = 0; i < given->n; i++)
		if (hostlist_each(given->v[i], HOSTLIST_MAX, add_node, &e->nodes, err) < 0)
			return -1;
	return 0;
}

static int check_pairs(const struct events *e, struct error *err)
{
	const struct cmd_pair pairs[] = {
		{ e->me, e->by_uid, "--me", "--by", NULL },
		{ e->follow, e->file, "--follow", "--file", NULL },
		{ e->follow, e->until, "--follow", "--until", NULL },
		{ e->follow, e->listing.sort, "--follow", "--sort", NULL },
		{ e->follow, e->listing.csv, "--follow", "--csv", NULL },
	};

	return cmd_check_pairs(CMD_PAIRS(pairs), err);
}

static int run(void *input, struct error *err)
{
	struct events *e = input;
	Gpusched__ListEvents request = GPUSCHED__LIST_EVENTS__INIT;
	struct client_call call = CLIENT_ASK(LIST_EVENTS, &request.base, EVENT_CHUNK, on_chunk, e);
	struct client *c = NULL;
	int rc;

	e->listing.stream = e->follow;
	if (check_pairs(e, err) == 0 && expand_nodes(e, err) == 0)
		c = listing_open(&e->listing, &cmd, &kind, "events", e->file, err);
	if (!c)
		return -1;
	e->client = c;
	request.job = e->job;
	request.by_uid = e->by_uid || e->me;
	request.uid = e->me ? getuid() : e->uid;
	request.since_time =
	        e->since || e->job || e->file ? e->since : parse_time_today(parse_time_now());
	request.until_time = e->until;
	request.kinds = e->kinds.v;
	request.n_kinds = e->kinds.n;
	request.nodes = e->nodes.v;
	request.n_nodes = e->nodes.n;
	request.after_seq = e->cursor;
	rc = e->follow ? follow(e, &call, err) : client_call(c, &call, err);
	return listing_close(&e->listing, c, rc, false, err);
}

int events_main(int argc, char **argv)
{
	struct events e = { .job = 0 };
	int status = cmd_main(&cmd, argc, argv, &e, run);

	cmd_list_clear(&e.kinds);
	cmd_list_clear(&e.nodes);
	filter_clear(&e.filter);
	return status;
}
