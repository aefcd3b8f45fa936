/* made_cluster.c - see made_cluster.h */
#include "made_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

#define USEC     INT64_C(1000000)
#define ARRAY(a) (sizeof(a) / sizeof((a)[0]))

const struct made_query *made_query;
const char *made_part;
bool made_silent;

static int64_t now_us;

const char *__wrap_http_query(const struct http_request *r, const char *name);
const char *__wrap_http_header(const struct http_request *r, const char *name);

const char *__wrap_http_query(const struct http_request *r, const char *name)
{
	(void)r;
	for (const struct made_query *q = made_query; q && q->name; q++)
		if (!strcmp(q->name, name))
			return q->value;
	return NULL;
}

const char *__wrap_http_header(const struct http_request *r, const char *name)
{
	(void)r;
	return !strcmp(name, "X-Part") ? made_part : NULL;
}

/* --- nodes -------------------------------------------------------------------------------------- */

/* A letter a GPU: f free, w whole, i whole and idle, u whole with its use not known, s shared, d drained,
 * m missing. */
static const struct node {
	const char *name, *type, *state, *gpus, *reason;
} nodes[] = {
	{ "h01", "h100", "allocated", "wwwwwwww", "" },
	{ "h02", "h100", "mixed", "wwwwffff", "" },
	{ "h03", "h100", "mixed", "wwiiwwww", "" },
	{ "h04", "h100", "idle", "ffffffff", "" },
	{ "h05", "h100", "draining", "wwwwdddd", "new firmware (root, 11-26 08:12)" },
	{ "h06", "h100", "mixed", "wwwwmdff", "" },
	{ "h07", "h100", "down", "ffffffff", "no answer since 09:12" },
	{ "h08", "h100", "allocated", "wwwwwwwi", "" },
	{ "l01", "l40s", "mixed", "wsff", "" },
	{ "l02", "l40s", "idle", "ffff", "" },
	{ "l03", "l40s", "drained", "dddd", HOSTILE },
	{ "l04", "l40s", "allocated", "wsws", "" },
	{ "m01", "1g.10gb", "mixed", "wwwwwffffwwffff", "" },
	{ "c01", "", "idle", "", "" },
};

static const char *state_of(char c)
{
	return c == 'f'   ? "free"
	       : c == 's' ? "shared"
	       : c == 'd' ? "drained"
	       : c == 'm' ? "missing"
	                  : "whole";
}

static void make_gpu(Gpusched__NodeGpu *g, const struct node *n, uint32_t i, Gpusched__RunId **run,
        Gpusched__GpuPart **part)
{
	char c = n->gpus[i];

	gpusched__node_gpu__init(g);
	g->index = i;
	g->type = (char *)n->type;
	g->state = (char *)state_of(c);
	g->reason = c == 'd' ? (char *)"Xid 79: the GPU has fallen off the bus" : (char *)"";
	g->near = strcmp(n->type, "l40s") ? (char *)"" : (char *)"X,PIX,SYS,SYS";
	g->mem_mb = 81920;
	g->sample_known = c != 'm' && c != 'u';
	g->sm_known = g->sample_known;
	g->sm_pct = c == 'w' ? (i * 37 + 20) % 101 : c == 's' ? 61 : 0;
	g->sm_pct = c == 'w' && g->sm_pct < 10 ? 96 : g->sm_pct;
	g->fb_used_mb = c == 'f' ? 4 : 61000;
	g->fb_free_mb = 81920 - g->fb_used_mb;
	g->temp_c = 41 + i;
	g->power_mw = 120000 + 60000 * i;
	g->sm_clock_mhz = 1980;
	if (c == 'd') {
		g->last_xid = 79;
		g->last_xid_time = now_us - 7200 * USEC;
	}
	if (c == 'w' || c == 'i' || c == 's') {
		g->runs = run;
		g->n_runs = 1;
	}
	if (c == 's') {
		g->parts = part;
		g->n_parts = 1;
	}
}

