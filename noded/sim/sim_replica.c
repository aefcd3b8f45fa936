/* sim_replica.c - replicas of services, as a simulated launcher reports them; see
 * sim_launcher_impl.h
 *
 * Their ports are numbers, and no program serves there. A replica is READY when it has run for
 * course.load_time, and UNREADY from the order to end it on, and while it is suspended.
 */
#include "noded/sim/sim_launcher_impl.h"

#define PORT_FIRST 20000
#define PORTS      40000 /* then the first ones again */

static bool is_replica(const struct record *r)
{
	return r->report.replica.health != HEALTH_NONE;
}

static void set_health(struct sim_launcher *l, struct record *r, enum replica_health health,
        const char *text, struct clocks now)
{
	struct replica_report *replica = &r->report.replica;

	if (replica->health == health)
		return;
	sim_replica_refresh(r, now);
	replica->health = health;
	replica->text = text;
	r->ready_since = now.mono;
	if (health == HEALTH_READY && !replica->ready_time)
		replica->ready_time = now.wall;
	l->changed = true;
}

void sim_replica_refresh(struct record *r, struct clocks now)
{
	if (r->report.replica.health != HEALTH_READY || r->report.state != REPORT_RUNNING)
		return;
	r->report.replica.ready_us += (uint64_t)(now.mono - r->ready_since);
	r->ready_since = now.mono;
}

void sim_replica_starts(struct sim_launcher *l, struct record *r)
{
	struct replica_report *replica = &r->report.replica;

	if (!r->spec || !r->spec->service)
		return;
	*replica = (struct replica_report){ .health = HEALTH_LOADING,
		.text = "",
		.address = "",
		.n_ports = r->spec->service->ports };
	if (replica->n_ports > REPLICA_PORTS_MAX)
		replica->n_ports = REPLICA_PORTS_MAX;
	for (size_t i = 0; i < replica->n_ports; i++)
		replica->ports[i] = PORT_FIRST + l->ports++ % PORTS;
	r->told_health = HEALTH_LOADING;
}

void sim_replica_begins(struct sim_launcher *l, struct record *r, struct clocks now)
{
	if (!is_replica(r))
		return;
	r->ready_at = now.mono + r->course.load_time;
	sim_due(l, r->ready_at);
	sim_replica_pass(l, r, now);
}

void sim_replica_pass(struct sim_launcher *l, struct record *r, struct clocks now)
{
	if (r->ready_at > now.mono) {
		sim_due(l, r->ready_at);
		return;
	}
	r->ready_at = NEVER_AT;
	if (r->report.suspended || r->ending)
		return;
	set_health(l, r, HEALTH_READY, "", now);
}

void sim_replica_hides(struct sim_launcher *l, struct record *r, const char *why, struct clocks now)
{
	if (r->report.replica.health == HEALTH_READY)
		set_health(l, r, HEALTH_UNREADY, why, now);
}

void sim_replica_ends(struct record *r)
{
	r->ready_at = NEVER_AT;
	if (is_replica(r))
		r->report.replica.text = "";
}

void sim_replica_resumes(struct sim_launcher *l, struct record *r, struct clocks now)
{
	if (is_replica(r) && r->ready_at == NEVER_AT && !r->ending)
		set_health(l, r, HEALTH_READY, "", now);
}
