/* faultsim.c - the fault simulation: one seed, one history
 *
 * usage: faultsim [--seeds N] [--first N | --seed N] [--twice] [--restored] [--forgetful]
 *	[--boundless] [--verbose]
 *
 * In every other seed nodes find their GPUs, which fail and come back, and jobs share them; some
 * borrow memory beyond their part, and others come for it.
 *
 * For each seed: a cluster of a few nodes and users in virtual time, and a mix of faults that the
 * seed chooses: the controller killed, its power cut, agents killed, nodes rebooted, links broken
 * and stalled, messages late and twice, clocks that jump. Then the faults stop, everything is
 * started, and the checker judges what was promised. Each seed is run twice where --twice says so:
 * the same history must come out. With --restored the controller loses its state while things go
 * wrong, gets back a backup of some minutes before, and takes over; the checker judges what it
 * accounts for (I28). With --forgetful the first node has a bug: it never tells that a
 * run has ended, and the checker must see that it and the controller differ; with --boundless it
 * takes its GPUs' memory for endless, and asks nobody to give back what he has borrowed. Exits 1 at
 * the first violation, with the seed.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "testsuite/sim/client.h"
#include "testsuite/sim/controller.h"
#include "testsuite/sim/engine.h"
#include "testsuite/sim/fake_munge.h"
#include "testsuite/sim/fault_vfs.h"
#include "testsuite/sim/faults.h"
#include "testsuite/sim/gpus.h"
#include "testsuite/sim/node.h"
#include "testsuite/sim/owners.h"
#include "testsuite/sim/step_managers.h"
#include "testsuite/sim/totals.h"

#define NODES           4
#define CLIENTS         3
#define OWNERS          2 /* of services */
#define SERVICES_EVERY  11 /* seeds: they commit twice as often as others */
#define CONTROLLER_UID  500
#define VFS_NAME        "faultsim"
#define SEEDS_THAT_TELL 20           /* among so many there are gangs of every fate */
#define FAULTY          (600 * SEC)  /* for so long things go wrong */
#define BACKUP          (100 * SEC)  /* a backup is made by then; after as much it is used */
#define LOOKS           SEC          /* so often both ends are asked for their runs */
#define CALM            (3600 * SEC) /* and for so long at most the cluster has to finish */

static const char conf_text[] =
        "cluster = \"sim\";\n"
        "controller = { host = \"sim\"; node_timeout = \"40s\"; heartbeat = \"10s\"; "
        "keep_ended = \"1d\"; max_steps = %d; %s %s };\n"
        "gpu_types = ( { name = \"a\"; mem = \"80G\"; }, { name = \"b\"; mem = \"40G\"; %s } );\n"
        "node_defaults = { %s };\n"
        "nodes = ( { name = \"n[1-3]\"; cpus = 8; gpus = \"a:4\"; }, "
        "{ name = \"n4\"; cpus = 8; gpus = \"a:2,b:2\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; services = true; "
        "grace = \"2s\"; preempt_mode = \"%s\"; }, "
        "{ name = \"some\"; nodes = \"n[1-3]\"; grace = \"2s\"; "
        "preempt_mode = \"%s\"; } );\n"
        "%s";

/* Of the first service the kept replicas are guaranteed, and jobs of others stop the rest. Those
 * jobs have the highest QOS, so nothing else is ever preempted. */
static const char qos_text[] =
        "accounts = ( { name = \"lab\"; members = [ \"*\" ]; },\n"
        "  { name = \"serving\"; members = [ \"*\" ]; quota = { guaranteed = \"a:8\"; }; } );\n"
        "qos = ( { name = \"urgent\"; default = true; preempts = [ \"scavenger\" ]; },\n"
        "  { name = \"steady\"; }, { name = \"scavenger\"; min_run = \"0s\"; } );\n";

/* How bad the world is; chosen by the seed. */
struct mix {
	struct fault_means means;
	bool fence, signatures_age, services;
	unsigned suspend_ppm; /* of the jobs are suspended for a while */
	unsigned steps_ppm;   /* of their attempts have steps */
	usec_t pause;         /* of clients, at most */
	struct workload_mix work;
	struct link_faults links;
};

