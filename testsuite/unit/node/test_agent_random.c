/* test_agent_random.c - the agent's core against everything that a network and a machine can do
 *
 * A simple model of a controller and the simulated launcher (noded/sim/sim_launcher.h), with the core
 * between them. Messages travel as packed bytes and are lost, doubled and overtaken by others, also
 * within a session; sessions break; agent, launcher, node and controller restart; an old controller
 * and one with the wrong incarnation give orders. Seeds are 1 to 400; one is run alone with the
 * seed as the argument. Judged:
 *
 *	- a run starts at most once, and never what a stale controller or another incarnation
 *	  ordered;
 *	- NEVER is said only of runs that did not start and never will;
 *	- an end that is told happened, with that exit code, whoever asks and how often;
 *	- once nothing is lost any more, every run ends, is acknowledged and leaves no record; what
 *	  was lost with its node's incarnation is known to be over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "noded/net/convert_messages.h"
#include "noded/sim/sim_launcher.h"
#include "testsuite/unit/lib/amount.h"

enum { STEPS = 1500, RUNS = 120, QUEUE = 256 };

#define STALE_JOBS 1000 /* jobs from here on are ordered by a controller that is not in charge */
#define WRONG_JOBS 2000 /* from here on: in the name of another incarnation */

struct message {
	bool to_agent;
	uint64_t session;
	unsigned type;
	uint8_t *bytes;
	size_t len;
};

struct model_run {
	bool ordered, final, never, gone;
	unsigned started, ended;
	bool here; /* the Register at hand names it */
	uint32_t true_exit, told_exit;
};

struct world {
	uint64_t seed, random;
	struct agent *agent;
	struct sim_launcher *launcher;
	struct convert *convert;
	struct clocks now;
	struct message queue[QUEUE];
	size_t n_queue;
	bool faults;
	/* the model of the controller */
	uint64_t session, next_session, epoch;
	bool session_up, registered, stale;
	struct model_run runs[RUNS + 1]; /* by job */
	uint64_t next_job, next_bad;
	unsigned boots;
	char incarnation[32], known[32]; /* as it is, and as it registered last */
};

static uint64_t chance(struct world *w, uint64_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (w->random >> 11) % below;
}

