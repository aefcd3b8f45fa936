/* gshare.c - the tree of accounts: shares, usage, fair-share factors */
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/views/filter.h"
#include "cmds/views/views.h"

enum { KEY_ME = 0x200 };

struct gshare {
	struct cmd_list accounts, users;
	bool any; /* user was found */
	struct listing listing;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0,
	        "What of the tree (both restrict together; LIST has commas between):", 1 },
	{ "accounts", 'A', "LIST", 0, "These accounts, and all below them", 1 },
	{ "users", 'u', "LIST", 0, "These users, and the accounts above them", 1 },
	{ "me", KEY_ME, NULL, 0, "Myself", 1 },
	LISTING_OPTIONS(2),
	{ 0 },
};

static int take(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct gshare *g = input;
	char me[256];
	(void)state;

	switch (key) {
	case KEY_ME:
		return cmd_list_add(&g->users, cmd_user(me, sizeof(me)), err);
	case 'A':
		return cmd_list_add(&g->accounts, value, err) < 0 ? error_wrap(err, "--accounts")
		                                                  : 0;
	case 'u':
		return cmd_list_add(&g->users, value, err) < 0 ? error_wrap(err, "--users") : 0;
	default:
		return listing_take(&g->listing, key, value) ? 0 : cmd_no_argument(value, err);
	}
}

static void more_help(FILE *out)
{
	fputs("\nColumns:\n", out);
	view_print_columns(&share_kind, out);
}

static const struct cmd cmd = {
	.name = "gshare",
	.arguments = "",
	.about = "List accounts and their users: shares, what they used, and who is favoured.",
	.examples = "Fair Tree: on each level, who had less than his share (LEVEL-FS above 1) goes "
	            "before "
	            "who had more, and takes all below him along. RANK numbers the users in that "
	            "order; "
	            "FACTOR is what it makes of their jobs' priority (gprio).\n"
	            "\n"
	            "Examples:\n"
	            "  gshare\n"
	            "  gshare --me\n"
	            "  gshare -A research -l\n"
	            "  gshare -o USER,GPU-H,FACTOR --sort=-GPU-H\n"
	            "\n"
	            "Exit status: 0 done; 2 usage, or no such account; 4 the controller was not "
	            "reached.",
	.options = options,
	.take = take,
	.more_help = more_help,
};

static int on_chunk(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ShareChunk *chunk = (const Gpusched__ShareChunk *)m;
	struct gshare *g = arg;

	if (type != GPUSCHED__MSG_TYPE__MSG_SHARE_CHUNK)
		return error_set(err, ERR_PROTOCOL, "not a list of shares");
	for (size_t i = 0; i < chunk->n_shares; i++)
		g->any = g->any || *chunk->shares[i]->user;
	for (size_t i = 0; i < chunk->n_shares; i++)
		listing_add(&g->listing, chunk->shares[i], &chunk->shares[i]->base);
	return 0;
}

static int run(void *input, struct error *err)
{
	struct gshare *g = input;
	Gpusched__ListShares request = GPUSCHED__LIST_SHARES__INIT;
	struct client_call call = { .type = GPUSCHED__MSG_TYPE__MSG_LIST_SHARES,
		.request = &request.base,
		.on_chunk = on_chunk,
		.arg = g,
		.repeatable = true };
	const struct filter users = { .lists = { [FILTER_USERS] = g->users } };
	struct client *c = NULL;
	int rc;

	if (listing_check(&g->listing, &share_kind, err) == 0)
		c = client_new(NULL, err);
	if (!c) {
		listing_drop(&g->listing);
		return -1;
	}
	cmd_tell_retry(&cmd, c);
	request.accounts = g->accounts.v;
	request.n_accounts = g->accounts.n;
	request.users = g->users.v;
	request.n_users = g->users.n;
	listing_begin(&g->listing, client_conf(c)->cluster, "shares");
	rc = client_call(c, &call, err);
	if (rc >= 0)
		rc = filter_check_users(&users, g->any, err);
	listing_end(&g->listing, rc < 0 ? err : NULL, false);
	client_free(c);
	return rc;
}

int main(int argc, char **argv)
{
	struct gshare g = { .accounts = { .n = 0 } };
	int status = cmd_list(&cmd, argc, argv, &g, run);

	cmd_list_clear(&g.accounts);
	cmd_list_clear(&g.users);
	return status;
}
