/* checker_services.c - services: that they exist, how many replicas they have, and which of those
 * are endpoints; see checker_impl.h
 *
 * At a look the controller tells of its services and of their slots that are ordered and not over.
 * A slot belongs to the service whose generation its job is or was.
 */
#include <inttypes.h>
#include <string.h>

#include "testsuite/sim/checker_impl.h"

static struct service *service_of(struct checker *c, const char *name)
{
	struct service *s = checker_find(&c->service_tree, name, by_name);
	char key[NAME_LEN];

	if (s)
		return s;
	snprintf(key, sizeof(key), "%s", name);
	s = checker_make(&c->service_tree, key, strlen(key) + 1, sizeof(*s), by_name);
	STAILQ_INSERT_TAIL(&c->services, s, later);
	return s;
}

/* A replica is a run of one rank. */
static struct run *replica(struct checker *c, const struct words *f)
{
	return checker_run(c, (const uint64_t[]){ f->u[1], f->u[2], f->u[3], 0 });
}

/* --- what its owner is told ------------------------------------------------------------------ */

void fact_service(struct checker *c, const struct words *f)
{
	struct service *s = service_of(c, f->w[1]);

	checker_job(c, f->u[2])->service = s;
	s->promised = true;
}

void fact_end_service(struct checker *c, const struct words *f)
{
	service_of(c, f->w[1])->ending = true;
}

void fact_no_service(struct checker *c, const struct words *f)
{
	struct service *s = service_of(c, f->w[1]);
	const struct run *run;

	if (s->promised && !s->ending)
		checker_violated(c, "I36: service %s is not known, and was not stopped", s->name);
	STAILQ_FOREACH (run, &c->runs, later)
		if (run_alive(run) && run->task->job->service == s)
			checker_violated(c, "I36: service %s is gone, and replica %s lives on %s",
			        s->name, task_label(run->task), run->node);
	s->promised = s->ending = false;
}

void fact_taken_service(struct checker *c, const struct words *f)
{
	checker_violated(c, "I36: the name of service %s is not free, and there is none", f->w[1]);
}

/* --- what the controller tells --------------------------------------------------------------- */

void fact_is_service(struct checker *c, const struct words *f)
{
	struct service *s = service_of(c, f->w[1]);

	s->look = c->service_looks + 1;
	s->wanted = f->u[2];
	s->surge = f->u[3];
	s->kept = f->u[4];
	s->alive = s->ready = 0;
}

void fact_generation(struct checker *c, const struct words *f)
{
	struct job *job = checker_job(c, f->u[2]);

	job->service = service_of(c, f->w[1]);
	job->generation_look = c->service_looks + 1;
}

/* By itself, to have fewer or others; it was READY then. */
void fact_sheds(struct checker *c, const struct words *f)
{
	struct run *run = replica(c, f);

	if (run->task->job->service && !run->shed)
		run->task->job->service->shed = run;
	run->shed = true;
}

void fact_slot(struct checker *c, const struct words *f)
{
	struct run *run = replica(c, f);
	struct service *s = run->task->job->service;
	bool lost = f->u[4] != 0, ready = f->u[5] != 0;

	for (const struct run *other = run->task->runs; other; other = other->next)
		if (other != run && other->slot_look == c->service_looks + 1)
			checker_violated(c,
			        "I35: slot %s has two replicas, attempts %" PRIu64 " and %" PRIu64,
			        task_label(run->task), other->key.attempt, run->key.attempt);
	run->slot_look = c->service_looks + 1;
	/* Those of a generation that was given up drain beside the others. */
	if (!s || run->task->job->generation_look != c->service_looks + 1)
		return;
	s->alive += !lost;
	s->ready += !lost && ready;
	if (!run->ordered)
		s->ordered = run;
	run->ordered = true;
}

static void check_numbers(struct checker *c, const struct service *s)
{
	uint64_t least = s->kept < s->wanted ? s->kept : s->wanted;

	/* Without a surge the replica that is replaced ends before there is another. */
	if (!s->surge && least && least == s->wanted)
		least--;
	if (s->ordered && s->alive > s->wanted + s->surge)
		checker_violated(c,
		        "I32: replica %s is ordered: service %s has %" PRIu64 ", wants %" PRIu64
		        " and has a surge of %" PRIu64,
		        task_label(s->ordered->task), s->name, s->alive, s->wanted, s->surge);
	if (s->shed && s->ready < least)
		checker_violated(c,
		        "I34: replica %s was READY and is ended: service %s has %" PRIu64
		        " that are, of %" PRIu64 " wanted it keeps %" PRIu64,
		        task_label(s->shed->task), s->name, s->ready, s->wanted, s->kept);
}

void fact_slots(struct checker *c, const struct words *f)
{
	struct service *s;

	(void)f;
	c->service_looks++;
	STAILQ_FOREACH (s, &c->services, later) {
		if (s->look == c->service_looks)
			check_numbers(c, s);
		else if (s->promised && !s->ending)
			checker_violated(
			        c, "I36: service %s is not listed, and was not stopped", s->name);
		s->ordered = s->shed = NULL;
	}
}

/* --- endpoints ------------------------------------------------------------------------------- */

void fact_kept_run(struct checker *c, const struct words *f)
{
	struct run *run = replica(c, f);

	run->is_kept = true;
	run->kept_ending = f->u[4] != 0;
	run->kept_over = f->u[5] != 0;
}

void fact_serves(struct checker *c, const struct words *f)
{
	const struct run *run = replica(c, f);
	const char *why = !run->is_kept      ? "not committed"
	                  : !run->started    ? "never started"
	                  : run->kept_over   ? "over"
	                  : run->kept_ending ? "to end"
	                                     : NULL;

	c->n_endpoints++;
	if (why)
		checker_violated(c, "I33: replica %s, attempt %" PRIu64 ", is an endpoint and %s",
		        task_label(run->task), run->key.attempt, why);
}

/* --- when all is over ------------------------------------------------------------------------ */

void services_over(struct checker *c)
{
	const struct service *s;

	STAILQ_FOREACH (s, &c->services, later)
		if (!c->restored && s->look && s->look == c->service_looks)
			checker_violated(
			        c, "I36: faults have stopped and service %s is there", s->name);
}
