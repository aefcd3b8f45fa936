/* test_wire_gpus.c - what an agent may tell of its GPUs (GpuReport): what is refused, and that
 * whatever is not refused leaves a core whole, with nothing in it that a terminal must not see */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "common/gpu/gpufault.h"
#include "testsuite/unit/lib/core_world.h"
#include "testsuite/unit/lib/wire_arena.h"

#define MANY 5000

/* --- texts ----------------------------------------------------------------------------------- */

/* `n` bytes: the unit again and again, cut off at the end. */
static char *repeat(const char *unit, size_t n)
{
	static char texts[8][2048];
	static unsigned next;
	char *text = texts[next++ % 8];

	assert_true(n < sizeof(texts[0]));
	for (size_t i = 0; i < n; i++)
		text[i] = unit[i % strlen(unit)];
	text[n] = '\0';
	return text;
}

/* --- what is refused ------------------------------------------------------------------------- */

static int take_fault(uint64_t seq, const char *uuid, uint32_t kind, uint32_t code,
        const char *text, struct core_event *ev)
{
	Gpusched__GpuReport m = GPUSCHED__GPU_REPORT__INIT;
	Gpusched__GpuFault f = GPUSCHED__GPU_FAULT__INIT, *list[1] = { &f };
	struct error err = { 0 };
	int rc;

	f.seq = seq;
	f.uuid = S(uuid);
	f.kind = kind;
	f.code = code;
	f.text = S(text);
	m.faults = list;
	m.n_faults = 1;
	rc = wire_gpu_report(&m, arena, ev, &err);
	assert_true(rc == 0 || (rc == -1 && err.code && *err.text));
	return rc;
}

static int take_looked(const char *uuid, const char *trouble)
{
	Gpusched__GpuReport m = GPUSCHED__GPU_REPORT__INIT;
	Gpusched__GpuLooked l = GPUSCHED__GPU_LOOKED__INIT, *list[1] = { &l };
	struct core_event ev;
	struct error err = { 0 };

	l.uuid = S(uuid);
	l.trouble = S(trouble);
	m.looked = list;
	m.n_looked = 1;
	return wire_gpu_report(&m, arena, &ev, &err);
}

static void names(void **state)
{
	static const char *const bad[] = { "", "GPU 1", "GPU-1,GPU-2", "GPU\n", "GPU\033[2J",
		"\xff\xfe", "GPU-\xc3", "\xe2\x80\xae" };
	struct core_event ev;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(take_fault(1, bad[i], GPU_FAULT_XID, 79, "", &ev), -1);
		assert_int_equal(take_looked(bad[i], ""), -1);
	}
	assert_int_equal(take_fault(1, repeat("u", 95), GPU_FAULT_XID, 79, "", &ev), 0);
	assert_int_equal(take_fault(1, repeat("u", 96), GPU_FAULT_XID, 79, "", &ev), -1);
	assert_int_equal(take_looked(repeat("u", 95), ""), 0);
	assert_int_equal(take_looked(repeat("u", 2000), ""), -1);
}

static void texts(void **state)
{
	static const char *const bad[] = { "\n", "well\r", "\033[31m", "\xff", "caf\xc3", "\x7f",
		"\xe2\x80\xa8" };
	struct core_event ev;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(take_fault(1, "GPU-1", GPU_FAULT_HOT, 0, bad[i], &ev), -1);
		assert_int_equal(take_looked("GPU-1", bad[i]), -1);
	}
	assert_int_equal(
	        take_fault(1, "GPU-1", GPU_FAULT_HOT, 0, repeat("x", WIRE_TEXT_MAX), &ev), 0);
	assert_int_equal(
	        take_fault(1, "GPU-1", GPU_FAULT_HOT, 0, repeat("x", WIRE_TEXT_MAX + 1), &ev), -1);
	assert_int_equal(take_looked("GPU-1", repeat("x", WIRE_TEXT_MAX)), 0);
	assert_int_equal(take_looked("GPU-1", repeat("x", WIRE_TEXT_MAX + 1)), -1);
}

