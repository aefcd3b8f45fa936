/* acct_options.h - which jobs accounting is about: the options that gacct and greport share */
#ifndef CMDS_ACCT_OPTIONS_H
#define CMDS_ACCT_OPTIONS_H

#include "cmds/views/filter.h"

/* Rows of a command's table; `at` is the struct acctopt in its input. */
#define ACCTOPT_ROW(type, member, name, letter, arg, set, help) \
	{ name, letter, arg, help, set, offsetof(type, member), 0, 0 }
#define ACCTOPT_OPTIONS(type, at)                                                                \
	FILTER_HEADING,                                                                          \
	        ACCTOPT_ROW(type, at.since, "since", 'S', "TIME", cmd_set_past,                  \
	                "That ran or ended then or later"),                                      \
	        CMD_ALIAS("starttime", 0),                                                       \
	        ACCTOPT_ROW(type, at.until, "until", 'E', "TIME", cmd_set_past,                  \
	                "That began before then"),                                               \
	        CMD_ALIAS("endtime", 0), FILTER_ME(type, at.filter),                             \
	        FILTER_USER(type, at.filter),                                                    \
	        ACCTOPT_ROW(type, at.accounts, "accounts", 'A', "LIST", cmd_set_list,            \
	                "Of these accounts, and all below them"),                                \
	        FILTER_PARTITION(type, at.filter),                                               \
	        ACCTOPT_ROW(type, at.qos, "qos", 'q', "LIST", cmd_set_list,                      \
	                "Of this quality of service"),                                           \
	        FILTER_ROW(type, at.filter, "states", 's', "LIST", FILTER_STATES,                \
	                "In these states: COMPLETED or CD, ..."),                                \
	        FILTER_NAME(type, at.filter),                                                    \
	        ACCTOPT_ROW(type, at.labels, "label", 'L', "LIST", cmd_set_list,                 \
	                "With all these labels: KEY or KEY=VALUE"),                              \
	        FILTER_ROW(type, at.filter, "nodes", 'N', "NODES", FILTER_NODES,                 \
	                "Whose last attempt was on these nodes"),                                \
	        CMD_ALIAS("nodelist", 0),                                                        \
	        FILTER_ROW(type, at.filter, "jobs", 'j', "IDS", FILTER_IDS,                      \
	                "With these ids, whenever they ran"),                                    \
	        ACCTOPT_ROW(type, at.file, "file", 0, "FILE", cmd_set_text,                      \
	                "In this file, of gctl archive or a copy of history.db; asks no "        \
	                "controller")

/* Begins as { 0 }. */
struct acctopt {
	struct filter filter;
	struct cmd_list accounts, qos, labels;
	int64_t since, until; /* us; 0: not said */
	const char *file;     /* borrowed of the command line; NULL: none */
};

/* As messages that borrow from the options and from each other. Where no --since, no ids and no
 * file were given, it is `since`, or before that the day that --until is in. */
void acctopt_message(
        const struct acctopt *o, int64_t since, Gpusched__JobFilter *filter, Gpusched__ListAcct *m);

void acctopt_clear(struct acctopt *o);

#endif
