/* acctopt.h - which jobs accounting is about: the options that gacct and greport share */
#ifndef CMDS_ACCTOPT_H
#define CMDS_ACCTOPT_H

#include "cmds/views/filter.h"

enum {
	ACCTOPT_KEY_ME = 0x5000,
	ACCTOPT_KEY_FILE,
};

#define ACCTOPT_ROW(name, key, value, help, group) \
	{                                          \
		name, key, value, 0, help, group   \
	}

/* Rows of a command's argp_option table. */
#define ACCTOPT_OPTIONS(g)                                                                        \
	ACCTOPT_ROW(NULL, 0, NULL,                                                                \
	        "Which jobs (several restrict together; LIST has commas between):", g),           \
	        ACCTOPT_ROW("since", 'S', "TIME", "That ran or ended then or later", g),          \
	        { "starttime", 0, NULL, OPTION_ALIAS, NULL, g },                                  \
	        ACCTOPT_ROW("until", 'E', "TIME", "That began before then", g),                   \
	        { "endtime", 0, NULL, OPTION_ALIAS, NULL, g },                                    \
	        ACCTOPT_ROW("me", ACCTOPT_KEY_ME, NULL, "My own", g),                             \
	        ACCTOPT_ROW("user", 'u', "LIST", "Of these users", g),                            \
	        ACCTOPT_ROW("accounts", 'A', "LIST", "Of these accounts, and all below them", g), \
	        ACCTOPT_ROW("partition", 'p', "LIST", "In these partitions", g),                  \
	        ACCTOPT_ROW("qos", 'q', "LIST", "Of this quality of service", g),                 \
	        ACCTOPT_ROW("states", 's', "LIST", "In these states: COMPLETED or CD, ...", g),   \
	        ACCTOPT_ROW("name", 'n', "LIST", "With these names", g),                          \
	        ACCTOPT_ROW("label", 'L', "LIST", "With all these labels: KEY or KEY=VALUE", g),  \
	        ACCTOPT_ROW("nodes", 'N', "NODES", "Whose last attempt was on these nodes", g),   \
	        { "nodelist", 0, NULL, OPTION_ALIAS, NULL, g },                                   \
	        ACCTOPT_ROW("jobs", 'j', "IDS", "With these ids, whenever they ran", g),          \
	        ACCTOPT_ROW("file", ACCTOPT_KEY_FILE, "FILE",                                     \
	                "In this file, of gctl archive or a copy of history.db; asks no "         \
	                "controller",                                                             \
	                g)

/* Begins as { 0 }. */
struct acctopt {
	struct filter filter;
	struct cmd_list accounts, qos, labels;
	int64_t since, until; /* us; 0: not said */
	const char *file;     /* borrowed of the command line; NULL: none */
};

/* For cmd->take: 1 taken, 0 it is none of these, -1 with `err`. */
int acctopt_take(struct acctopt *o, int key, const char *value, struct error *err);

/* As messages that borrow from the options and from each other. Where no --since, no ids and no
 * file were given, it is `since`, or before that the day that --until is in. */
void acctopt_message(
        const struct acctopt *o, int64_t since, Gpusched__JobFilter *filter, Gpusched__ListAcct *m);

/* Connect to the source of the answers: the file, or the controller. NULL with `err`. */
struct client *acctopt_client(const struct acctopt *o, struct error *err);

void acctopt_clear(struct acctopt *o);

#endif