static void numbers(void **state)
{
	struct core_event ev;

	(void)state;
	assert_int_equal(take_fault(0, "GPU-1", GPU_FAULT_HOT, 0, "", &ev), -1);
	assert_int_equal(
	        take_fault((uint64_t)INT64_MAX + 1, "GPU-1", GPU_FAULT_HOT, 0, "", &ev), -1);
	assert_int_equal(take_fault(UINT64_MAX, "GPU-1", GPU_FAULT_HOT, 0, "", &ev), -1);
	assert_int_equal(take_fault(INT64_MAX, "GPU-1", GPU_FAULT_HOT, 0, "", &ev), 0);
	/* Kinds and codes that this controller does not know are a later agent's: taken as they
	 * are. */
	assert_int_equal(take_fault(1, "GPU-1", UINT32_MAX, UINT32_MAX, "", &ev), 0);
	assert_int_equal(ev.kind, EV_GPU_REPORT);
	assert_int_equal(ev.gpus.n_faults, 1);
	assert_int_equal(ev.gpus.faults[0].kind, UINT32_MAX);
	assert_int_equal(ev.gpus.faults[0].code, UINT32_MAX);
}

/* One bad one among many, and more than can be kept: nothing of it is taken. */
static void counts(void **state)
{
	Gpusched__GpuReport m = GPUSCHED__GPU_REPORT__INIT;
	Gpusched__GpuFault *v = calloc(MANY, sizeof(*v)), **list = calloc(MANY, sizeof(*list));
	struct arena *small = arena_new(1024);
	struct core_event ev;
	struct error err;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		gpusched__gpu_fault__init(&v[i]);
		v[i].seq = i + 1;
		v[i].uuid = S("GPU-1");
		list[i] = &v[i];
	}
	m.faults = list;
	m.n_faults = MANY;
	assert_int_equal(wire_gpu_report(&m, arena, &ev, &err), 0);
	assert_int_equal(ev.gpus.n_faults, MANY);
	v[MANY - 1].uuid = S("");
	assert_int_equal(wire_gpu_report(&m, arena, &ev, &err), -1);
	v[MANY - 1].uuid = S("GPU-1");
	assert_int_equal(wire_gpu_report(&m, small, &ev, &err), -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	m.n_faults = 0;
	assert_int_equal(wire_gpu_report(&m, arena, &ev, &err), 0);
	arena_free(small);
	free(v);
	free(list);
}

/* --- what is taken --------------------------------------------------------------------------- */

static uint64_t randomly;

static uint64_t pick(uint64_t n)
{
	randomly ^= randomly << 13;
	randomly ^= randomly >> 7;
	randomly ^= randomly << 17;
	return (randomly >> 11) % n;
}

/* Mostly such as can be. */
static const char *any_uuid(void)
{
	static const char *const uuids[] = { "GPU-a", "GPU-b", "MIG-a", "GPU-c", "#1", "-", "",
		"a b" };
	uint64_t i = pick(40);

	return i < 8 ? uuids[i] : i == 8 ? repeat("U", 80 + (size_t)pick(30)) : uuids[i % 3];
}

static const char *any_text(void)
{
	static const char *const units[] = { "x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x94\xa5",
		" ", "4294967295 1 2 3 ", "-", "%s%n" };
	const char *unit = units[pick(8)];
	size_t n = (size_t)pick(520);

	if (pick(20) == 0)
		return pick(2) ? "" : "line\nline";
	return repeat(unit, pick(20) ? n / strlen(unit) * strlen(unit) : n);
}

static uint64_t last; /* number of the incarnation */

static uint64_t any_seq(void)
{
	const uint64_t few[] = { 0, 1, INT64_MAX, UINT64_MAX, pick(UINT64_MAX) };

	return pick(100) ? ++last : few[pick(5)];
}

static void any_fault(Gpusched__GpuFault *f)
{
	gpusched__gpu_fault__init(f);
	f->seq = any_seq();
	f->uuid = S(any_uuid());
	f->kind = pick(4) ? (uint32_t)pick(GPU_FAULT_KINDS + 2) : UINT32_MAX - (uint32_t)pick(3);
	f->code = pick(2) ? (uint32_t)pick(160) : UINT32_MAX - (uint32_t)pick(3);
	f->text = S(any_text());
}

