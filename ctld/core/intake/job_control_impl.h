/* job_control_impl.h - the inside of EV_JOB_CONTROL, for its files
 *
 *	job_control.c        the verbs, and the ids of an event one after another
 *	job_control_array.c  the records of an array
 */
#ifndef CTLD_CORE_JOB_CONTROL_IMPL_H
#define CTLD_CORE_JOB_CONTROL_IMPL_H

#include "ctld/core/intake/update_audit.h"
#include "ctld/core/records/job.h"

/* The cost of applying a verb to a record, in units of event.job.most. Examining a record costs 1:
 * 0.2 us. */
#define CONTROL_COST 16

/* One event. */
struct control {
	struct core *core;
	const struct core_event *event;
	size_t at; /* index of the present id in the event */
	struct job *job;
	unsigned as;             /* the caller's roles towards it (enum standing) */
	char what[CHANGES_TEXT]; /* what was changed, for the audit trail */
	char throttle[64];       /* what was changed of the array as a whole */
	char label[JOB_LABEL];
	uint32_t arrays, tasks; /* how many arrays and tasks the verb was applied to */
	uint64_t of_array;      /* UPDATE: fields that only the array has, and so each of its
				 * parts */
	struct array_walk walk; /* through the records of the present id */
	struct error first;     /* the first refusal among them; code 0: none */
	uint32_t left;          /* of event->job.most */
	bool own_only;          /* apply the verb only to the array parent */
	bool cut;               /* event->job.most is used up: there is more to do */
	struct job_error *errors;
	size_t n_errors, max_errors;
};

/* A verb for one record. */
struct control_verb {
	const char *kind; /* in the audit trail */
	int (*apply)(struct control *c, struct error *err);
	/* Would it change a waiting record? Then the tasks that it does not apply to are split off
	 * first. */
	bool (*changes)(const struct control *c, const struct job *job);
};
extern const struct control_verb control_verbs[]; /* by enum job_verb */
/* The function `changes` of the verbs that apply to ended jobs. */
bool control_changes_ended(const struct control *c, const struct job *job);

/* Count `n` units of work of the event as done. The last step may use more than was left. */
void control_spend(struct control *c, size_t n);
bool control_spent(const struct control *c);
/* Record an error of the present id. */
void control_error(struct control *c, const struct error *err);

/* Which of these tasks the array has: *known, which the caller clears. If some do not exist,
 * *missing says which. -1: none exists, or they are in too many ranges. */
int control_know(const struct job *own, const struct taskset *set, struct taskset *known,
        struct error *missing, struct error *err);
/* Applies the verb to each record by itself; it succeeds if it was applied to any. c->cut: there
 * are more records. */
int control_records(
        struct control *c, struct job *own, const struct taskset *set, struct error *err);

#endif