struct sim {
	struct engine *engine;
	struct checker *checker;
	struct conf *conf;
	struct fake_munge *munge;
	struct fault_vfs *vfs;
	struct mcred_ops *client_mcred[CLIENTS], *controller_mcred, *node_mcred;
	struct sim_controller *controller;
	struct sim_node *nodes[NODES];
	struct sim_client *clients[CLIENTS];
	struct step_managers *steps;
	struct owners *owners;
	struct mcred_ops *owner_mcred[OWNERS];
	struct mix mix;
	struct faults faults;
	bool has_gpus, forgetful, boundless, backed_up;
	uint64_t heard[NODES]; /* over this link, at the last look */
	char node_keys[200];
	const char *preempt_mode;
};

static struct mix mix_choose(struct engine *e)
{
	struct mix m = { .links = { .delay_low = 50, .delay_high = 20 * MS } };

	m.means.kill = engine_chance(e, 700000) ? engine_between(e, 2 * SEC, 60 * SEC) : 0;
	m.means.power = engine_chance(e, 400000) ? engine_between(e, 10 * SEC, 100 * SEC) : 0;
	m.means.agent = engine_chance(e, 600000) ? engine_between(e, 2 * SEC, 40 * SEC) : 0;
	m.means.reboot = engine_chance(e, 400000) ? engine_between(e, 20 * SEC, 200 * SEC) : 0;
	m.means.stall = engine_chance(e, 400000) ? engine_between(e, 5 * SEC, 60 * SEC) : 0;
	m.means.jump = engine_chance(e, 300000) ? engine_between(e, 20 * SEC, 100 * SEC) : 0;
	m.fence = engine_chance(e, 300000);
	m.pause = 10 * SEC;
	m.signatures_age = !m.means.jump && engine_chance(e, 500000);
	m.suspend_ppm = engine_chance(e, 600000) ? 300000 : 0;
	m.work = (struct workload_mix){ .max_gpus = 4,
		.max_nodes = NODES,
		.gang_ppm = engine_chance(e, 700000) ? 400000 : 0,
		.array_ppm = engine_chance(e, 700000) ? 200000 : 0,
		.bulk_ppm = engine_chance(e, 600000) ? 100000 : 0,
		.wait_ppm = engine_chance(e, 600000) ? 400000 : 0,
		.again_ppm = engine_chance(e, 600000) ? 300000 : 0,
		.limit_ppm = 100000,
		.clocks_jump = m.means.jump != 0 };
	m.steps_ppm = engine_chance(e, 700000) ? 300000 : 0;
	m.links.twice_ppm = engine_chance(e, 500000) ? 50000 : 0;
	m.links.break_ppm = engine_chance(e, 500000) ? 20000 : 0;
	if (engine_chance(e, 200000))
		m.links.delay_high = 2 * SEC;
	return m;
}

/* What is found of GPUs, what they do, and who has them. Drawn after all else. */
static void mix_gpus(struct sim *s)
{
	static const char *const jobs[] = { "run", "requeue", "end" };
	static const char *const share[] = { "no", "watch", "mps", "watch" };
	struct engine *e = s->engine;
	uint64_t how = engine_below(e, 4);

	snprintf(s->node_keys, sizeof(s->node_keys),
	        "health_jobs = \"%s\"; health_recheck = \"60s\"; health_events = %s; "
	        "share = \"%s\"; share_users = \"%s\";",
	        jobs[engine_below(e, 3)], SIM_GPUS_EVENTS, share[how], how == 3 ? "one" : "any");
	s->mix.means.gpu = engine_chance(e, 800000) ? engine_between(e, SEC, 40 * SEC) : 0;
	s->mix.work.part_ppm = how ? 600000 : 0;
	s->preempt_mode = engine_chance(e, 700000) ? "requeue" : "cancel";
	/* Many at a time, so that what is borrowed of a card is needed by somebody. */
	if (how && engine_chance(e, 500000)) {
		s->mix.pause = 2 * SEC;
		s->mix.work.part_ppm = 950000;
		s->mix.work.max_gpus = 2;
	}
	s->mix.work.type = "b";
}

