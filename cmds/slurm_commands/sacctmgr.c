/* sacctmgr.c - accounts, users and qualities of service, as Slurm's sacctmgr lists them
 *
 * They are kept in gpusched.conf: sacctmgr only lists them, and each change is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"

#define WORDS_MAX 64

/* A quality of service, as the configuration has it. */
struct qos {
	char name[80], priority[24];
	char accounts[512]; /* "," before and behind each; "": all may use it */
};

struct sacctmgr {
	struct fields_style style;
	bool with_assoc;
	const char *words[WORDS_MAX];
	size_t n;
	const char *format, *entity;
	struct cmd_list users, accounts, names;
	struct client *client;
	Gpusched__Share **shares; /* of accounts and users */
	size_t n_shares;
	struct qos *qos;
	size_t n_qos;
	struct fields fields;
	struct strbuf text;
};

/* What is listed; what does not apply is "". */
struct line {
	const struct sacctmgr *s;
	const char *account, *user, *name, *kind, *id, *parent;
	const struct qos *qos;
	uint32_t shares;
};

static const char *host_name = "";

#define LINE const struct line *l = object
#define SHOW_TEXT(name, field) CELL(name, LINE, view_text(cell, l->field ? l->field : ""))
SHOW_TEXT(account, account)
SHOW_TEXT(user, user)
SHOW_TEXT(name, name)
SHOW_TEXT(kind, kind)
SHOW_TEXT(id, id)
SHOW_TEXT(parent, parent)

CELL(host, (void)object, view_text(cell, host_name))

SHOW(shares)
{
	LINE;
	if (l->shares)
		view_number(cell, l->shares);
}

SHOW(priority)
{
	LINE;
	if (l->qos)
		view_text(cell, l->qos->priority);
}

/* Which qualities of service the account may use. */
SHOW(qos)
{
	LINE;
	char word[520];

	snprintf(word, sizeof(word), ",%.500s,", l->account ? l->account : "");
	view_text(cell, "normal");
	for (size_t i = 0; i < l->s->n_qos; i++) {
		const struct qos *q = &l->s->qos[i];

		if (!*q->accounts || strstr(q->accounts, word))
			view_item(cell, ",", "%s", q->name);
	}
}

