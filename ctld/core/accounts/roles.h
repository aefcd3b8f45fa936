/* roles.h - the rights of roles: one table of verbs, and of the roles that may use each
 *
 * Every request of a session is a verb here (the rows of ctld/rpc/rpc.c), and so is each action on
 * a job, a node or a partition in the core. A row grants the verb by the caller's role (any user,
 * an operator, an administrator, an agent) or by the caller's relation to the job (its owner, a
 * coordinator of its account). Every permission is decided by this table, and what no row permits
 * is refused.
 *
 * Root and the controller's user are administrators. The configuration names further
 * administrators, the operators, the coordinators and the web users.
 *
 * A web user (gweb) sees all jobs and acts on none, not even on its own. For one of its own users it
 * may look as that user (MSG_LOOK_AS): then it is told what that user would be told, may hand in
 * what that user has signed, and may open streams to jobs whose output that user may follow. The
 * nodes decide what it gets through them; munge tells them that it is a web user
 * (noded/stream/stream_access.h). Roles change only with the configuration file: no request grants
 * one.
 *
 * To add a verb: add a row here, and one in testsuite/unit/core/test_roles.c, which repeats the whole
 * table by hand.
 */
#ifndef CTLD_CORE_ROLES_H
#define CTLD_CORE_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/conf/conf.h"
#include "ctld/core/rows/event.h"

struct core;
struct job;

/* The roles of a caller: bits, because a caller may have several at once. */
enum standing {
	AS_USER = 1 << 0,        /* every caller with a session */
	AS_OWNER = 1 << 1,       /* the job is the caller's */
	AS_COORDINATOR = 1 << 2, /* of the job's account, or of one above it */
	AS_OPERATOR = 1 << 3,
	AS_ADMIN = 1 << 4,
	AS_AGENT = 1 << 5, /* of a node; an agent is nothing else */
	AS_WEB = 1 << 6,   /* a web user; has no other role, and asks for other users */
};

#define AS_STAFF (AS_OPERATOR | AS_ADMIN)