/* Munge tells the time too. */
static void clock_goes(void *arg, void **own)
{
	struct sim *s = arg;

	(void)own;
	fake_munge_set_time(s->munge, engine_now(s->engine).wall / SEC);
	engine_at(s->engine, SEC, clock_goes, s, NULL);
}

/* --- one seed --------------------------------------------------------------------------------- */

static uint64_t connect_node(void *arg, unsigned node, const struct link_ops *ops, void *owner)
{
	struct sim *s = arg;

	return sim_controller_connect(s->controller, (int)node, 0, ops, owner);
}

static void make_munge(struct sim *s)
{
	s->munge = fake_munge_new(1);
	fake_munge_set_time(s->munge, engine_now(s->engine).wall / SEC);
	s->controller_mcred = fake_munge_client(s->munge, CONTROLLER_UID, CONTROLLER_UID);
	s->node_mcred = fake_munge_client(s->munge, 0, 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		s->client_mcred[i] = fake_munge_client(s->munge, 1000 + i, 1000 + i);
	for (unsigned i = 0; i < OWNERS; i++)
		s->owner_mcred[i] = fake_munge_client(s->munge, 2000 + i, 2000 + i);
	clock_goes(s, NULL);
}

static void make_nodes(struct sim *s)
{
	for (unsigned i = 0; i < NODES; i++) {
		struct sim_node_options o = { .engine = s->engine,
			.checker = s->checker,
			.index = i,
			.name = s->conf->nodes[i].name,
			.cluster = s->conf->cluster,
			.cpus = 8,
			.mem_mb = 65536,
			.mcred = s->node_mcred,
			.connect = connect_node,
			.arg = s,
			.run_low = 10 * MS,
			.run_high = engine_between(s->engine, SEC, 30 * SEC),
			.ignores_term_ppm = 200000,
			.steps = s->steps,
			.forgetful = s->forgetful && !i,
			.boundless = s->boundless && !i,
			.conf = s->has_gpus ? s->conf : NULL };

		s->nodes[i] = sim_node_new(&o);
		sim_node_start(s->nodes[i]);
	}
}

static void make_steps(struct sim *s)
{
	s->steps = step_managers_new(&(struct step_managers_options){ .engine = s->engine,
	        .checker = s->checker,
	        .controller = s->controller,
	        .ppm = s->mix.steps_ppm,
	        .hostile_ppm = 50000,
	        .impatient_ppm = 100000 });
}

static void make_clients(struct sim *s, unsigned jobs)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct sim_client_options o = { .engine = s->engine,
			.checker = s->checker,
			.controller = s->controller,
			.cluster = s->conf->cluster,
			.uid = 1000 + i,
			.mcred = s->client_mcred[i],
			.jobs = jobs,
			.mix = s->mix.work,
			.pause_low = MS,
			.pause_high = s->mix.pause,
			.cancel_ppm = 150000,
			.requeue_ppm = 50000,
			.suspend_ppm = s->mix.suspend_ppm,
			.resign_ppm = s->mix.signatures_age ? 100000 : 0 };

		s->clients[i] = sim_client_new(&o);
		sim_client_start(s->clients[i]);
	}
}

static void make_owners(struct sim *s)
{
	s->owners = owners_new(&(struct owners_options){ .engine = s->engine,
	        .checker = s->checker,
	        .controller = s->controller,
	        .cluster = s->conf->cluster,
	        .n = s->mix.services ? OWNERS : 0,
	        .first_uid = 2000,
	        .mcred = s->owner_mcred,
	        .pause = 20 * SEC });
}

static void fail(uint64_t seed, const char *what)
{
	fprintf(stderr, "faultsim: seed %" PRIu64 ": %s\n", seed, what);
	exit(1);
}