/* Some of each. True: they were taken. */
static bool any_report(struct core_event *ev)
{
	Gpusched__GpuReport m = GPUSCHED__GPU_REPORT__INIT;
	Gpusched__GpuFault f[3], *faults[3] = { &f[0], &f[1], &f[2] };
	Gpusched__GpuLooked l[2], *looked[2] = { &l[0], &l[1] };
	struct error err;

	m.faults = faults;
	m.looked = looked;
	m.n_faults = (size_t)pick(4);
	m.n_looked = (size_t)pick(3);
	for (size_t i = 0; i < m.n_faults; i++)
		any_fault(faults[i]);
	for (size_t i = 0; i < m.n_looked; i++) {
		gpusched__gpu_looked__init(looked[i]);
		looked[i]->uuid = S(any_uuid());
		looked[i]->trouble = S(any_text());
	}
	*ev = (struct core_event){ 0 };
	return wire_gpu_report(&m, arena, ev, &err) == 0;
}

static uint64_t registers(struct world *w, unsigned boot)
{
	static const struct gpu_found found[] = { { .type = "h100", .uuid = "GPU-a" },
		{ .type = "h100", .uuid = "GPU-b" }, { .type = "h100", .uuid = "MIG-a" } };
	static char name[64];
	struct core_event e = { .kind = EV_AGENT_UP };

	/* One that leaves no room for its end, one with a blank. */
	snprintf(name, sizeof(name), boot % 3 ? "boot %u" : "boot-%056u", boot);
	e.agent_up.session = w->next_session++;
	e.agent_up.boot_id = e.agent_up.incarnation = name;
	e.agent_up.version = e.agent_up.containment = "";
	e.agent_up.cpus = 8;
	e.agent_up.mem_mb = 65536;
	e.agent_up.gpus = found;
	e.agent_up.n_gpus = 3;
	e.agent_up.gpus_asked = e.agent_up.tells_faults = true;
	world_apply(w, &e);
	world_schedule(w);
	return e.agent_up.session;
}

static void check_shown(struct world *w)
{
	struct gpu_view v;
	struct error err;

	for (uint32_t i = 0; core_gpu_view(w->core, 0, i, &v); i++) {
		if (text_check("reason", v.reason, sizeof(v.reason), &err) < 0)
			fail_msg("%s", err.text);
	}
	if (text_check("note", world_node_view(w, 0).gpu_note, WIRE_TEXT_MAX, &err) < 0)
		fail_msg("%s", err.text);
	if (text_check("reason", world_node_view(w, 0).reason, WIRE_TEXT_MAX, &err) < 0)
		fail_msg("%s", err.text);
}

/* An operator takes one out of use, and says why at length. */
static void drains(struct world *w)
{
	static const uint32_t node0;
	struct core_event e = { .kind = EV_NODE_CONTROL, .caller = world_admin() };

	e.node.verb = NODE_DRAIN;
	e.node.nodes = &node0;
	e.node.n = 1;
	e.node.gpu = "1";
	e.node.reason = repeat("\xe2\x82\xac", 510);
	world_apply(w, &e);
	check_shown(w);
	e.node.verb = NODE_RESUME;
	world_apply(w, &e);
}

static void shown(void *arg, const struct effect *e)
{
	(void)arg;
	if (e->kind == EFFECT_CHECK_GPUS)
		assert_true(e->check.n <= 3);
}

/* core_check() holds after each; what is stored is what there is; all that is shown can be. */
static void taken(void **state)
{
	struct world *w = world_new(
	        "cluster = \"t\"; controller = { host = \"h\"; };"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:3\";"
	        "health_events = [ \"xid-95=node\", \"hot=note\", \"xid-31=gpu\" ];"
	        "health_jobs = \"requeue\"; } );"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );");
	unsigned applied = 0, refused = 0, boot = 1;
	uint64_t session;

	(void)state;
	randomly = 88172645463325252u;
	w->hook = shown;
	session = registers(w, boot);
	for (unsigned i = 0; i < 3000; i++) {
		struct core_event ev;

		arena_reset(arena, WIRE_ARENA_CAP);
		if (!any_report(&ev)) {
			refused++;
			continue;
		}
		ev.gpus.session = session;
		world_clear(w);
		world_apply(w, &ev);
		world_schedule(w);
		check_shown(w);
		applied++;
		if (pick(20) == 0) {
			world_restart(w);
			boot += (unsigned)pick(2);
			session = registers(w, boot);
			last = pick(2) ? 0 : last;
			world_node(w, NODE_RESUME, 0, false);
			drains(w);
		}
	}
	assert_true(applied > 300 && refused > 300);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names, setup, teardown),
		cmocka_unit_test_setup_teardown(texts, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(counts, setup, teardown),
		cmocka_unit_test_setup_teardown(taken, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