static void add_node(struct messages *list, const struct node *n)
{
	Gpusched__Node m = GPUSCHED__NODE__INIT;
	Gpusched__GpuUse use = GPUSCHED__GPU_USE__INIT, *uses[] = { &use };
	Gpusched__NodeGpu gpus[16], *devices[16];
	Gpusched__RunId run = GPUSCHED__RUN_ID__INIT, *runs[] = { &run };
	Gpusched__GpuPart part = GPUSCHED__GPU_PART__INIT, *parts[] = { &part };
	char *partitions[] = { (char *)"batch", (char *)HOSTILE };

	run.job = part.mem_mb = n->gpus[0] == 'w' ? MADE_RUNS : MADE_HOSTILE;
	part.run = &run;
	part.mem_mb = 20480;
	m.name = (char *)n->name;
	m.state = (char *)n->state;
	m.reason = (char *)n->reason;
	m.cpus = 112;
	m.cpus_free = 40;
	m.mem_mb = 2000000;
	m.mem_free_mb = 700000;
	m.last_heard = now_us - 3 * USEC;
	m.agent_version = (char *)"1.0";
	m.partitions = partitions;
	m.n_partitions = 2;
	use.type = (char *)n->type;
	use.total = (uint32_t)strlen(n->gpus);
	for (uint32_t i = 0; i < use.total; i++) {
		make_gpu(&gpus[i], n, i, runs, parts);
		devices[i] = &gpus[i];
		use.free += n->gpus[i] == 'f';
	}
	use.largest = use.free;
	use.largest_node = (char *)n->name;
	if (use.total) {
		m.gpus = uses;
		m.n_gpus = 1;
		m.devices = devices;
		m.n_devices = use.total;
	}
	messages_add(list, &m.base);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static const struct job {
	uint64_t id;
	const char *name, *user, *account, *state, *reason, *text, *nodes;
	uint32_t gpus, waited_s, ran_s, limit_s;
} jobs[] = {
	{ MADE_RUNS, "pretrain-7b", "ana", "vision", "RUNNING", "", "", "h[01,08]", 16, 5400, 30000,
	        43200 },
	{ 4691, "eval-suite", "bo", "speech", "RUNNING", "", "", "h02", 4, 30, 2400, 3600 },
	{ 4700, "notebook", "cy", "research", "RUNNING", "", "", "h03", 2, 3, 9000, 28800 },
	{ 4702, "finetune-13b-lora", "ana", "vision", "RUNNING", "", "", "h05", 4, 720, 600,
	        14400 },
	{ 4710, "asr", "bo", "speech", "COMPLETING", "", "", "h06", 4, 720, 600, 0 },
	{ MADE_WAITS, "embed", "ana", "vision", "PENDING", "AssocGrpGRES",
	        "vision: limit h100:32, holds 28, +8", "", 8, 15240, 0, 28800 },
	{ 4813, "sweep", "bo", "speech", "PENDING", "Resources", "8 h100 on one node are not free",
	        "", 8, 7210, 0, 86400 },
	{ 4814, "later", "cy", "research", "PENDING", "BeginTime", "starts no earlier than 22:00",
	        "", 1, 99000, 0, 3600 },
	{ MADE_HOSTILE, HOSTILE, HOSTILE, HOSTILE, "PENDING", "Priority", HOSTILE, "", 1, 600, 0,
	        0 },
	{ 4600, "prep", "bo", "speech", "COMPLETED", "", "", "h04", 1, 4, 300, 3600 },
	{ 4601, "broken", "cy", "research", "FAILED", "NonZeroExitCode", "exit 7", "h04", 1, 4, 2,
	        3600 },
};

static void fill_job(Gpusched__Job *m, const struct job *j, Gpusched__GpuCount *gpus)
{
	bool waits = !strcmp(j->state, "PENDING"), runs = !strcmp(j->state, "RUNNING");

	gpusched__job__init(m);
	gpusched__gpu_count__init(gpus);
	m->id = m->raw_id = j->id;
	m->name = (char *)j->name;
	m->user = (char *)j->user;
	m->uid = 1001;
	m->account = (char *)j->account;
	m->partition = (char *)"batch";
	m->qos = (char *)"normal";
	m->state = (char *)j->state;
	m->reason = (char *)j->reason;
	m->reason_text = (char *)j->text;
	m->nodes = (char *)j->nodes;
	m->node = (char *)j->nodes;
	m->n_nodes = waits ? 0 : 1;
	m->gpu_type = (char *)"h100";
	gpus->type = m->gpu_type;
	gpus->count = j->gpus;
	m->n_gpus = 1;
	m->gpus_held = waits ? 0 : j->gpus;
	m->cpus = 14;
	m->mem_mb = 220000;
	m->nodes_min = m->nodes_max = 1;
	m->time_limit_s = j->limit_s;
	m->task_count = 1;
	m->position = waits ? (uint32_t)(j->id - 4800) : 0;
	m->submit_time = now_us - (j->waited_s + j->ran_s) * USEC;
	m->start_time = waits ? 0 : now_us - j->ran_s * USEC;
	m->end_time = waits || runs ? 0 : now_us;
	m->elapsed_s = j->ran_s;
	m->planned_start_time = waits ? now_us + 4000 * USEC : 0;
	m->n_blockers = 2;
	m->comment = (char *)"";
	m->cwd = (char *)"/home/ana/" HOSTILE;
	m->output = (char *)"gpusched-%j.out";
	m->attempt = !waits;
	m->show_output = runs;
}

static struct snapshot_job *make_job(struct made *m, const struct job *j)
{
	Gpusched__Job job;
	Gpusched__GpuCount count, *gpus[] = { &count };

	fill_job(&job, j, &count);
	job.gpus = gpus;
	return snapshot_job_new(&job, m->texts);
}

/* --- accounts, services, partitions ------------------------------------------------------------- */

static void add_shares(struct messages *list)
{
	static const struct {
		const char *account, *user;
		uint32_t depth, shares;
		double norm, effective, fair_share;
	} v[] = {
		{ "research", "", 0, 50, 0.5, 0.2, 0 },
		{ "research", "cy", 1, 1, 1, 1, 0.91 },
		{ "vision", "", 1, 30, 0.6, 0.8, 0 },
		{ "vision", "ana", 2, 1, 1, 1, 0.31 },
		{ "speech", "", 0, 50, 0.5, 0.7, 0 },
		{ "speech", "bo", 1, 1, 1, 1, 0.22 },
		{ HOSTILE, "", 0, 1, 0.01, 0.01, 0 },
		{ HOSTILE, HOSTILE, 1, 1, 1, 1, 0.5 },
	};

	for (size_t i = 0; i < ARRAY(v); i++) {
		Gpusched__Share s = GPUSCHED__SHARE__INIT;
		Gpusched__ShareGpus g = GPUSCHED__SHARE_GPUS__INIT, *gpus[] = { &g };

		s.account = (char *)v[i].account;
		s.user = (char *)v[i].user;
		s.depth = v[i].depth;
		s.shares = v[i].shares;
		s.norm = v[i].norm;
		s.effective = v[i].effective;
		s.fair_share = v[i].fair_share;
		s.rank = *v[i].user ? (uint32_t)i : 0;
		g.type = (char *)"h100";
		g.guaranteed_milli = i ? 16000 : 24000;
		g.held_milli = i ? 20500 : 8000;
		g.kept_milli = 10000;
		g.lent_milli = i ? 0 : 2500;
		g.borrowed_milli = i ? 500 : 0;
		g.limit = 32;
		s.gpus = gpus;
		s.n_gpus = *v[i].user ? 0 : 1;
		s.gpu_us = UINT64_C(3600000000) * 1234;
		s.cost = 1234.56;
		messages_add(list, &s.base);
	}
}

static void add_service(struct messages *list, const char *name, const char *state, uint32_t ready)
{
	Gpusched__Service s = GPUSCHED__SERVICE__INIT;
	Gpusched__ServiceRequest q = GPUSCHED__SERVICE_REQUEST__INIT;
	Gpusched__ServiceReplica r[2], *replicas[] = { &r[0], &r[1] };
	uint32_t ports[] = { 20001 };

	for (uint32_t i = 0; i < 2; i++) {
		gpusched__service_replica__init(&r[i]);
		r[i].slot = i;
		r[i].generation = 1;
		r[i].job = 4500;
		r[i].state = i < ready ? (char *)"READY" : (char *)"LOADING";
		r[i].serves = i < ready;
		r[i].node = (char *)"l01";
		r[i].address = (char *)"10.0.0.7";
		r[i].ports = ports;
		r[i].n_ports = 1;
		r[i].load_known = i < ready;
		r[i].running = 3.5;
		r[i].reason = (char *)HOSTILE;
		r[i].ready_time = i < ready ? now_us - 500 * USEC : 0;
	}
	q.min = 1;
	q.max = 4;
	q.target = 8;
	s.name = (char *)name;
	s.user = (char *)"ana";
	s.account = (char *)"vision";
	s.state = (char *)state;
	s.job = 4500;
	s.generation = 1;
	s.wanted = 2;
	s.ready = ready;
	s.loading = 2 - ready;
	s.in_flight = 3.5 * ready;
	s.decision = (char *)"2 replicas: 12.5 in flight over 60 s, 8 a replica";
	s.decision_time = now_us - 65 * USEC;
	s.request = &q;
	s.replicas = replicas;
	s.n_replicas = 2;
	messages_add(list, &s.base);
}

static void add_partition(struct messages *list, const char *name)
{
	Gpusched__Partition p = GPUSCHED__PARTITION__INIT;

	p.name = (char *)name;
	p.state = (char *)"up";
	messages_add(list, &p.base);
}

/* --- all ------------------------------------------------------------------------------------------ */

static void make_lists(struct messages *lists[LIST_COUNT])
{
	Gpusched__Stat stat = GPUSCHED__STAT__INIT;

	for (size_t i = 0; i < LIST_COUNT; i++)
		lists[i] = messages_new();
	for (size_t i = 0; i < ARRAY(nodes); i++)
		add_node(lists[LIST_NODES], &nodes[i]);
	add_shares(lists[LIST_SHARES]);
	add_service(lists[LIST_SERVICES], "chat", "SERVING", 2);
	add_service(lists[LIST_SERVICES], "embed", "DEGRADED", 1);
	add_partition(lists[LIST_PARTITIONS], "batch");
	add_partition(lists[LIST_PARTITIONS], HOSTILE);
	stat.name = (char *)"commits";
	stat.value = 4711;
	stat.help = (char *)"commits since the start";
	messages_add(lists[LIST_STATS], &stat.base);
}

void made_begin(struct made *m, size_t more)
{
	struct snapshot_draft d = {
		.cluster = "demo", .version = "1.0", .currency = "EUR", .all = true
	};
	size_t n = ARRAY(jobs) + more;

	now_us = clock_us(CLOCK_REALTIME);
	m->snapshots = snapshots_new();
	m->texts = snapshot_texts_new();
	d.taken_us = now_us;
	d.set = calloc(n, sizeof(*d.set));
	for (size_t i = 0; i < ARRAY(jobs); i++)
		d.set[d.n_set++] = make_job(m, &jobs[i]);
	for (size_t i = 0; i < more; i++) {
		struct job j = jobs[6];
		char name[32];

		snprintf(name, sizeof(name), "sweep-%zu", i);
		j.id = 10000 + i;
		j.name = name;
		d.set[d.n_set++] = make_job(m, &j);
	}
	d.ended_max = 1000;
	make_lists(d.lists);
	snapshots_publish(m->snapshots, &d);
	snapshots_tell(m->snapshots, "");
	free(d.set);
	m->snap = snapshot_get(m->snapshots);
}

void made_end(struct made *m)
{
	snapshot_put(m->snap);
	snapshots_free(m->snapshots);
	snapshot_texts_free(m->texts);
}