static void sim_make(struct sim *s, uint64_t seed, const char *dir)
{
	struct conf_problems problems = { NULL, 0 };
	char text[2048];

	s->has_gpus = seed % 2 == 0;
	s->engine = engine_new(seed);
	s->checker = checker_new();
	s->vfs = fault_vfs_new(VFS_NAME, seed);
	s->mix = mix_choose(s->engine);
	s->preempt_mode = "off";
	if (s->has_gpus)
		mix_gpus(s);
	s->mix.work.wordy = seed % 5 == 1;
	s->mix.services = seed % SERVICES_EVERY == 0;
	snprintf(text, sizeof(text), conf_text, STEP_MANAGERS_MAX_STEPS,
	        s->mix.fence ? "fence = \"/sbin/fence\";" : "",
	        s->mix.signatures_age ? "signature_age = \"5m\";" : "",
	        s->has_gpus ? "mig_of = \"a\";" : "", s->node_keys, s->preempt_mode,
	        s->preempt_mode, s->mix.services ? qos_text : "");
	s->conf = conf_parse(text, "faultsim.conf", &problems);
	if (!s->conf)
		fail(seed, problems.v[0].text);
	conf_problems_clear(&problems);
	checker_say(s->checker, "reclaims %s", s->preempt_mode);
	make_munge(s);
	s->faults = (struct faults){ .engine = s->engine,
		.munge = s->munge,
		.nodes = s->nodes,
		.n_nodes = NODES,
		.means = s->mix.means,
		.on = true };
	s->controller = sim_controller_new(&(struct sim_controller_options){ .engine = s->engine,
	        .checker = s->checker,
	        .conf = s->conf,
	        .dir = dir,
	        .vfs_name = VFS_NAME,
	        .vfs = s->vfs,
	        .mcred = s->controller_mcred,
	        .commit_low = 100,
	        .commit_high = 20 * MS,
	        .faults = s->mix.links,
	        .services = s->mix.services,
	        .fence = faults_fence,
	        .arg = &s->faults });
	s->faults.controller = s->controller;
	checker_say(s->checker, "maxsteps %d", STEP_MANAGERS_MAX_STEPS);
	sim_controller_start(s->controller);
	make_steps(s);
	make_nodes(s);
	make_owners(s);
	make_clients(s, (unsigned)engine_between(s->engine, 5, 40));
}

static void sim_free(struct sim *s)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		sim_client_free(s->clients[i]);
	for (unsigned i = 0; i < NODES; i++)
		sim_node_free(s->nodes[i]);
	step_managers_free(s->steps);
	owners_free(s->owners);
	sim_controller_free(s->controller);
	fault_vfs_free(s->vfs);
	for (unsigned i = 0; i < CLIENTS; i++)
		mcred_ops_free(s->client_mcred[i]);
	for (unsigned i = 0; i < OWNERS; i++)
		mcred_ops_free(s->owner_mcred[i]);
	mcred_ops_free(s->controller_mcred);
	mcred_ops_free(s->node_mcred);
	fake_munge_free(s->munge);
	conf_free(s->conf);
	engine_free(s->engine);
	checker_free(s->checker);
}

static bool all_done(const struct sim *s)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		if (!sim_client_is_done(s->clients[i]))
			return false;
	}
	return owners_are_done(s->owners);
}

static bool all_ended(const struct sim *s)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		if (!sim_client_all_ended(s->clients[i]))
			return false;
	}
	return true;
}

/* Is every GPU given to jobs again? */
static bool all_well(struct sim *s)
{
	bool well = true;

	for (unsigned i = 0; i < NODES && s->has_gpus; i++) {
		if (!sim_controller_kept(s->controller, i))
			continue;
		faults_resume(&s->faults, i);
		well = false;
	}
	return well;
}

/* --- do they agree? --------------------------------------------------------------------------- */

/* The node hears the controller over this link and it the node; 0: over none. */
static uint64_t heard_over(const struct sim *s, unsigned i)
{
	uint64_t link = sim_node_link(s->nodes[i]);

	if (!sim_node_is_registered(s->nodes[i]) || !link_flows(s->engine, link))
		return 0;
	return sim_controller_hears(s->controller, link) ? link : 0;
}

