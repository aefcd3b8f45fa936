/* listing.c - see listing.h */
#include "cmds/cli/listing.h"

#include <unistd.h>

bool listing_take(struct listing *l, int key, const char *value)
{
	switch (key) {
	case 'o':
		l->columns = value;
		l->chosen = true;
		return true;
	case 'l':
		l->longer = true;
		return true;
	case 'h':
		l->no_heading = true;
		return true;
	case LISTING_KEY_SORT:
		l->sort = value;
		l->sorted = true;
		return true;
	case LISTING_KEY_CSV:
		l->csv = true;
		return true;
	case LISTING_KEY_WHOLE:
		l->whole = true;
		return true;
	case LISTING_KEY_JSON:
		l->json = true;
		return true;
	default:
		return false;
	}
}

static int check_options(const struct listing *l, struct error *err)
{
	static const char all[] = "JSON has all there is to know, in the order in which it comes";
	const struct cmd_pair pairs[] = {
		{ l->csv, l->json, "--csv", "--json", NULL },
		{ l->json, l->chosen, "--json", "--format", all },
		{ l->json, l->longer, "--json", "--long", all },
		{ l->json, l->sorted, "--json", "--sort", all },
		{ l->longer, l->chosen, "--long", "--format", NULL },
	};

	return cmd_check_pairs(CMD_PAIRS(pairs), err);
}

int listing_check(struct listing *l, const struct view_kind *kind, struct error *err)
{
	struct table_style style = table_style_for(stdout);
	const char *columns = l->columns ? l->columns : l->longer ? kind->longer : NULL;

	if (check_options(l, err) < 0)
		return -1;
	if (l->columns && !l->fitted && !isatty(STDOUT_FILENO))
		style.width = 0;
	l->whole |= l->csv || style.width == 0;
	style.heading = !l->no_heading;
	style.csv = l->csv;
	l->view = view_new(kind, columns, l->sort, &style, err);
	return l->view ? 0 : -1;
}

void listing_begin(struct listing *l, const char *cluster, const char *name)
{
	jsonout_begin(&l->out, stdout, cluster, name);
	l->out.lines = l->stream;
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

void listing_end(struct listing *l, const struct error *err, bool whole)
{
	if (l->json)
		jsonout_end(&l->out, err);
	if (!l->json && (!err || whole))
		view_end(l->view);
	else
		view_drop(l->view);
	l->view = NULL;
}

void listing_drop(struct listing *l)
{
	view_drop(l->view);
	l->view = NULL;
}