#define FIELD(name, heading, width, show) \
	SLURM_CMD_FIELD(0, name, heading, width, NULL, show_##show, 0)
#define SAYS(name, heading, width, value) SLURM_CMD_FIELD(0, name, heading, width, value, NULL, 0)
#define EMPTY(name, width) SAYS(name, name, width, "")

/* Of users, accounts, associations, clusters: what sacctmgr shows of all of them. */
static const struct slurm_cmd_field fields[] = {
	FIELD("Account", "Account", 10, account),
	SAYS("AdminLevel", "Admin", 9, "None"),
	SLURM_CMD_FIELD(0, "Cluster", "Cluster", 10, NULL, slurm_cmd_show_cluster, 0),
	FIELD("ControlHost", "ControlHost", 15, host),
	SAYS("ControlPort", "ControlPort", 12, "0"),
	FIELD("DefaultAccount", "Def Acct", 10, account),
	SAYS("DefaultQOS", "Def QOS", 9, ""),
	FIELD("Description", "Descr", 20, account),
	FIELD("Fairshare", "Share", 9, shares),
	SAYS("Flags", "Flags", 20, ""),
	SAYS("GraceTime", "GraceTime", 10, "00:00:00"),
	EMPTY("GrpJobs", 7),
	SAYS("GrpSubmitJobs", "GrpSubmit", 9, ""),
	EMPTY("GrpTRES", 13),
	EMPTY("GrpTRESMins", 13),
	EMPTY("GrpTRESRunMins", 13),
	EMPTY("GrpWall", 11),
	FIELD("ID", "ID", 6, id),
	EMPTY("MaxJobs", 7),
	EMPTY("MaxJobsPU", 9),
	SAYS("MaxSubmitJobs", "MaxSubmit", 9, ""),
	EMPTY("MaxSubmitPU", 11),
	EMPTY("MaxTRES", 13),
	EMPTY("MaxTRESMins", 13),
	EMPTY("MaxTRESPerNode", 14),
	EMPTY("MaxTRESPU", 13),
	EMPTY("MaxWall", 11),
	FIELD("Name", "Name", 15, name),
	FIELD("Organization", "Org", 20, account),
	FIELD("ParentName", "Par Name", 10, parent),
	EMPTY("Partition", 10),
	EMPTY("Preempt", 10),
	SAYS("PreemptMode", "PreemptMode", 11, "cluster"),
	FIELD("Priority", "Priority", 10, priority),
	FIELD("QOS", "QOS", 20, qos),
	SAYS("RPC", "RPC", 5, "9728"),
	FIELD("Share", "Share", 9, shares),
	FIELD("Type", "Type", 8, kind),
	SAYS("UsageFactor", "UsageFactor", 11, "1.000000"),
	FIELD("User", "User", 10, user),
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* --- what there is ---------------------------------------------------------------------------- */

static void add_share(struct sacctmgr *s, const Gpusched__Share *share)
{
	Gpusched__Share *copy = xcalloc(1, sizeof(*copy));

	*copy = *share;
	copy->account = xstrdup(copy->account);
	copy->user = xstrdup(copy->user);
	s->shares = xrealloc(s->shares, s->n_shares + 1, sizeof(*s->shares));
	s->shares[s->n_shares++] = copy;
}

static int on_shares(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ShareChunk *chunk = (const Gpusched__ShareChunk *)m;
	struct sacctmgr *s = arg;
	(void)err;

	for (size_t i = 0; i < chunk->n_shares; i++)
		add_share(s, chunk->shares[i]);
	return 0;
}

/* The texts in quotes of a line, with "," around each. */
static void take_quoted(const char *line, char *buf, size_t size)
{
	size_t used = 0;

	for (const char *q = strchr(line, '"'); q && used < size; q = strchr(q + 1, '"')) {
		size_t len = strcspn(q + 1, "\"");

		used += (size_t)snprintf(buf + used, size - used, ",%.*s", (int)len, q + 1);
		q += len + 1;
	}
	if (used && used < size)
		snprintf(buf + used, size - used, ",");
}

/* Lines of the section "qos". */
static void take_qos_line(struct sacctmgr *s, const char *line)
{
	const char *at = line + strspn(line, " {(");
	char name[80];

	if (sscanf(at, "name = \"%79[^\"]\"", name) == 1) {
		s->qos = xrealloc(s->qos, s->n_qos + 1, sizeof(*s->qos));
		s->qos[s->n_qos] = (struct qos){ .priority = "0" };
		snprintf(s->qos[s->n_qos++].name, sizeof(s->qos->name), "%s", name);
	} else if (s->n_qos && !strncmp(at, "priority", 8)) {
		sscanf(at, "priority = %23[-0-9]", s->qos[s->n_qos - 1].priority);
	} else if (s->n_qos && !strncmp(at, "accounts", 8)) {
		take_quoted(at, s->qos[s->n_qos - 1].accounts, sizeof(s->qos->accounts));
	}
}

/* A member of an account that has used nothing yet is in no list of shares. */
static void add_member(struct sacctmgr *s, char *account, char *user)
{
	Gpusched__Share share = GPUSCHED__SHARE__INIT;

	for (size_t i = 0; i < s->n_shares; i++)
		if (!strcmp(s->shares[i]->account, account) && !strcmp(s->shares[i]->user, user))
			return;
	share.account = account;
	share.user = user;
	share.shares = 1;
	add_share(s, &share);
}

/* Lines of the section "accounts"; groups among the members are left out. */
static void take_account_line(struct sacctmgr *s, char account[80], const char *line)
{
	const char *at = line + strspn(line, " {(");
	char members[512] = "", *list = members, *one;

	if (sscanf(at, "name = \"%79[^\"]\"", account) == 1 || strncmp(at, "members", 7) != 0)
		return;
	take_quoted(at, members, sizeof(members));
	while ((one = strsep(&list, ",")))
		if (*one && *one != '@' && *one != '*')
			add_member(s, account, one);
}

struct config {
	struct sacctmgr *s;
	enum { IN_OTHERS, IN_QOS, IN_ACCOUNTS } section;
	char account[80];
};

static int on_config(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__ConfigChunk *chunk = (const Gpusched__ConfigChunk *)m;
	struct config *c = arg;
	(void)err;

	for (size_t i = 0; i < chunk->n_lines; i++) {
		const char *line = chunk->lines[i];

		if (line[0] != ' ' && line[0] != ')' && line[0] != '}')
			c->section = !strncmp(line, "qos", 3)        ? IN_QOS
			             : !strncmp(line, "accounts", 8) ? IN_ACCOUNTS
			                                             : IN_OTHERS;
		if (c->section == IN_QOS)
			take_qos_line(c->s, line);
		else if (c->section == IN_ACCOUNTS)
			take_account_line(c->s, c->account, line);
	}
	return 0;
}

static int load(struct sacctmgr *s, struct error *err)
{
	Gpusched__ListShares shares = GPUSCHED__LIST_SHARES__INIT;
	Gpusched__ShowConfig config = GPUSCHED__SHOW_CONFIG__INIT;
	struct config reading = { .s = s };
	struct client_call calls[] = {
		CLIENT_ASK(LIST_SHARES, &shares.base, SHARE_CHUNK, on_shares, s),
		CLIENT_ASK(SHOW_CONFIG, &config.base, CONFIG_CHUNK, on_config, &reading),
	};

	if (client_call(s->client, &calls[0], err) < 0)
		return -1;
	/* If the user may not see the configuration, one quality of service is listed. */
	if (client_call(s->client, &calls[1], err) < 0 && err->code != ERR_NOT_PERMITTED)
		return -1;
	if (!s->n_qos)
		take_qos_line(s, "name = \"normal\"");
	return 0;
}

/* --- lists ------------------------------------------------------------------------------------ */

static bool has(const struct cmd_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcasecmp(list->v[i], name))
			return true;
	return !list->n;
}

static void add(struct sacctmgr *s, const struct line *line)
{
	fields_print(&s->fields, &s->style, line, &s->text);
}

/* The account above one, depth first; "root" above the first. */
static const char *parent_of(const struct sacctmgr *s, size_t i)
{
	for (size_t k = i; k-- > 0;)
		if (!*s->shares[k]->user && s->shares[k]->depth < s->shares[i]->depth)
			return s->shares[k]->account;
	return "root";
}

/* A user's first account is what Slurm calls the default. */
static bool is_first(const struct sacctmgr *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(s->shares[k]->user, s->shares[i]->user))
			return false;
	return true;
}