/* At any time, whatever went wrong before: what the two say of their runs. */
static void look(void *arg, void **own)
{
	struct sim *s = arg;

	(void)own;
	if (sim_controller_is_up(s->controller)) {
		sim_controller_tell_steps(s->controller);
		sim_controller_tell_services(s->controller);
	}
	for (unsigned i = 0; i < NODES; i++) {
		const char *name = s->conf->nodes[i].name;
		int64_t now = engine_now(s->engine).mono;
		uint64_t link = heard_over(s, i);

		if (s->heard[i] && link != s->heard[i])
			checker_say(s->checker, "parted %s", name);
		if (link && link != s->heard[i])
			checker_say(s->checker, "contact %s %" PRId64, name, now);
		s->heard[i] = link;
		if (!link)
			continue;
		sim_controller_tell_runs(s->controller, i);
		sim_node_tell_runs(s->nodes[i]);
		checker_say(s->checker, "looked %s %" PRId64, name, now);
	}
	engine_at(s->engine, LOOKS, look, s, NULL);
}

/* Everything up and repaired, no more faults. */
static void heal(struct sim *s)
{
	s->faults.on = false;
	sim_controller_start(s->controller);
	for (unsigned i = 0; i < NODES; i++) {
		sim_node_start(s->nodes[i]);
		sim_node_gpus_heal(s->nodes[i]);
	}
}

/* --- a restore -------------------------------------------------------------------------------- */

static void back_up(void *arg, void **own)
{
	struct sim *s = arg;

	(void)own;
	s->backed_up = sim_controller_back_up(s->controller);
	if (s->backed_up)
		checker_say(s->checker, "copied");
	else
		engine_at(s->engine, SEC, back_up, s, NULL);
}

/* While the clients have most to do. What a node has records of then it has to tell of. */
static void restore(struct sim *s)
{
	engine_at(s->engine, engine_between(s->engine, 0, BACKUP), back_up, s, NULL);
	do
		engine_run(s->engine, engine_now(s->engine).mono +
		                              engine_between(s->engine, SEC, BACKUP));
	while (!s->backed_up);
	checker_say(s->checker, "restored");
	for (unsigned i = 0; i < NODES; i++)
		sim_node_tell_owed(s->nodes[i]);
	for (unsigned i = 0; i < CLIENTS; i++)
		sim_client_stop(s->clients[i]);
	owners_halt(s->owners);
	sim_controller_restore(s->controller);
	heal(s);
	engine_run(s->engine, engine_now(s->engine).mono + FAULTY);
	sim_controller_flush(s->controller);
	sim_controller_tell_kept_steps(s->controller);
	checker_say(s->checker, "quiet");
}

/* Look until all has ended. */
static void calm(struct sim *s)
{
	usec_t end = engine_now(s->engine).mono + CALM;

	heal(s);
	owners_finish(s->owners);
	while (engine_now(s->engine).mono < end) {
		bool well;

		engine_run(s->engine, engine_now(s->engine).mono + 60 * SEC);
		well = all_well(s);
		if (!all_done(s))
			continue;
		if (all_ended(s) && well)
			break;
		for (unsigned i = 0; i < CLIENTS; i++)
			sim_client_look(s->clients[i]);
	}
	for (unsigned i = 0; i < NODES && s->has_gpus; i++)
		checker_say(s->checker, "kept %s %" PRIx64, s->conf->nodes[i].name,
		        sim_controller_kept(s->controller, i));
	sim_controller_flush(s->controller);
	sim_controller_tell_kept_steps(s->controller);
	checker_say(s->checker, "quiet");
}

/* What is not so in each history: bugs of the first node, for the checker to find; a restore. */
struct bugs {
	bool forgetful, boundless, restored;
};

static void add_steps(const struct sim *s, struct totals *t)
{
	struct checker_steps judged = checker_steps(s->checker);

	step_managers_count(s->steps, &t->steps);
	t->judged.listed += judged.listed;
	t->judged.done += judged.done;
	t->judged.cut += judged.cut;
	t->judged.late += judged.late;
}

static uint64_t running; /* the seed, for say_seed() */

/* An assertion of the core has failed: which history was it? */
static void say_seed(int sig)
{
	fprintf(stderr, "faultsim: seed %" PRIu64 ": aborted\n", running);
	signal(sig, SIG_DFL);
	raise(sig);
}