/* X(verb, what it does, roles that may use it). The second completes "only ... may". */
#define VERBS(X)                                                                               \
	/* requests of a session; ASK and TELL: what they are about says more, below */        \
	X(VERB_LOOK, "look at the cluster", AS_USER | AS_WEB)                                  \
	X(VERB_SUBMIT, "submit jobs", AS_USER | AS_WEB)                                        \
	X(VERB_LIST, "list jobs and usage", AS_USER | AS_WEB)                                  \
	X(VERB_LOOK_AS, "look as another user", AS_ADMIN | AS_WEB)                             \
	X(VERB_ASK, "ask for something to be done to jobs", AS_USER)                           \
	X(VERB_RECONFIGURE, "have the configuration read again", AS_ADMIN)                     \
	X(VERB_SHUTDOWN, "stop the controller", AS_ADMIN)                                      \
	X(VERB_BACKUP, "back the database up", AS_ADMIN)                                       \
	X(VERB_ARCHIVE, "take what is old out of the history", AS_ADMIN)                       \
	X(VERB_NODE, "operate nodes", AS_STAFF)                                                \
	X(VERB_PARTITION, "operate partitions", AS_STAFF)                                      \
	X(VERB_AGENT, "speak for a node", AS_AGENT)                                            \
	X(VERB_OUTPUT, "ask for the output of jobs", AS_USER | AS_WEB)                         \
	X(VERB_STREAM, "send what is in a stream", AS_USER | AS_WEB | AS_AGENT)                \
	/* jobs */                                                                             \
	/* where private */                                                                    \
	X(VERB_JOB_SEE, "see it", AS_OWNER | AS_COORDINATOR | AS_STAFF | AS_WEB)               \
	X(VERB_JOB_CANCEL, "cancel it", AS_OWNER | AS_COORDINATOR | AS_STAFF)                  \
	X(VERB_JOB_HOLD, "hold it", AS_OWNER | AS_COORDINATOR | AS_STAFF)                      \
	X(VERB_JOB_RELEASE, "release it", AS_OWNER | AS_COORDINATOR | AS_STAFF)                \
	X(VERB_JOB_SIGNAL, "signal it", AS_OWNER | AS_STAFF)                                   \
	X(VERB_JOB_REQUEUE, "requeue it", AS_OWNER | AS_COORDINATOR | AS_STAFF)                \
	X(VERB_JOB_SUSPEND, "suspend it", AS_OWNER | AS_STAFF)                                 \
	X(VERB_JOB_RESUME, "resume it", AS_OWNER | AS_STAFF)                                   \
	X(VERB_JOB_RANK, "change its partition, QOS or niceness",                              \
	        AS_OWNER | AS_COORDINATOR | AS_STAFF)                                          \
	X(VERB_JOB_UPDATE, "change what else it asks for", AS_OWNER | AS_STAFF)                \
	X(VERB_JOB_LONGER, "make the time limit of a job that runs longer", AS_STAFF)          \
	X(VERB_JOB_STEPS, "say which steps it has", AS_OWNER | AS_STAFF)                       \
	X(VERB_JOB_RESIGN, "sign it anew", AS_OWNER)                                           \
	X(VERB_JOB_RELEASE_COORDINATOR, "release what a coordinator holds",                    \
	        AS_COORDINATOR | AS_STAFF)                                                     \
	X(VERB_JOB_RELEASE_ADMIN, "release what an operator or administrator holds", AS_STAFF) \
	X(VERB_JOB_OUTPUT, "follow its output", AS_OWNER | AS_ADMIN)                           \
	X(VERB_JOB_SCRIPT, "read its script and environment", AS_OWNER | AS_ADMIN)             \
	X(VERB_JOB_EVENTS, "see what happened to it", AS_OWNER | AS_COORDINATOR | AS_STAFF)    \
	/* what else a request may hold */                                                     \
	X(VERB_EVENTS, "see everybody's events", AS_STAFF)                                     \
	X(VERB_BUDGETS, "see what each user holds of the controller", AS_STAFF)                \
	X(VERB_BOOST, "go below a niceness of 0", AS_STAFF)                                    \
	X(VERB_ANY_ACCOUNT, "use an account without being a member", AS_STAFF)

#define X(sym, does, who) sym,
enum verb { VERBS(X) VERB_COUNT };
#undef X

/* The role by the lists of the configuration. */
enum role role_of(const struct conf *conf, const struct caller *caller);

/* Does the list name the user, a group of the user, or all users ("*")? */
bool caller_listed(const struct conf_texts *list, const struct caller *caller);

/* Is the caller a coordinator of this account (an index; CONF_NONE: of none), or of one above
 * it? */
bool coordinates(const struct conf *conf, const struct caller *caller, uint32_t account);

/* The caller's roles (bits of enum standing): where no job is concerned, and towards a job of
 * `uid` in `account`, given by index or name. */
unsigned standing(const struct caller *caller);
unsigned standing_to(
        const struct conf *conf, const struct caller *caller, uint32_t uid, uint32_t account);
unsigned standing_to_named(
        const struct conf *conf, const struct caller *caller, uint32_t uid, const char *account);

bool verb_permits(enum verb verb, unsigned standing);
unsigned verb_who(enum verb verb); /* bits of enum standing */
const char *verb_name(enum verb verb);

/* ERR_NOT_PERMITTED: "only its owner, an operator or an administrator may cancel it". -1. */
int verb_refuse(enum verb verb, struct error *err);

/* The verb for an action on a job; VERB_COUNT: there is none. An update may need several more. */
enum verb verb_of_job(enum job_verb verb);

/* The caller's roles towards a job; may a caller with these roles know of the job? */
unsigned job_standing(const struct core *core, const struct caller *caller, const struct job *job);
bool core_sees(const struct core *core, unsigned standing);

#endif