static void list_users(struct sacctmgr *s)
{
	for (size_t i = 0; i < s->n_shares; i++) {
		const Gpusched__Share *h = s->shares[i];
		const struct line line = { s, h->account, h->user, h->user, NULL, NULL, NULL, NULL,
			h->shares };

		if (!*h->user || !has(&s->users, h->user) || !has(&s->names, h->user) ||
		        !has(&s->accounts, h->account) || (!s->with_assoc && !is_first(s, i)))
			continue;
		add(s, &line);
	}
}

static void list_accounts(struct sacctmgr *s)
{
	for (size_t i = 0; i < s->n_shares; i++) {
		const Gpusched__Share *h = s->shares[i];
		const struct line line = { s, h->account, NULL, h->account, NULL, NULL,
			parent_of(s, i), NULL, h->shares };

		if (!*h->user && has(&s->accounts, h->account) && has(&s->names, h->account))
			add(s, &line);
	}
}

static void list_associations(struct sacctmgr *s)
{
	for (size_t i = 0; i < s->n_shares; i++) {
		const Gpusched__Share *h = s->shares[i];
		const struct line line = { s, h->account, h->user, h->user, NULL, NULL,
			*h->user ? "" : parent_of(s, i), NULL, h->shares };

		if (has(&s->accounts, h->account) && has(&s->users, h->user))
			add(s, &line);
	}
}

static void list_qos(struct sacctmgr *s)
{
	for (size_t i = 0; i < s->n_qos; i++) {
		const struct line line = { s, NULL, NULL, s->qos[i].name, NULL, NULL, NULL,
			&s->qos[i], 0 };

		if (has(&s->names, s->qos[i].name))
			add(s, &line);
	}
}

static void list_cluster(struct sacctmgr *s)
{
	const struct line line = { s, NULL, NULL, slurm_cmd_cluster(), NULL, NULL, NULL, NULL, 1 };

	if (has(&s->names, line.name))
		add(s, &line);
}