#define demand(w, what)                                                                           \
	do {                                                                                      \
		if (!(what))                                                                      \
			fail_msg("seed %llu: line %d: not so: %s", (unsigned long long)(w)->seed, \
			        __LINE__, #what);                                                 \
	} while (0)

/* --- the truth: what ran --------------------------------------------------------------------- */

static void on_fact(void *arg, const struct run_report *report, struct clocks now)
{
	struct world *w = arg;
	struct model_run *run;

	(void)now;
	demand(w, report->run.job <= RUNS);
	run = &w->runs[report->run.job];
	if (report->state == REPORT_STARTING) {
		run->started++;
		demand(w, run->started == 1);
		demand(w, !run->never);
	} else {
		run->ended++;
		demand(w, run->started == 1 && run->ended == 1);
		run->true_exit = report->exit_code;
	}
}

/* --- messages as bytes ----------------------------------------------------------------------- */

static void post(
        struct world *w, bool to_agent, uint64_t session, unsigned type, const ProtobufCMessage *m)
{
	struct message *msg;

	if (w->n_queue == QUEUE) /* the network is full: lost */
		return;
	msg = &w->queue[w->n_queue++];
	*msg = (struct message){ .to_agent = to_agent, .session = session, .type = type };
	msg->len = protobuf_c_message_get_packed_size(m);
	msg->bytes = malloc(msg->len + 1);
	assert_non_null(msg->bytes);
	protobuf_c_message_pack(m, msg->bytes);
}

static const ProtobufCMessageDescriptor *descriptor(unsigned type)
{
	switch (type) {
	case GPUSCHED__MSG_TYPE__MSG_REGISTER:
		return &gpusched__register__descriptor;
	case GPUSCHED__MSG_TYPE__MSG_RUN_REPORT:
		return &gpusched__run_report__descriptor;
	case GPUSCHED__MSG_TYPE__MSG_HEARTBEAT:
		return &gpusched__heartbeat__descriptor;
	case GPUSCHED__MSG_TYPE__MSG_REGISTERED:
		return &gpusched__registered__descriptor;
	case GPUSCHED__MSG_TYPE__MSG_START_RUN:
		return &gpusched__start_run__descriptor;
	case GPUSCHED__MSG_TYPE__MSG_END_RUN:
		return &gpusched__end_run__descriptor;
	case GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN:
		return &gpusched__signal_run__descriptor;
	case GPUSCHED__MSG_TYPE__MSG_SUSPEND_RUN:
		return &gpusched__suspend_run__descriptor;
	default:
		return &gpusched__forget_run__descriptor;
	}
}

/* --- the agent ------------------------------------------------------------------------------- */

static const struct node_facts facts = { .node = "n1", .version = "test", .cpus = 4, .mem_mb = 64 };

static void agent_event(struct world *w, const struct agent_event *event)
{
	const struct agent_effect *effects;
	struct error err;
	size_t n;

	agent_apply(w->agent, event, w->now);
	effects = agent_effects(w->agent, &n);
	for (size_t i = 0; i < n; i++) {
		const struct agent_effect *e = &effects[i];
		const ProtobufCMessage *m;
		unsigned type;

		if (e->kind == AGENT_CLOSE_SESSION) {
			demand(w, e->session == w->session);
			w->session_up = false;
		} else if (e->kind >= AGENT_TELL_START && e->kind <= AGENT_TELL_EPOCH) {
			demand(w, e->kind == AGENT_TELL_EPOCH || !w->stale);
			sim_launcher_tell(w->launcher, e, w->now);
		} else if ((m = convert_effect(w->convert, e, &facts, &type))) {
			demand(w, e->session == w->session);
			post(w, false, e->session, type, m);
		}
	}
	agent_effects_clear(w->agent);
	convert_clear(w->convert);
	if (agent_check(w->agent, &err) < 0)
		fail_msg("seed %llu: %s", (unsigned long long)w->seed, err.text);
}

static void launcher_speaks(struct world *w, bool all)
{
	struct agent_event event;

	while (sim_launcher_next(w->launcher, &event, w->now)) {
		agent_event(w, &event);
		if (!all)
			break;
	}
}

/* --- the controller -------------------------------------------------------------------------- */

static void send_start(struct world *w, uint64_t job, uint64_t epoch, const char *incarnation)
{
	Gpusched__StartRun m = GPUSCHED__START_RUN__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT;
	Gpusched__KeyValue label = GPUSCHED__KEY_VALUE__INIT, *labels[] = { &label };
	char value[32];

	snprintf(value, sizeof(value), "%u:%u", (unsigned)chance(w, 30), (unsigned)(job & 0xff));
	label.key = (char *)"sim";
	label.value = value;
	id.job = job;
	id.attempt = 1;
	m.run = &id;
	m.epoch = epoch;
	m.incarnation = (char *)incarnation;
	m.labels = labels;
	m.n_labels = 1;
	post(w, true, w->session, GPUSCHED__MSG_TYPE__MSG_START_RUN, &m.base);
}

static void send_end(struct world *w, uint64_t job, uint64_t epoch)
{
	Gpusched__EndRun m = GPUSCHED__END_RUN__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT;

	id.job = job;
	id.attempt = 1;
	m.run = &id;
	m.epoch = epoch;
	m.cause = GPUSCHED__END_CAUSE__CAUSE_CANCEL;
	post(w, true, w->session, GPUSCHED__MSG_TYPE__MSG_END_RUN, &m.base);
}

static void send_forget(struct world *w, uint64_t job)
{
	Gpusched__ForgetRun m = GPUSCHED__FORGET_RUN__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT, *ids[] = { &id };

	id.job = job;
	id.attempt = 1;
	m.runs = ids;
	m.n_runs = 1;
	post(w, true, w->session, GPUSCHED__MSG_TYPE__MSG_FORGET_RUN, &m.base);
}

static void take_report(struct world *w, const Gpusched__RunReport *r)
{
	struct model_run *run;

	if (r->run->job > RUNS) { /* refused, and nothing else */
		demand(w, r->state == GPUSCHED__RUN_REPORT__STATE__NEVER);
		if (!w->stale)
			send_forget(w, r->run->job);
		return;
	}
	run = &w->runs[r->run->job];
	demand(w, run->ordered);
	run->here = true;
	if (r->state == GPUSCHED__RUN_REPORT__STATE__NEVER) {
		demand(w, run->started == 0);
		run->final = run->never = true;
	} else if (r->state == GPUSCHED__RUN_REPORT__STATE__ENDED) {
		demand(w, run->ended == 1 && !run->never);
		demand(w, r->exit_code == run->true_exit);
		run->final = true;
	} else {
		demand(w, run->started == 1 && !run->never);
	}
	if (run->final && !w->stale)
		send_forget(w, r->run->job);
}

static void send_registered(struct world *w)
{
	Gpusched__Registered m = GPUSCHED__REGISTERED__INIT;
	Gpusched__RunId ids[RUNS], *wanted[RUNS];

	for (uint64_t job = 1; job <= RUNS; job++) {
		if (!w->runs[job].ordered || w->runs[job].final)
			continue;
		gpusched__run_id__init(&ids[m.n_wanted]);
		ids[m.n_wanted].job = job;
		ids[m.n_wanted].attempt = 1;
		wanted[m.n_wanted] = &ids[m.n_wanted];
		m.n_wanted++;
	}
	m.wanted = wanted;
	m.epoch = w->stale ? w->epoch - 1 : w->epoch;
	m.heartbeat_ms = 5000;
	post(w, true, w->session, GPUSCHED__MSG_TYPE__MSG_REGISTERED, &m.base);
	w->registered = true;
}

/* Another incarnation: what it has no record of is over, whether it ever ran or not. */
static void node_was_down(struct world *w, const char *incarnation)
{
	for (uint64_t job = 1; job <= RUNS; job++) {
		struct model_run *run = &w->runs[job];

		if (run->ordered && !run->final && !run->here)
			run->final = run->gone = true;
	}
	snprintf(w->known, sizeof(w->known), "%s", incarnation);
}

static void controller_takes(struct world *w, const struct message *msg, const ProtobufCMessage *m)
{
	const Gpusched__Register *reg = (const Gpusched__Register *)m;

	if (!w->session_up || msg->session != w->session)
		return;
	if (msg->type == GPUSCHED__MSG_TYPE__MSG_REGISTER) {
		demand(w, strcmp(reg->node, "n1") == 0 && reg->cpus == 4);
		for (uint64_t job = 1; job <= RUNS; job++)
			w->runs[job].here = false;
		for (size_t i = 0; i < reg->n_runs; i++)
			take_report(w, reg->runs[i]);
		if (!w->stale && strcmp(reg->incarnation, w->known) != 0)
			node_was_down(w, reg->incarnation);
		send_registered(w);
	} else if (msg->type == GPUSCHED__MSG_TYPE__MSG_RUN_REPORT && w->registered) {
		take_report(w, (const Gpusched__RunReport *)m);
	}
}

static void controller_acts(struct world *w)
{
	uint64_t job = 1 + chance(w, RUNS);

	if (!w->session_up || !w->registered)
		return;
	if (w->stale) {
		send_start(w, STALE_JOBS + w->next_bad++, w->epoch - 1, w->incarnation);
		send_end(w, job, w->epoch - 1);
		send_forget(w, job);
	} else if (chance(w, 20) == 0) {
		send_start(w, WRONG_JOBS + w->next_bad++, w->epoch, "boot-wrong");
	} else if (chance(w, 3) == 0 && w->runs[job].ordered && !w->runs[job].final) {
		send_end(w, job, w->epoch);
	} else if (w->next_job <= RUNS) {
		w->runs[w->next_job].ordered = true;
		send_start(w, w->next_job++, w->epoch, w->incarnation);
	}
}

/* --- the network ----------------------------------------------------------------------------- */

static void remove_message(struct world *w, size_t i)
{
	free(w->queue[i].bytes);
	memmove(&w->queue[i], &w->queue[i + 1], (--w->n_queue - i) * sizeof(*w->queue));
}

static void deliver(struct world *w)
{
	struct message msg;
	ProtobufCMessage *m;
	size_t i = 0;
	bool again = false;

	if (!w->n_queue)
		return;
	if (w->faults) {
		i = chance(w, 4) ? 0 : chance(w, w->n_queue);
		if (chance(w, 20) == 0) {
			remove_message(w, i);
			return;
		}
		again = chance(w, 10) == 0;
	}
	msg = w->queue[i];
	m = protobuf_c_message_unpack(descriptor(msg.type), NULL, msg.len, msg.bytes);
	assert_non_null(m);
	if (again) {
		msg.bytes = malloc(msg.len + 1);
		memcpy(msg.bytes, w->queue[i].bytes, msg.len);
	} else {
		w->queue[i].bytes = NULL;
		remove_message(w, i);
	}
	if (msg.to_agent) {
		struct agent_event event;
		struct convert *c = convert_new();

		demand(w, convert_event(c, msg.type, m, msg.session, &event, NULL) == 0);
		agent_event(w, &event);
		convert_free(c);
	} else {
		controller_takes(w, &msg, m);
	}
	protobuf_c_message_free_unpacked(m, NULL);
	free(msg.bytes);
}

static void session_breaks(struct world *w)
{
	struct agent_event gone = { .kind = AGENT_SESSION_GONE, .session = w->session };

	if (w->session_up && chance(w, 2))
		agent_event(w, &gone); /* else it notices when the next one is up */
	w->session_up = false;
}

static void session_opens(struct world *w, bool stale)
{
	struct agent_event up = { .kind = AGENT_SESSION_UP };
	struct agent_stats stats;

	/* Only who has seen the newer epoch can tell. */
	agent_stats(w->agent, &stats);
	stale = stale && stats.max_epoch >= w->epoch;
	/* Some messages of the old session are still under way. */
	for (size_t i = w->n_queue; i-- > 0;) {
		if (chance(w, 2))
			remove_message(w, i);
	}
	agent_event(w, &(struct agent_event){ .kind = AGENT_SESSION_GONE, .session = w->session });
	w->session = up.session = ++w->next_session;
	w->session_up = true;
	w->registered = false;
	w->stale = stale;
	agent_event(w, &up);
}

/* --- faults ---------------------------------------------------------------------------------- */

static void agent_restarts(struct world *w)
{
	agent_free(w->agent);
	w->agent = agent_new();
	w->session_up = false;
	sim_launcher_restart(w->launcher);
}

static void launcher_restarts(struct world *w)
{
	agent_event(w, &(struct agent_event){ .kind = AGENT_LAUNCHER_GONE });
	sim_launcher_restart(w->launcher);
}

static void node_reboots(struct world *w)
{
	agent_restarts(w);
	snprintf(w->incarnation, sizeof(w->incarnation), "boot-%u", ++w->boots);
	sim_launcher_reboot(w->launcher, w->incarnation, w->now);
}

static void step(struct world *w)
{
	uint64_t dice = chance(w, 1000);

	if (dice < 500)
		deliver(w);
	else if (dice < 700)
		launcher_speaks(w, false);
	else if (dice < 850)
		controller_acts(w);
	else if (dice < 950)
		w->now.mono += (usec_t)chance(w, 8000000);
	else if (dice < 970)
		session_breaks(w);
	else if (dice < 972)
		agent_restarts(w);
	else if (dice < 974)
		launcher_restarts(w);
	else if (dice < 975)
		node_reboots(w);
	else if (dice < 977 && !w->session_up)
		w->epoch++; /* a new controller takes charge */
	else if (!w->session_up)
		session_opens(w, w->epoch > 1 && chance(w, 8) == 0);
	agent_event(w, &(struct agent_event){ .kind = AGENT_CLOCK });
}

/* Nothing is lost any more: everything must come to its end. */
static void settle(struct world *w)
{
	w->faults = false;
	w->epoch++;
	launcher_speaks(w, true);
	session_breaks(w);
	session_opens(w, false);
	for (int round = 0; round < 60; round++) {
		while (w->n_queue)
			deliver(w);
		launcher_speaks(w, true);
		if (round == 20) {
			for (uint64_t job = 1; job <= RUNS; job++) {
				if (w->runs[job].ordered && !w->runs[job].final)
					send_end(w, job, w->epoch);
			}
		}
		w->now.mono += 2000000;
		agent_event(w, &(struct agent_event){ .kind = AGENT_CLOCK });
	}
}

static void judge(struct world *w, struct agent_stats *stats)
{
	agent_stats(w->agent, stats);
	for (uint64_t job = 1; job <= RUNS; job++) {
		const struct model_run *run = &w->runs[job];

		demand(w, !run->ordered || run->final);
		demand(w, !run->ordered || run->gone || run->never == !run->started);
		demand(w, run->started == run->ended);
	}
	demand(w, sim_launcher_records(w->launcher) == 0);
	for (int state = 0; state < AGENT_RUN_STATES; state++)
		demand(w, state == AGENT_RUN_FORGOTTEN || stats->runs[state] == 0);
}

/* What the seeds did together: a test in which nothing happens proves nothing. */
struct tally {
	unsigned started, never, ignored;
};

static void play_seed(uint64_t seed, struct tally *tally)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct sim_world sim_world = { .fact = on_fact, .arg = w };
	struct agent_stats stats;

	assert_non_null(w);
	w->seed = seed;
	w->random = seed * 0x9e3779b97f4a7c15u + 1;
	w->now = (struct clocks){ .wall = 1000000, .mono = 1 };
	w->epoch = w->next_job = 1;
	w->faults = true;
	snprintf(w->incarnation, sizeof(w->incarnation), "boot-0");
	w->agent = agent_new();
	w->convert = convert_new();
	w->launcher = sim_launcher_new(w->incarnation, &sim_world);
	for (int i = 0; i < STEPS; i++)
		step(w);
	agent_stats(w->agent, &stats);
	tally->ignored += (unsigned)stats.orders_ignored;
	settle(w);
	judge(w, &stats);
	for (uint64_t job = 1; job <= RUNS; job++) {
		tally->started += w->runs[job].started;
		tally->never += w->runs[job].never;
	}
	while (w->n_queue)
		remove_message(w, 0);
	sim_launcher_free(w->launcher);
	convert_free(w->convert);
	agent_free(w->agent);
	free(w);
}

static void whatever_happens(void **state)
{
	struct tally tally = { 0 };
	uint64_t seeds = amount("AGENT_SEEDS", 400);

	(void)state;
	for (uint64_t seed = 1; seed <= seeds; seed++)
		play_seed(seed, &tally);
	print_message("%lu seeds: %u runs started, %u never, %u orders ignored\n", seeds,
	        tally.started, tally.never, tally.ignored);
	assert_true(tally.started > 20 * seeds && tally.never > seeds && tally.ignored > seeds);
}

static uint64_t one_seed;

static void one(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	play_seed(one_seed, &tally);
	print_message("%u runs started, %u never\n", tally.started, tally.never);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest all[] = { cmocka_unit_test(whatever_happens) };
	const struct CMUnitTest single[] = { cmocka_unit_test(one) };

	if (argc > 1) {
		one_seed = strtoull(argv[1], NULL, 10);
		return cmocka_run_group_tests(single, NULL, NULL);
	}
	return cmocka_run_group_tests(all, NULL, NULL);
}
