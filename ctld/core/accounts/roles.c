/* roles.c - see roles.h
 *
 * A caller has a set of relations (AS_...): those by its role, and towards a job also owner and
 * coordinator. A verb's row has the set of relations that may use it. So a permission is one
 * bitwise "and", and the text of a refusal is made of the row.
 */
#include "ctld/core/accounts/roles.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ctld/core/accounts/accounts.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"

static const struct {
	const char *name, *does;
	unsigned who;
} verbs[] = {
#define X(sym, does, who) { #sym, does, who },
	VERBS(X)
#undef X
};

/* In the order in which they are named. */
static const struct {
	unsigned bit;
	const char *name;
} standings[] = {
	{ AS_USER, "users" },
	{ AS_OWNER, "its owner" },
	{ AS_COORDINATOR, "a coordinator of its account" },
	{ AS_OPERATOR, "an operator" },
	{ AS_ADMIN, "an administrator" },
	{ AS_AGENT, "an agent" },
	{ AS_WEB, "a web user" },
};
#define N_STANDINGS (sizeof(standings) / sizeof(standings[0]))

static const enum verb job_verbs[] = {
	[JOB_CANCEL] = VERB_JOB_CANCEL,
	[JOB_HOLD] = VERB_JOB_HOLD,
	[JOB_RELEASE] = VERB_JOB_RELEASE,
	[JOB_SIGNAL] = VERB_JOB_SIGNAL,
	[JOB_REQUEUE] = VERB_JOB_REQUEUE,
	[JOB_SUSPEND] = VERB_JOB_SUSPEND,
	[JOB_RESUME] = VERB_JOB_RESUME,
	[JOB_UPDATE] = VERB_JOB_UPDATE,
	[JOB_RESIGN] = VERB_JOB_RESIGN,
	[JOB_REQUEUE_HOLD] = VERB_JOB_REQUEUE, /* the same roles may hold the job, too */
};

/* --- the caller ------------------------------------------------------------------------------ */

bool caller_listed(const struct conf_texts *list, const struct caller *caller)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *name = list->v[i];

		if (!strcmp(name, "*") || !strcmp(name, caller->user))
			return true;
		for (size_t g = 0; *name == '@' && g < caller->n_groups; g++) {
			if (!strcmp(name + 1, caller->groups[g]))
				return true;
		}
	}
	return false;
}

enum role role_of(const struct conf *conf, const struct caller *caller)
{
	if (caller_listed(&conf->roles.admins, caller))
		return ROLE_ADMIN;
	if (caller_listed(&conf->roles.operators, caller))
		return ROLE_OPERATOR;
	return caller_listed(&conf->roles.web_users, caller) ? ROLE_WEB : ROLE_USER;
}

/* Of the account, or of one above it. */
bool coordinates(const struct conf *conf, const struct caller *caller, uint32_t account)
{
	for (; account != CONF_NONE; account = conf->accounts[account].parent) {
		if (caller_listed(&conf->accounts[account].coordinators, caller))
			return true;
	}
	return false;
}

unsigned standing(const struct caller *caller)
{
	static const unsigned by_role[] = {
		[ROLE_USER] = AS_USER,
		[ROLE_OPERATOR] = AS_USER | AS_OPERATOR,
		[ROLE_ADMIN] = AS_USER | AS_ADMIN,
		[ROLE_WEB] = AS_WEB,
	};

	return by_role[caller->role];
}

unsigned standing_to(
        const struct conf *conf, const struct caller *caller, uint32_t uid, uint32_t account)
{
	if (caller->role == ROLE_WEB)
		return AS_WEB;
	return standing(caller) | (caller->uid == uid ? AS_OWNER : 0) |
	       (coordinates(conf, caller, account) ? AS_COORDINATOR : 0);
}

unsigned standing_to_named(
        const struct conf *conf, const struct caller *caller, uint32_t uid, const char *account)
{
	uint32_t a = 0;

	while (a < conf->n_accounts && strcmp(conf->accounts[a].name, account) != 0)
		a++;
	return standing_to(conf, caller, uid, a < conf->n_accounts ? a : CONF_NONE);
}

/* --- what the caller may do ------------------------------------------------------------------ */

unsigned verb_who(enum verb verb)
{
	return verbs[verb].who;
}

const char *verb_name(enum verb verb)
{
	return verbs[verb].name;
}

bool verb_permits(enum verb verb, unsigned standing)
{
	return verbs[verb].who & standing;
}

/* Always -1, with the roles that may do it. */
int verb_refuse(enum verb verb, struct error *err)
{
	char list[160] = "";
	unsigned left = verbs[verb].who;
	size_t used = 0, i;

	for (i = 0; i < N_STANDINGS; i++) {
		if (!(left & standings[i].bit))
			continue;
		left &= ~standings[i].bit;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
		        !used  ? ""
		        : left ? ", "
		               : " or ",
		        standings[i].name);
		assert(used < sizeof(list));
	}
	return error_set(err, ERR_NOT_PERMITTED, "only %s may %s", list, verbs[verb].does);
}

enum verb verb_of_job(enum job_verb verb)
{
	return verb >= JOB_CANCEL && (size_t)verb < sizeof(job_verbs) / sizeof(job_verbs[0])
	               ? job_verbs[verb]
	               : VERB_COUNT;
}

unsigned job_standing(const struct core *core, const struct caller *caller, const struct job *job)
{
	return standing_to(core->conf, caller, job_info(job)->uid,
	        accounts_find(core->accounts, job_info(job)->account));
}

/* Where jobs are private, a job that a caller may not see does not exist for the caller. */
bool core_sees(const struct core *core, unsigned standing)
{
	return !core->conf->roles.private_jobs || verb_permits(VERB_JOB_SEE, standing);
}