static uint64_t run_seed(uint64_t seed, const char *dir, const struct bugs *bugs, struct totals *t)
{
	struct sim s = { .forgetful = bugs->forgetful, .boundless = bugs->boundless };
	struct sim_controller_stats stats;
	uint64_t hash;

	running = seed;
	sim_make(&s, seed, dir);
	faults_begin(&s.faults);
	checker_say(s.checker, "heartbeat %" PRId64, (int64_t)s.conf->controller.heartbeat_ms * MS);
	look(&s, NULL);
	if (bugs->restored) {
		restore(&s);
	} else {
		engine_run(s.engine, FAULTY);
		calm(&s);
	}
	hash = engine_trace_hash(s.engine);
	sim_controller_stats(s.controller, &stats);
	for (unsigned i = 0; i < CLIENTS; i++)
		sim_client_count(s.clients[i], &t->clients);
	t->faults += s.faults.count;
	t->facts += checker_facts(s.checker);
	t->whole += checker_gangs(s.checker, true);
	t->in_part += checker_gangs(s.checker, false);
	t->looks += checker_looks(s.checker);
	t->owed += checker_owed(s.checker);
	t->stops += checker_stops(s.checker);
	t->parts += checker_parts(s.checker);
	t->asked += checker_asked(s.checker);
	t->reclaimed += checker_reclaimed(s.checker);
	add_steps(&s, t);
	owners_count(s.owners, &t->owners);
	t->endpoints += checker_endpoints(s.checker);
	for (unsigned i = 0; i < NODES; i++)
		t->gpus += sim_node_gpu_faults(s.nodes[i]);
	t->commits += stats.commits;
	t->answers += stats.answers;
	t->restarts += stats.restarts;
	t->simulated_s += (uint64_t)(engine_now(s.engine).mono / SEC);
	if (checker_violations(s.checker)) {
		checker_print(s.checker, stderr);
		sim_controller_print(s.controller, stderr);
		for (unsigned i = 0; i < NODES; i++)
			sim_node_print(s.nodes[i], stderr);
		fail(seed, "promises were broken");
	}
	sim_free(&s);
	return hash;
}

int main(int argc, char **argv)
{
	uint64_t first = 1, n = 30;
	bool twice = false, verbose = false;
	struct bugs bugs = { false, false, false };
	struct totals t = { 0 };
	char dir[] = "/tmp/faultsim-XXXXXX";
	time_t start = time(NULL);

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--seeds") && i + 1 < argc)
			n = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--first") && i + 1 < argc)
			first = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			first = strtoull(argv[++i], NULL, 10), n = 1;
		else if (!strcmp(argv[i], "--twice"))
			twice = true;
		else if (!strcmp(argv[i], "--restored"))
			bugs.restored = true;
		else if (!strcmp(argv[i], "--forgetful"))
			bugs.forgetful = true;
		else if (!strcmp(argv[i], "--boundless"))
			bugs.boundless = true;
		else if (!strcmp(argv[i], "--verbose"))
			verbose = true;
		else {
			fprintf(stderr, "usage: faultsim [--seeds N] [--first N] [--seed N] "
			                "[--twice] [--restored] [--forgetful] [--boundless] [--verbose]\n");
			return 2;
		}
	}
	signal(SIGABRT, say_seed);
	if (!mkdtemp(dir))
		return 2;
	for (uint64_t seed = first; seed < first + n; seed++) {
		uint64_t hash = run_seed(seed, dir, &bugs, &t);

		if (verbose)
			printf("seed %" PRIu64 " %016" PRIx64 "\n", seed, hash);
		if (twice && run_seed(seed, dir, &bugs, &t) != hash)
			fail(seed, "the same seed gave another history");
	}
	rmdir(dir);
	totals_print(&t, first, n, (long)(time(NULL) - start));
	if (n >= SEEDS_THAT_TELL && !bugs.restored && !totals_tell(&t))
		fail(first,
		        "no gang ran, none was broken, no run suspended, no GPU shared or lost, "
		        "nothing borrowed and given back, no signature too old, no node heard for "
		        "long, there was no bulk or array, or no step of each fate: nothing was "
		        "shown");
	return 0;
}
