/* sched_rules.h - what the documentation promises, worked out slowly and anew each time
 *
 * From gpusched.conf(5) and the headers of the core, not from its code: what is free, who fits,
 * which limit holds a job back, who stands before whom, who may stop whom. Nothing is remembered.
 */
#ifndef TESTSUITE_UNIT_SCHED_RULES_H
#define TESTSUITE_UNIT_SCHED_RULES_H

#include "testsuite/unit/policy/sched_lab.h"

/* Jobs by index, as a set. */
typedef uint64_t lab_set;
lab_set rules_one(const struct lab *lab, const struct lab_job *j);

/* What each node has for new runs. A GPU is whole somebody's, or shared by some runs, or free. */
struct room {
	struct {
		bool accepts, empty, shares, apart;
		int cpus;
		int64_t mem_mb;
		unsigned n_gpus;
		struct {
			uint16_t type;
			bool whole, wrong; /* wrong: it has two owners, or gives too much */
			unsigned runs;
			uint32_t uid; /* of its runs; CONF_NONE: of several users */
			uint64_t milli, mem_mb;
		} gpu_set[LAB_CARDS];
	} v[LAB_NODES];
};

/* What there is when all runs that must have ended by `at` have, and those of the jobs in `gone`
 * too. With the time that is now: what is free. */
void rules_room(const struct lab *lab, usec_t at, lab_set gone, struct room *room);
/* By when it has ended, if its node does what it must; INT64_MAX: nobody knows. */
usec_t rules_end(const struct lab *lab, const struct lab_job *j, const struct lab_run *r);
/* The longest time from the word to the end of a run. */
usec_t rules_grace(const struct lab *lab);

bool rules_type(const struct lab *lab, const struct lab_job *j, size_t want, uint16_t type);
/* What it gets of each GPU of a type; charge 0: all of it. False: no such GPU has so much. */
bool rules_part(const struct lab *lab, const struct lab_job *j, uint16_t type, struct share *part);
/* Is there a place of one kind; of any that it would take and no limit forbids? */
bool rules_fits(const struct lab *lab, const struct lab_job *j, size_t want, uint16_t type,
        const struct room *room, bool even);
bool rules_may_start(const struct lab *lab, const struct lab_job *j, const struct room *room);

/* The limit that would be exceeded if it held so much; NULL: none. `places` NULL: the least that it
 * takes of that kind, on so many nodes. */
struct amounts {
	uint16_t type;
	uint32_t gpus, cpus, nodes, licences;
	uint64_t mem_mb, gpu_mem_mb;
	uint64_t milli; /* thousandths of GPUs, which is how limits and quotas count them */
};
struct amounts rules_least(
        const struct lab *lab, const struct lab_job *j, size_t want, uint16_t type, uint32_t nodes);
struct amounts rules_held(const struct lab *lab, const struct lab_job *j);
const char *rules_limit(
        const struct lab *lab, const struct lab_job *j, const struct amounts *more, lab_set gone);
/* What others keep back would not be covered any more. */
bool rules_lends_kept(
        const struct lab *lab, const struct lab_job *j, const struct amounts *more, lab_set gone);

/* Does x stand before y for sure, in its partition; may it stand there, in any of its partitions? */
bool rules_before(const struct lab *lab, const struct lab_job *x, const struct lab_job *y);
bool rules_maybe_before(const struct lab *lab, const struct lab_job *x, const struct lab_job *y);
/* Was a start planned for any job before it? */
bool rules_planned_before(const struct lab *lab, const struct lab_job *j);

enum why { WHY_NOT, WHY_TIER, WHY_QOS, WHY_RECLAIM };
enum why rules_may_stop(const struct lab *lab, const struct lab_job *by,
        const struct lab_job *victim, uint16_t type, uint64_t milli, lab_set gone);
usec_t rules_protected_until(const struct lab *lab, const struct lab_job *victim);

#endif
