/* limits_impl.h - the inside of limits, for their files
 *
 *	limits.c             counts what jobs hold, and blocks at a limit
 *	limits_submit.c      refuses a submit that could never pass
 *	configured_limits.c  what can be limited, and where the configuration has it
 *	limit_reason.c       limits as words
 */
#ifndef CTLD_CORE_LIMITS_IMPL_H
#define CTLD_CORE_LIMITS_IMPL_H

#include "ctld/core/limits/limits.h"

/* What can be limited. */
enum limit_kind {
	LIMIT_GPUS,
	LIMIT_GPU_MEM,
	LIMIT_CPUS,
	LIMIT_MEM,
	LIMIT_NODES,
	LIMIT_RUNNING,
	LIMIT_QUEUED,
	LIMIT_GPU_HOURS, /* counted by gpu_hours_window.h */
	LIMIT_LICENCE,
	LIMIT_GUARANTEE, /* other accounts' guarantees, by type: quota.h; not counted */
	LIMIT_ALL_KINDS
};
#define CONF_LIMIT_KINDS LIMIT_LICENCE /* the kinds that a conf_limits can have */

/* The kind of object that the limit belongs to. */
enum limit_scope {
	SCOPE_ACCOUNT,
	SCOPE_QOS,
	SCOPE_PARTITION,
	SCOPES,
	SCOPE_CLUSTER = SCOPES /* licences, and GPUs kept for other accounts */
};

/* What the limit is for: all jobs together, each user, each job. */
enum limit_part { LIMITS_ALL, LIMITS_PER_USER, LIMITS_PER_JOB, LIMIT_PARTS };

/* A number and its limit; `used` stays 0 where nothing is counted. */
struct limit {
	uint8_t kind, scope;
	uint8_t part;   /* enum limit_part; PER_JOB: nothing is ever counted there */
	uint16_t type;  /* LIMIT_GPUS: in conf.gpu_types, CONF_ANY_TYPE; LIMIT_LICENCE: which */
	uint32_t index; /* of the account, QOS, partition */
	uint64_t max, used;
};

/* One limit out of a conf_limits. */
struct conf_limit {
	uint8_t kind;
	uint16_t type;
	uint64_t value;
};

struct limits {
	const struct conf *conf;
	struct limit *v;
	size_t n, size;
	uint32_t *unused; /* ids of limits of users without a chain or a counted job */
	size_t n_unused, size_unused;
	struct quota *quota;
	struct hours *hours; /* NULL: GPU-hours are not known */
	uint32_t first_licence;
	uint32_t first_guarantee; /* of GPU type 0; the last one is for all types */
	uint32_t *first[SCOPES];  /* of account i: the id of its first LIMITS_ALL limit */
	bool queued;              /* some limit on `queued` is given */
	struct table *users;      /* struct user_scope */
	struct table *chains;     /* struct limit_chain */
	uint32_t *found;          /* the result of limits_of_need() */
	size_t size_found;
};

/* The counters of a user in an account, a QOS or a partition. */
struct user_scope {
	uint8_t scope;
	uint32_t index, uid, refs, n;
	uint32_t ids[];
};

/* One for all jobs with the same account, user, QOS and partition. */
struct limit_chain {
	uint32_t account, uid, qos, partition;
	uint32_t refs;
	uint32_t n_users, n;
	struct user_scope **users; /* owned array, counted entries */
	uint32_t *ids;             /* owned */
};

/* --- configured_limits.c --------------------------------------------------------------------- */

/* The i-th limit of a group, i from 0; false: there are no more. */
bool conf_limit_at(const struct conf_limits *l, size_t i, struct conf_limit *limit);

/* How much of that kind (for GPUs: of that type) a job takes. */
uint64_t need_amount(const struct need *need, enum limit_kind kind, uint16_t type);

/* The i-th limit of a scope: for all jobs together (an account's quota has one too), for each user
 * or for each job. */
bool scope_limit(const struct conf *conf, enum limit_scope scope, uint32_t index,
        enum limit_part part, size_t i, struct conf_limit *limit);
uint32_t scope_time_s(
        const struct conf *conf, enum limit_scope scope, uint32_t index, enum limit_part part);
/* The sliding time of a limit of GPU-hours, in seconds. */
uint32_t scope_hours_s(
        const struct conf *conf, enum limit_scope scope, uint32_t index, enum limit_part part);
/* Is a limit on `queued` given there? */
bool scope_counts_queued(const struct conf *conf, enum limit_scope scope, uint32_t index);
const char *scope_name(const struct conf *conf, enum limit_scope scope, uint32_t index);

/* The next scope that a job passes: start with *scope SCOPE_ACCOUNT and *index the account's. All
 * accounts above follow the account; then come QOS and partition. False: there are no more. */
struct scope_walk {
	const struct conf *conf;
	uint32_t index[SCOPES];
	int at;
};
bool scope_next(struct scope_walk *walk, enum limit_scope *scope, uint32_t *index);

/* --- limit_reason.c -------------------------------------------------------------------------- */

/* The word for a wait at that limit: "AssocGrpCpuLimit". */
const char *limit_reason(enum limit_scope scope, enum limit_part part, enum limit_kind kind);

#define AMOUNT_TEXT 100
/* "h100:32", "64 CPUs", "1.7T memory", "4 running jobs" */
char *amount_text(char buf[AMOUNT_TEXT], const struct conf *conf, enum limit_kind kind,
        uint16_t type, uint64_t amount);
/* The same without the unit or type: "28", "1.2T" */
char *amount_number(char buf[AMOUNT_TEXT], enum limit_kind kind, uint64_t amount);

#endif
