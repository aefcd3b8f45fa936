/* gshare.c - the tree of accounts: shares, usage, fair-share factors */
#include <stddef.h>

#include "cmds/cli/cmd.h"
#include "cmds/cli/listing.h"
#include "cmds/views/filter.h"
#include "cmds/views/views.h"

struct gshare {
	struct cmd_list accounts, users;
	bool any; /* user was found */
	struct listing listing;
};

static CMD_SETTER(set_me)
{
	char me[256];

	return cmd_list_add(field, cmd_user(me, sizeof(me)), err);
}

#define ROW(member, name, letter, arg, set, help) \
	CMD_ROW(struct gshare, member, name, letter, arg, set, help)

static const struct cmd_option table[] = {
	CMD_HEADING("Which part of the tree (both restrict together; LIST has commas between):"),
	ROW(accounts, "accounts", 'A', "LIST", cmd_set_list, "These accounts, and all below them"),
	ROW(users, "users", 'u', "LIST", cmd_set_list, "These users, and the accounts above them"),
	ROW(users, "me", 0, NULL, set_me, "Myself"),
	LISTING_OPTIONS(struct gshare, listing),
	CMD_TABLE_END,
};

static const struct cmd cmd = {
	.name = "gshare",
	.arguments = "",
	.about = "List accounts and their users: their shares, what they used, and their rank.",
	.examples = "Fair Tree: on each level, an account or a user that has used less than "
	        "its share "
	            "(LEVEL-FS above 1) goes before one that has used more, with all below it. "
	            "RANK numbers the users in that order; FACTOR is what it makes of their jobs' "
	            "priority (gprio).\n"
	            "\n"
	            "Examples:\n"
	            "  gshare\n"
	            "  gshare --me\n"
	            "  gshare -A research -l\n"
	            "  gshare -o USER,GPU-H,FACTOR --sort=-GPU-H\n"
	            "  gshare -o ACCOUNT,GUARANTEED,HELD,LENT,BORROWED\n"
	            "\n"
	            "Exit status: 0 done; 2 usage, or no such account; 4 the controller was not "
	            "reached.",
	.table = table,
	.lists = { { "Columns", &share_kind } },
};

static int on_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ShareChunk *chunk = (const Gpusched__ShareChunk *)m;
	struct gshare *g = arg;

	(void)err;
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
	struct client_call call = CLIENT_ASK(LIST_SHARES, &request.base, SHARE_CHUNK, on_chunk, g);
	const struct filter users = { .lists = { [FILTER_USERS] = g->users } };
	struct client *c = listing_open(&g->listing, &cmd, &share_kind, "shares", NULL, err);
	int rc;

	if (!c)
		return -1;
	request.accounts = g->accounts.v;
	request.n_accounts = g->accounts.n;
	request.users = g->users.v;
	request.n_users = g->users.n;
	rc = client_call(c, &call, err);
	if (rc >= 0)
		rc = filter_check_users(&users, g->any, err);
	return listing_close(&g->listing, c, rc, false, err);
}

int main(int argc, char **argv)
{
	struct gshare g = { .accounts = { .n = 0 } };
	int status = cmd_main(&cmd, argc, argv, &g, run);

	cmd_list_clear(&g.accounts);
	cmd_list_clear(&g.users);
	return status;
}
