/* listing.c - see listing.h */
#include "cmds/cli/listing.h"

#include <unistd.h>

static int check_options(const struct listing *l, struct error *err)
{
	static const char all[] = "JSON has all columns, in the order of the answer";
	const struct cmd_pair pairs[] = {
		{ l->csv, l->json, "--csv", "--json", NULL },
		{ l->json, l->columns, "--json", "--format", all },
		{ l->json, l->longer, "--json", "--long", all },
		{ l->json, l->sort, "--json", "--sort", all },
		{ l->longer, l->columns, "--long", "--format", NULL },
	};

	return cmd_check_pairs(CMD_PAIRS(pairs), err);
}

int listing_begin(struct listing *l, const struct view_kind *kind, struct error *err)
{
	struct table_style style = table_style_for(stdout);
	const char *own = l->own_columns ? l->own_columns : l->longer ? kind->longer : NULL;
	bool named = l->columns || (l->own_columns && !l->fitted);

	if (check_options(l, err) < 0)
		return -1;
	if (named && !isatty(STDOUT_FILENO))
		style.width = 0;
	l->whole |= l->csv || style.width == 0;
	style.heading = !l->no_heading;
	style.csv = l->csv;
	l->view = view_new(kind, l->columns ? l->columns : own, l->sort ? l->sort : l->own_sort,
	        &style, err);
	return l->view ? 0 : -1;
}

struct client *listing_open(struct listing *l, const struct cmd *cmd, const struct view_kind *kind,
        const char *name, const char *file, struct error *err)
{
	struct client *c;

	if (listing_begin(l, kind, err) < 0)
		return NULL;
	c = file ? client_new_file(file, err) : client_new(NULL, err);
	if (!c) {
		view_drop(l->view);
		return NULL;
	}
	cmd_tell_retry(cmd, c);
	jsonout_begin(&l->out, stdout, client_conf(c)->cluster, name);
	l->out.lines = l->stream;
	return c;
}

void listing_add(struct listing *l, const void *object, const ProtobufCMessage *message)
{
	if (!l->json)
		view_add(l->view, object);
	else if (message)
		jsonout_message(&l->out, message);
}

void listing_add_total(struct listing *l, const void *object)
{
	if (!l->json && !l->csv && !l->no_heading)
		view_add_last(l->view, object);
}

void listing_part(struct listing *l, uint64_t cursor, bool fresh)
{
	if (l->json)
		jsonout_part(&l->out, cursor, fresh);
	else
		view_flush(l->view);
	fflush(stdout);
}

int listing_close(struct listing *l, struct client *c, int rc, bool whole, const struct error *err)
{
	if (l->json)
		jsonout_end(&l->out, rc < 0 ? err : NULL);
	if (!l->json && (rc >= 0 || whole))
		view_end(l->view);
	else
		view_drop(l->view);
	l->view = NULL;
	client_free(c);
	return rc;
}
