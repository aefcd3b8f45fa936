/* sshare.c - accounts, their users and their shares, as Slurm's sshare lists them */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "common/gpusched.pb-c.h"

/* A row; the root of all accounts, which no message has, has an empty account. */
#define SHARE const Gpusched__Share *s = object

static bool is_root(const Gpusched__Share *s)
{
	return !*s->account;
}

SHOW(account)
{
	SHARE;
	int depth = is_root(s) ? 0 : (int)s->depth + 1;

	view_printf(cell, "%*s%s", depth > 60 ? 60 : depth, "", is_root(s) ? "root" : s->account);
}

CELL(user, SHARE, view_text(cell, s->user))

SHOW(raw_shares)
{
	SHARE;
	if (!is_root(s))
		view_number(cell, s->shares);
}

CELL(raw_usage, SHARE, view_printf(cell, "%.0f", s->usage))

#define SHOW_REAL(name, value) CELL(name, SHARE, view_printf(cell, "%.6f", value))
SHOW_REAL(norm_shares, s->norm)
SHOW_REAL(effective, (is_root(s) ? 1.0 : s->effective))

SHOW(fair_share)
{
	SHARE;
	if (*s->user)
		view_printf(cell, "%.6f", s->fair_share);
}

SHOW(level)
{
	SHARE;

	if (is_root(s))
		return;
	if (isinf(s->level_fs))
		view_text(cell, "inf");
	else
		view_printf(cell, "%.6f", s->level_fs);
}

#define FIELD(name, width, show, text) SLURM_CMD_FIELD(0, name, name, width, text, show_##show, 0)
#define EMPTY(name, width)             SLURM_CMD_FIELD(0, name, name, width, "", NULL, 0)

static const struct slurm_cmd_field fields[] = {
	FIELD("Account", -20, account, NULL),
	SLURM_CMD_FIELD(0, "Cluster", "Cluster", 10, NULL, slurm_cmd_show_cluster, 0),
	FIELD("EffectvUsage", 13, effective, NULL),
	FIELD("FairShare", 10, fair_share, NULL),
	EMPTY("GrpTRESMins", 30),
	EMPTY("GrpTRESRaw", 30),
	EMPTY("ID", 6),
	FIELD("LevelFS", 10, level, NULL),
	FIELD("NormShares", 11, norm_shares, NULL),
	FIELD("NormUsage", 11, effective, "as EffectvUsage"),
	EMPTY("Partition", 12),
	FIELD("RawShares", 10, raw_shares, NULL),
	FIELD("RawUsage", 11, raw_usage, "in what use costs"),
	EMPTY("TRESRunMins", 30),
	FIELD("User", 10, user, NULL),
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

SLURM_CMD_TABLE(field, sshare_fields, fields)

#define FORMAT "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare"
#define FORMAT_LONG                                                                            \
	"Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS," \
	"GrpTRESMins,TRESRunMins"

struct sshare {
	struct cmd_list accounts, users;
	const char *format, *clusters;
	bool all, users_only, help_format;
	struct fields_style style;
	struct fields fields;
	struct strbuf text;
	char me[256];
};

static CMD_SETTER(set_long)
{
	*(const char **)field = FORMAT_LONG;
	return 0;
}

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_ROW(struct sshare, accounts, "accounts", 'A', SLURM_CMD_VALUE, cmd_set_list),
	SLURM_CMD_ROW(struct sshare, all, "all", 'a', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_CLUSTERS(struct sshare, clusters, "clusters"),
	SLURM_CMD_ROW(struct sshare, format, "format", 'o', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_ROW(struct sshare, help_format, "helpformat", 'e', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(struct sshare, format, "long", 'l', SLURM_CMD_PLAIN, set_long),
	SLURM_CMD_ROW(
	        struct sshare, style.no_heading, "noheader", 'n', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(
	        struct sshare, style, "parsable", 'p', SLURM_CMD_PLAIN, slurm_cmd_set_parsable),
	SLURM_CMD_ROW(
	        struct sshare, style.parsable, "parsable2", 'P', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("partition", 'm', SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct sshare, users, "users", 'u', SLURM_CMD_VALUE, cmd_set_list),
	SLURM_CMD_ROW(struct sshare, users_only, "Users", 'U', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("verbose", 'v', SLURM_CMD_PLAIN),
};

/* Without -a and -u of the users only the caller. */
static bool is_shown(const struct sshare *s, const Gpusched__Share *share)
{
	if (!*share->user)
		return !s->users_only;
	return s->all || s->users.n || !strcmp(share->user, s->me);
}

static int on_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ShareChunk *chunk = (const Gpusched__ShareChunk *)m;
	struct sshare *s = arg;
	(void)err;

	for (size_t i = 0; i < chunk->n_shares; i++)
		if (is_shown(s, chunk->shares[i]))
			fields_print(&s->fields, &s->style, chunk->shares[i], &s->text);
	return 0;
}

static int list(struct sshare *s, struct client *c)
{
	Gpusched__ListShares request = GPUSCHED__LIST_SHARES__INIT;
	Gpusched__Share root = GPUSCHED__SHARE__INIT;
	struct client_call call = CLIENT_ASK(LIST_SHARES, &request.base, SHARE_CHUNK, on_chunk, s);
	struct error err;

	request.accounts = s->accounts.v;
	request.n_accounts = s->accounts.n;
	request.users = s->users.v;
	request.n_users = s->users.n;
	if (!s->users_only && !s->accounts.n)
		fields_print(&s->fields, &s->style, &root, &s->text);
	if (client_call(c, &call, &err) < 0 && error_exit_status(err.code) != EXIT_NO_OBJECT)
		return slurm_cmd_fail_load("sshare", "sshare: error", &err);
	fields_print_heading(&s->fields, &s->style, stdout);
	if (s->text.s)
		fwrite(s->text.s, 1, s->text.len, stdout);
	return 0;
}

static int run(struct sshare *s)
{
	struct error err;
	struct client *c;
	int status;

	if (s->help_format)
		return fields_print_names(fields, N_FIELDS);
	if (fields_names(&s->fields, s->format ? s->format : FORMAT, fields, N_FIELDS, &err) < 0)
		return slurm_cmd_fail("sshare", &err);
	c = slurm_cmd_client("sshare", "sshare: error", s->clusters);
	if (!c)
		return SLURM_CMD_FAILED;
	cmd_user(s->me, sizeof(s->me));
	status = list(s, c);
	client_free(c);
	return status;
}

int sshare_main(int argc, char **argv)
{
	struct sshare s = { .format = NULL };
	int status = slurm_cmd_parse("sshare", NULL, argc, argv, &s);

	if (status == CMD_GO_ON)
		status = slurm_cmd_finish("sshare", run(&s));
	strbuf_free(&s.text);
	fields_clear(&s.fields);
	cmd_list_clear(&s.accounts);
	cmd_list_clear(&s.users);
	return status;
}

SLURM_CMD_TABLE(option, sshare_options, options)
