/* shepherd_report.c - what a run used, in its exit record; see shepherd_impl.h
 *
 * The exit record is written once, when nothing of the run is left and its programs have run; what
 * the run used is added from its last cgroup, its children's times and the launcher's samples.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/clock.h"
#include "common/job/runused.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/record/record.h"
#include "noded/shepherd/output_summary.h"
#include "noded/shepherd/shepherd_impl.h"
#include "noded/usage/cpu_memory_io.h"
#include "noded/usage/usage_per_run.h"

static uint64_t cpu_time(const struct shepherd *s)
{
	uint64_t us = contain_cpu_time_us(s->leaf);
	struct rusage ru;

	if (us == 0 && getrusage(RUSAGE_CHILDREN, &ru) == 0)
		us = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * SECOND +
		     (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
	return us;
}

/* From the launcher's samples, and from the kernel's more exact values now that the run is over. */
static void fill_used(const struct shepherd *s, Gpusched__RunReport *r, Gpusched__RunUsed *used)
{
	char *leaf = record_string(&s->launch->cgroup), *memory = NULL;
	struct process_usage m = { .mem_peak_kb = r->max_rss_kb };
	ProtobufCMessage *seen = NULL;
	struct run_used u;

	for (size_t i = 0; i < s->launch->n_limits && !memory; i++)
		if (s->launch->limits[i]->kind == LIMIT_MEMORY && s->launch->limits[i]->own_leaf)
			memory = record_string(&s->launch->limits[i]->dir);
	if (record_read(s->record_dir, RECORD_USED, &gpusched__run_used__descriptor, &seen, NULL) !=
	        1)
		seen = NULL;
	run_used_from_message((Gpusched__RunUsed *)seen, &u);
	process_usage_cgroups(leaf, memory, &m);
	m.cpu_us = r->cpu_time_us;
	if (s->io >= 0)
		process_usage_io_of(s->io, &m);
	used_add_processes(&u, &m);
	u.mem_now_mb = u.gpu_mem_now_mb = u.gpu_now_pct = 0;
	r->cpu_time_us = u.cpu_time_us;
	if (r->max_rss_kb < m.mem_peak_kb)
		r->max_rss_kb = m.mem_peak_kb;
	if (r->max_rss_kb < u.mem_peak_mb * 1024)
		r->max_rss_kb = u.mem_peak_mb * 1024;
	run_used_to_message(&u, used);
	r->used = used;
	if (seen)
		protobuf_c_message_free_unpacked(seen, NULL);
	free(leaf);
	free(memory);
}

/* Of its launch it has the ports. */
static void fill_replica(struct shepherd *s, Gpusched__RunReport *r, Gpusched__Replica *m)
{
	if (!replica_is(&s->replica) || !r->replica)
		return;
	replica_read(&s->replica, both_clocks()); /* the last of it */
	replica_fill_end(&s->replica, mono(), m);
	m->ports = r->replica->ports;
	m->n_ports = r->replica->n_ports;
	r->replica = m;
}

static void fill_report(struct shepherd *s, Gpusched__RunReport *r, struct exit_parts *parts)
{
	struct rusage ru;

	r->state = GPUSCHED__RUN_REPORT__STATE__ENDED;
	r->end_time = clock_us(CLOCK_REALTIME);
	r->cause = shepherd_ended_by(s);
	/* A failed launch is charged too if its owner delayed it, but not if the node did. */
	if (r->cause != GPUSCHED__END_CAUSE__CAUSE_LAUNCH || s->late)
		r->elapsed_us = (uint64_t)(mono() - s->start_mono);
	if (!end_is_launch((enum end_cause)r->cause))
		r->start_time = s->start_wall;
	if (s->executed) {
		r->cpu_time_us = cpu_time(s);
		if (getrusage(RUSAGE_CHILDREN, &ru) == 0)
			r->max_rss_kb = (uint64_t)ru.ru_maxrss;
		fill_used(s, r, &parts->used);
		fill_replica(s, r, &parts->replica);
		/* Its last checkpoint, just before it acknowledged. */
		notes_poll(&s->notes, s->rundir, &s->owner, s->start_wall, r->end_time);
		r->checkpoint_time = s->notes.checkpoint;
		r->suspended_us = (uint64_t)s->held_us;
	}
	shepherd_end_cause(s, r);
}

static void say_used(const struct shepherd *s, const Gpusched__RunReport *r)
{
	char text[SUMMARY_MAX];
	bool spool = r->cause == GPUSCHED__END_CAUSE__CAUSE_SPOOL && s->launch->summary &&
	             !summary_wanted(s->launch, r); /* which says it too */

	if (s->executed && (s->tell_detail || spool) && !s->launch->interactive)
		summary_write(s->launch, text, summary_note(s->launch, s->detail, text));
	if (s->executed && summary_wanted(s->launch, r))
		summary_write(s->launch, text, summary_text(s->launch, r, text));
}

void shepherd_report(struct shepherd *s, Gpusched__RunReport *r, struct exit_parts *parts)
{
	fill_report(s, r, parts);
	say_used(s, r);
}