static void list_tres(struct sacctmgr *s)
{
	static const struct {
		const char *kind, *name, *id;
	} rows[] = { { "cpu", "", "1" }, { "mem", "", "2" }, { "energy", "", "3" },
		{ "node", "", "4" }, { "billing", "", "5" }, { "gres", "gpu", "1001" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct line line = { s, NULL, NULL, rows[i].name, rows[i].kind, rows[i].id,
			NULL, NULL, 0 };

		add(s, &line);
	}
}

static const struct {
	const char *name, *format, *longer; /* `longer`: with associations */
	void (*list)(struct sacctmgr *s);
} entities[] = {
	{ "accounts", "Account,Description,Organization",
	        "Account,Description,Organization,Cluster,ParentName,User,Share,QOS",
	        list_accounts },
	{ "associations",
	        "Cluster,Account,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmitJobs,"
	        "GrpWall,GrpTRESMins,"
	        "MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmitJobs,MaxWall,MaxTRESMins,QOS,DefaultQOS,"
	        "GrpTRESRunMins",
	        NULL, list_associations },
	{ "clusters",
	        "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmitJobs,MaxJobs,"
	        "MaxTRES,"
	        "MaxSubmitJobs,MaxWall,QOS,DefaultQOS",
	        NULL, list_cluster },
	{ "qos",
	        "Name%10,Priority,GraceTime,Preempt,PreemptMode,Flags,UsageFactor,GrpTRES,"
	        "GrpTRESMins,GrpTRESRunMins,"
	        "GrpJobs,GrpSubmitJobs,GrpWall,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxWall,"
	        "MaxTRESPU,MaxJobsPU,"
	        "MaxSubmitPU",
	        NULL, list_qos },
	{ "tres", "Type,Name,ID", NULL, list_tres },
	{ "users", "User,DefaultAccount,AdminLevel",
	        "User,DefaultAccount,AdminLevel,Cluster,Account,Partition,Share,Priority,MaxJobs,"
	        "MaxTRESPerNode,MaxTRES,"
	        "MaxSubmitJobs,MaxWall,MaxTRESMins,QOS,DefaultQOS",
	        list_users },
};
#define N_ENTITIES (sizeof(entities) / sizeof(entities[0]))

/* --- the command line ------------------------------------------------------------------------- */

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_ROW(
	        struct sacctmgr, with_assoc, "associations", 's', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("immediate", 'i', SLURM_CMD_PLAIN),
	SLURM_CMD_NONE(
	        "json", 0, SLURM_CMD_PLAIN, "gshare --json and gctl show config have it all"),
	SLURM_CMD_ROW(
	        struct sacctmgr, style.no_heading, "noheader", 'n', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("oneliner", 'o', SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(
	        struct sacctmgr, style, "parsable", 'p', SLURM_CMD_PLAIN, slurm_cmd_set_parsable),
	SLURM_CMD_ROW(
	        struct sacctmgr, style.parsable, "parsable2", 'P', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_SAME("quiet", 'Q', SLURM_CMD_PLAIN),
	SLURM_CMD_SAME("readonly", 'r', SLURM_CMD_PLAIN),
	SLURM_CMD_SAME("verbose", 'v', SLURM_CMD_PLAIN),
};

static int take_word(const char *value, void *input, struct error *err)
{
	struct sacctmgr *s = input;

	if (s->n == WORDS_MAX)
		return error_set(err, ERR_USAGE, "too many words");
	s->words[s->n++] = value;
	return 0;
}

/* "user=ana", "format=account,qos%20", "withassoc", a name alone. */
static int take_condition(struct sacctmgr *s, const char *word, struct error *err)
{
	const char *equal = strchr(word, '=');
	size_t len = equal ? (size_t)(equal - word) : strlen(word);
	static const struct {
		const char *name;
		size_t offset;
	} lists[] = {
		{ "users", offsetof(struct sacctmgr, users) },
		{ "accounts", offsetof(struct sacctmgr, accounts) },
		{ "names", offsetof(struct sacctmgr, names) },
	};

	if (!equal && (!strncasecmp(word, "with", 4) || !strcasecmp(word, "where") ||
	                      !strcasecmp(word, "set"))) {
		s->with_assoc |= !strncasecmp(word, "withassoc", 6);
		return 0;
	}
	if (!equal)
		return *word ? cmd_list_add(&s->names, word, err) : 0;
	if (len > 2 && !strncasecmp("format", word, len)) {
		s->format = equal + 1;
		return 0;
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && len > 2; i++)
		if (!strncasecmp(lists[i].name, word, len))
			return equal[1] ? cmd_list_add(
			                          (struct cmd_list *)((char *)s + lists[i].offset),
			                          equal + 1, err)
			                : 0;
	if (len > 2 && !strncasecmp("clusters", word, len))
		return slurm_cmd_clusters("sacctmgr", equal + 1, slurm_cmd_cluster())
		               ? 0
		               : (s->entity = "", 0);
	return error_set(err, ERR_USAGE, "Unknown condition: %s", word);
}

#define CONFIGURED \
	"accounts, users and QOS are in gpusched.conf, which scontrol reconfigure reads again"

static const struct slurm_cmd_word words[] = {
	{ "list", SLURM_CMD_DIFFERS, "account, association, cluster, qos, tres, user" },
	{ "show", SLURM_CMD_DIFFERS, "the same" },
	{ "version", SLURM_CMD_YES, NULL },
	{ "add", SLURM_CMD_NO, CONFIGURED },
	{ "create", SLURM_CMD_NO, CONFIGURED },
	{ "modify", SLURM_CMD_NO, CONFIGURED },
	{ "delete", SLURM_CMD_NO, CONFIGURED },
	{ "remove", SLURM_CMD_NO, CONFIGURED },
	{ "archive", SLURM_CMD_NO, "gctl archive moves what is old into a file" },
	{ "clear", SLURM_CMD_NO, "gctl stats has the figures" },
	{ "dump", SLURM_CMD_NO, "gctl show config prints the configuration" },
	{ "load", SLURM_CMD_NO, CONFIGURED },
	{ "reconfigure", SLURM_CMD_NO, "scontrol reconfigure" },
	{ "shutdown", SLURM_CMD_NO, "gctl shutdown ends the controller" },
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

SLURM_CMD_TABLE(word, sacctmgr_words, words)

static int print_list(struct sacctmgr *s, size_t entity)
{
	const char *format = s->format                                  ? s->format
	                     : s->with_assoc && entities[entity].longer ? entities[entity].longer
	                                                                : entities[entity].format;
	struct error err;

	if (fields_names(&s->fields, format, fields, N_FIELDS, &err) < 0)
		return slurm_cmd_fail("sacctmgr", &err);
	if (!s->entity || *s->entity)
		entities[entity].list(s);
	fields_print_heading(&s->fields, &s->style, stdout);
	if (s->text.s)
		fwrite(s->text.s, 1, s->text.len, stdout);
	return 0;
}

static int list(struct sacctmgr *s)
{
	const char *what = s->n > 1 ? s->words[1] : "";
	struct error err;
	size_t e = 0;
	int rc = 0;

	while (e < N_ENTITIES && (!*what || strncasecmp(entities[e].name, what, strlen(what))))
		e++;
	if (e == N_ENTITIES) {
		fprintf(stderr,
		        "No valid entity in list command\nInput line must include \"Account\", "
		        "\"Association\", \"Cluster\", \"QOS\", \"TRES\" or \"User\"\n");
		return SLURM_CMD_FAILED;
	}
	s->client = slurm_cmd_client("sacctmgr", "sacctmgr: error", NULL);
	if (!s->client)
		return SLURM_CMD_FAILED;
	host_name = client_conf(s->client)->host;
	for (size_t i = 2; i < s->n && rc == 0; i++)
		rc = take_condition(s, s->words[i], &err);
	if (rc < 0)
		return slurm_cmd_fail("sacctmgr", &err);
	if (load(s, &err) < 0)
		return slurm_cmd_fail_load("sacctmgr", "sacctmgr: error", &err);
	return print_list(s, e);
}

static int run(struct sacctmgr *s)
{
	const char *word = s->n ? s->words[0] : "";

	for (size_t i = 0; i < N_WORDS && *word; i++) {
		if (strncasecmp(words[i].name, word, strlen(word)) != 0)
			continue;
		if (words[i].says == SLURM_CMD_NO) {
			slurm_cmd_say("sacctmgr", "%s: %s", words[i].name, words[i].text);
			return SLURM_CMD_FAILED;
		}
		if (words[i].says == SLURM_CMD_DIFFERS)
			return list(s);
		puts(SLURM_CMD_VERSION);
		return 0;
	}
	if (*word)
		fprintf(stderr, "invalid keyword: %s\n", word);
	else
		slurm_cmd_say("sacctmgr", "there is no interactive mode: a command is needed");
	return SLURM_CMD_FAILED;
}

static void clear(struct sacctmgr *s)
{
	for (size_t i = 0; i < s->n_shares; i++) {
		free(s->shares[i]->account);
		free(s->shares[i]->user);
		free(s->shares[i]);
	}
	free(s->shares);
	free(s->qos);
	client_free(s->client);
	strbuf_free(&s->text);
	fields_clear(&s->fields);
	cmd_list_clear(&s->users);
	cmd_list_clear(&s->accounts);
	cmd_list_clear(&s->names);
}

int sacctmgr_main(int argc, char **argv)
{
	struct sacctmgr s = { .n = 0 };
	int status = slurm_cmd_parse("sacctmgr", take_word, argc, argv, &s);

	if (status == CMD_GO_ON)
		status = slurm_cmd_finish("sacctmgr", run(&s));
	clear(&s);
	return status;
}

SLURM_CMD_TABLE(option, sacctmgr_options, options)
