/* faults.c - see faults.h */
#include "testsuite/sim/faults.h"

#include <stddef.h>

#include "common/base/xalloc.h"

struct index {
	unsigned i;
};

static void again(struct faults *f, engine_fn *fn, usec_t mean)
{
	if (mean && f->on)
		engine_at(f->engine, engine_between(f->engine, mean / 10, mean * 2), fn, f, NULL);
}

static void start_controller(void *arg, void **own)
{
	struct faults *f = arg;

	(void)own;
	sim_controller_start(f->controller);
}

static void crash_controller(struct faults *f, bool power)
{
	f->count++;
	sim_controller_crash(f->controller, power);
	engine_at(f->engine, engine_between(f->engine, 100 * MS, 10 * SEC), start_controller, f,
	        NULL);
}

static void fault_kill(void *arg, void **own)
{
	struct faults *f = arg;

	(void)own;
	if (f->on)
		crash_controller(f, false);
	again(f, fault_kill, f->means.kill);
}

static void fault_power(void *arg, void **own)
{
	struct faults *f = arg;

	(void)own;
	if (f->on)
		crash_controller(f, true);
	again(f, fault_power, f->means.power);
}

static void start_node(void *arg, void **own)
{
	struct faults *f = arg;

	sim_node_start(f->nodes[((struct index *)*own)->i]);
}

static void start_node_later(struct faults *f, unsigned i, usec_t within)
{
	struct index *x = xcalloc(1, sizeof(*x));

	x->i = i;
	engine_at(f->engine, engine_between(f->engine, 100 * MS, within), start_node, f, x);
}

static void fault_agent(void *arg, void **own)
{
	struct faults *f = arg;
	unsigned i = (unsigned)engine_below(f->engine, f->n_nodes);

	(void)own;
	if (f->on) {
		f->count++;
		sim_node_kill_agent(f->nodes[i]);
		start_node_later(f, i, 20 * SEC);
	}
	again(f, fault_agent, f->means.agent);
}

static void fault_reboot(void *arg, void **own)
{
	struct faults *f = arg;
	unsigned i = (unsigned)engine_below(f->engine, f->n_nodes);

	(void)own;
	if (f->on) {
		f->count++;
		sim_node_reboot(f->nodes[i]);
		start_node_later(f, i, 120 * SEC);
	}
	again(f, fault_reboot, f->means.reboot);
}

static void fault_stall(void *arg, void **own)
{
	struct faults *f = arg;
	uint64_t link = sim_node_link(f->nodes[engine_below(f->engine, f->n_nodes)]);

	(void)own;
	if (f->on && link) {
		f->count++;
		link_stall(f->engine, link, engine_between(f->engine, SEC, 90 * SEC));
	}
	again(f, fault_stall, f->means.stall);
}

static void fault_gpu(void *arg, void **own)
{
	struct faults *f = arg;
	unsigned i = (unsigned)engine_below(f->engine, f->n_nodes);

	(void)own;
	if (f->on)
		sim_node_gpu_fails(f->nodes[i]);
	again(f, fault_gpu, f->means.gpu);
}

void faults_resume(struct faults *f, unsigned i)
{
	uint64_t gpus;

	if (!sim_controller_is_up(f->controller) || !sim_node_resume(f->nodes[i], &gpus))
		return;
	for (int g = 0; g < 64; g++) {
		if (gpus >> g & 1)
			sim_controller_resume(f->controller, i, g);
	}
	sim_controller_resume(f->controller, i, -1);
}

static void operator_looks(void *arg, void **own)
{
	struct faults *f = arg;

	(void)own;
	faults_resume(f, (unsigned)engine_below(f->engine, f->n_nodes));
	again(f, operator_looks, f->means.gpu ? 40 * SEC : 0);
}

static void fault_jump(void *arg, void **own)
{
	struct faults *f = arg;

	(void)own;
	if (f->on) {
		f->count++;
		engine_jump(f->engine, engine_between(f->engine, -200 * SEC, 200 * SEC));
		fake_munge_set_time(f->munge, engine_now(f->engine).wall / SEC);
	}
	again(f, fault_jump, f->means.jump);
}

static void fenced(void *arg, void **own)
{
	struct faults *f = arg;
	unsigned i = ((struct index *)*own)->i;

	sim_node_reboot(f->nodes[i]);
	start_node_later(f, i, 60 * SEC);
	sim_controller_fenced(f->controller, i, true);
}

void faults_fence(void *arg, unsigned node)
{
	struct faults *f = arg;
	struct index *x = xcalloc(1, sizeof(*x));

	x->i = node;
	engine_at(f->engine, engine_between(f->engine, SEC, 20 * SEC), fenced, f, x);
}

void faults_begin(struct faults *f)
{
	again(f, fault_kill, f->means.kill);
	again(f, fault_power, f->means.power);
	again(f, fault_agent, f->means.agent);
	again(f, fault_reboot, f->means.reboot);
	again(f, fault_stall, f->means.stall);
	again(f, fault_jump, f->means.jump);
	again(f, fault_gpu, f->means.gpu);
	again(f, operator_looks, f->means.gpu ? 40 * SEC : 0);
}
