/* control_impl.h - the inside of EV_JOB_CONTROL, for its files
 *
 *	control.c        the verbs, and the ids of an event one after another
 *	control_array.c  the records of an array
 */
#ifndef CTLD_CORE_CONTROL_IMPL_H
#define CTLD_CORE_CONTROL_IMPL_H

#include "ctld/core/intake/changes.h"
#include "ctld/core/internal.h"

/* A verb applied to a record costs so much of event.job.most. To look at one costs 1: 0.2 us. */
#define CONTROL_COST 16

/* One event. */
struct control {
	struct core *core;
	const struct core_event *event;
	size_t at; /* which of the event's ids */
	struct job *job;
	unsigned as;             /* how who asks stands to it */
	char what[CHANGES_TEXT]; /* what of it was done, for the audit trail */
	char throttle[64];       /* the same of the whole array's */
	char label[JOB_LABEL];
	uint32_t arrays, tasks; /* it was done to */
	uint64_t of_array;      /* UPDATE: fields that its array has, and so each part of it */
	struct array_walk walk; /* through the records of the present id */
	struct error first;     /* of these the first that was refused; code 0: none */
	uint32_t left;          /* of event->job.most */
	bool own_only;          /* of its records only the array's own */
	bool cut;               /* as much as was wanted was done: there is more */
	struct job_error *errors;
	size_t n_errors, max_errors;
};

/* What a verb does to one record. */
struct control_verb {
	const char *kind; /* in the audit trail */
	int (*apply)(struct control *c, struct error *err);
	/* Would it change a record that waits? Then those it is not for are told apart first. */
	bool (*changes)(const struct control *c, const struct job *job);
};
extern const struct control_verb control_verbs[]; /* by enum job_verb */
/* A verb for what has ended has this one. */
bool control_changes_ended(const struct control *c, const struct job *job);

/* So much of the event is done. The last thing done may be more than was left. */
void control_spend(struct control *c, size_t n);
bool control_spent(const struct control *c);
/* Of the present id. */
void control_error(struct control *c, const struct error *err);

/* Which of these tasks the array has: *known, the caller's to clear. If there are others too,
 * *missing says so; if there are none but such, or they are in too many places, -1. */
int control_know(const struct job *own, const struct taskset *set, struct taskset *known,
        struct error *missing, struct error *err);
/* It is for each record for itself; whether anything was done says whether it worked. c->cut: there
 * are more of them. */
int control_records(
        struct control *c, struct job *own, const struct taskset *set, struct error *err);

#endif
