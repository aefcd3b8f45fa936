/* gpmix.c - the PMIx server for the tasks of a step on one node
 *
 * A child of gstepd (pmix_child.h), by libpmix, and built only where that is. Its standard input is
 * a pair of sockets to gstepd:
 *
 *	STEP_START     the tasks of the step; the first one names its namespace. Each task of this
 *	               node is answered with the environment it is to have
 *	STEP_PMIX      from the servers of other nodes, through the manager of steps
 *	STEP_PMIX_ASK  to them
 *
 * libpmix calls back in a thread of its own. One lock guards what waits for answers and what is
 * written; nothing of libpmix is called while it is held.
 *
 * A task that calls PMIx is known by its namespace and rank alone, over TCP on loopback: so the
 * namespace's name is a secret of the step.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pmix.h>
#include <pmix_server.h>

#include "common/base/hostlist.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/steplink.h"

#define READ_BYTES 65536

/* A question to other nodes whose answer libpmix waits for. */
struct question {
	struct question *next;
	uint64_t id;
	pmix_modex_cbfunc_t done;
	void *arg;
};

static struct {
	pthread_mutex_t lock;
	struct steplink *out;
	struct question *questions;
	uint64_t last_id;
	uint32_t step;
	char **nodes; /* of the job, by rank */
	size_t n_nodes;
	uint32_t rank;
	pmix_nspace_t name; /* "": nothing is registered yet */
	uint32_t tasks;
	char *dir;
} g = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("gpmix: error: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(EXIT_FAILURE);
}

static void check(pmix_status_t status, const char *what)
{
	if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
		die("%s: %s", what, PMIx_Error_string(status));
}

/* --- to gstepd -------------------------------------------------------------------------------- */

static void write_all(void)
{
	size_t len;
	const uint8_t *data;

	while ((data = steplink_pending(g.out, &len)) && len) {
		ssize_t n = write(STDIN_FILENO, data, len);

		if (n < 0 && errno != EINTR)
			_exit(EXIT_FAILURE); /* gstepd has gone */
		if (n > 0)
			steplink_sent(g.out, (size_t)n);
	}
}

static void say(const Gpusched__StepPmix *p)
{
	pthread_mutex_lock(&g.lock);
	steplink_put_message(g.out, STEP_PMIX_ASK, g.step, &p->base);
	write_all();
	pthread_mutex_unlock(&g.lock);
}

/* --- questions and answers -------------------------------------------------------------------- */

static uint64_t add_question(pmix_modex_cbfunc_t done, void *arg)
{
	struct question *q = xcalloc(1, sizeof(*q));
	uint64_t id;

	pthread_mutex_lock(&g.lock);
	id = ++g.last_id;
	*q = (struct question){ g.questions, id, done, arg };
	g.questions = q;
	pthread_mutex_unlock(&g.lock);
	return id;
}

static struct question *take_question(uint64_t id)
{
	struct question **at = &g.questions, *q;

	pthread_mutex_lock(&g.lock);
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	q = *at;
	if (q)
		*at = q->next;
	pthread_mutex_unlock(&g.lock);
	return q;
}

static void take_answer(const Gpusched__StepPmix *p)
{
	struct question *q = take_question(p->id);
	char *data = NULL;

	if (!q)
		return;
	if (p->data.len) {
		data = xcalloc(p->data.len, 1);
		memcpy(data, p->data.data, p->data.len);
	}
	q->done(p->failed ? PMIX_ERROR : PMIX_SUCCESS, data, p->data.len, q->arg, free, data);
	free(q);
}

static void on_found(pmix_status_t status, char *data, size_t len, void *arg)
{
	Gpusched__StepPmix p = GPUSCHED__STEP_PMIX__INIT;
	uint64_t *id = arg;

	p.kind = GPUSCHED__STEP_PMIX__KIND__FOUND;
	p.id = *id;
	p.failed = status != PMIX_SUCCESS;
	if (!p.failed)
		p.data = (ProtobufCBinaryData){ len, (uint8_t *)data };
	say(&p);
	free(id);
}

/* For data of a task of this node: libpmix answers once the task has put them. */
static void take_fetch(const Gpusched__StepPmix *p)
{
	uint64_t *id = xcalloc(1, sizeof(*id));
	pmix_proc_t of;
	pmix_status_t status;

	*id = p->id;
	PMIX_LOAD_PROCID(&of, g.name, p->tasks[0]);
	status = PMIx_server_dmodex_request(&of, on_found, id);
	if (status != PMIX_SUCCESS)
		on_found(status, NULL, 0, id);
}

/* --- what libpmix asks of us ------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Those of the namespace, each once, in ascending order. False: all of it. */
static bool list_tasks(const pmix_proc_t *procs, size_t n, Gpusched__StepPmix *p)
{
	size_t kept = 0;

	p->tasks = xcalloc(n + 1, sizeof(*p->tasks));
	for (size_t i = 0; i < n; i++) {
		if (procs[i].rank == PMIX_RANK_WILDCARD)
			return false;
		p->tasks[i] = procs[i].rank;
	}
	qsort(p->tasks, n, sizeof(*p->tasks), by_number);
	for (size_t i = 0; i < n; i++)
		if (!kept || p->tasks[kept - 1] != p->tasks[i])
			p->tasks[kept++] = p->tasks[i];
	p->n_tasks = kept;
	return kept < g.tasks;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t n, const pmix_info_t info[],
        size_t n_info, char *data, size_t len, pmix_modex_cbfunc_t done, void *arg)
{
	Gpusched__StepPmix p = GPUSCHED__STEP_PMIX__INIT;

	(void)info;
	(void)n_info;
	p.kind = GPUSCHED__STEP_PMIX__KIND__FENCE;
	if (!list_tasks(procs, n, &p))
		p.n_tasks = 0;
	p.data = (ProtobufCBinaryData){ len, (uint8_t *)data };
	p.failed = len > STEPLINK_MESSAGE_MAX / 2;
	if (p.failed)
		p.data.len = 0;
	p.id = add_question(done, arg);
	say(&p);
	free(p.tasks);
	free(data);
	return PMIX_SUCCESS;
}

static pmix_status_t on_fetch(const pmix_proc_t *proc, const pmix_info_t info[], size_t n_info,
        pmix_modex_cbfunc_t done, void *arg)
{
	Gpusched__StepPmix p = GPUSCHED__STEP_PMIX__INIT;
	uint32_t task = proc->rank;

	(void)info;
	(void)n_info;
	if (strcmp(proc->nspace, g.name) != 0 || task >= g.tasks)
		return PMIX_ERR_NOT_FOUND;
	p.kind = GPUSCHED__STEP_PMIX__KIND__FETCH;
	p.n_tasks = 1;
	p.tasks = &task;
	p.id = add_question(done, arg);
	say(&p);
	return PMIX_SUCCESS;
}

static void say_abort(void)
{
	Gpusched__StepPmix p = GPUSCHED__STEP_PMIX__INIT;

	p.kind = GPUSCHED__STEP_PMIX__KIND__ABORT;
	say(&p);
}

static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
        pmix_proc_t procs[], size_t n, pmix_op_cbfunc_t done, void *arg)
{
	(void)proc;
	(void)object;
	(void)status;
	(void)text;
	(void)procs;
	(void)n;
	say_abort();
	done(PMIX_SUCCESS, arg);
	return PMIX_SUCCESS;
}

static pmix_status_t on_client(
        const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done, void *arg)
{
	(void)proc;
	(void)object;
	(void)done;
	(void)arg;
	return PMIX_OPERATION_SUCCEEDED;
}

/* A task that goes without PMIx_Finalize() would be waited for by all the others. */
static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
        size_t n_info, pmix_info_t results[], size_t n_results,
        pmix_event_notification_cbfunc_fn_t done, void *arg)
{
	(void)id;
	(void)status;
	(void)source;
	(void)info;
	(void)n_info;
	(void)results;
	(void)n_results;
	say_abort();
	if (done)
		done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

static pmix_server_module_t module = { .client_connected = on_client,
	.client_finalized = on_client,
	.abort = on_abort,
	.fence_nb = on_fence,
	.direct_modex = on_fetch };

/* --- the namespace ---------------------------------------------------------------------------- */

/* What libpmix takes: a list that grows. */
static void add(void *list, const char *key, const void *value, pmix_data_type_t type)
{
	check(PMIx_Info_list_add(list, key, value, type), key);
}

static void add_number(void *list, const char *key, uint32_t n)
{
	add(list, key, &n, PMIX_UINT32);
}

/* Each task of the step: its place within its node. */
struct places {
	const Gpusched__StepTasks *of;
	uint32_t *node;           /* of the step, by rank in the job */
	uint32_t *local, *counts; /* of a task in its node; of a node by its rank */
	uint32_t n_nodes;
};

static void find_places(struct places *p, const Gpusched__StepTasks *of)
{
	*p = (struct places){ .of = of,
		.node = xcalloc(g.n_nodes, sizeof(*p->node)),
		.local = xcalloc(of->n_task_ranks, sizeof(*p->local)),
		.counts = xcalloc(g.n_nodes, sizeof(*p->counts)) };
	for (size_t i = 0; i < of->n_task_ranks; i++) {
		if (of->task_ranks[i] >= g.n_nodes)
			die("a task on node %u of %zu", of->task_ranks[i], g.n_nodes);
		p->local[i] = p->counts[of->task_ranks[i]]++;
	}
	for (size_t k = 0; k < g.n_nodes; k++)
		if (p->counts[k])
			p->node[k] = p->n_nodes++;
}

static void clear_places(struct places *p)
{
	free(p->node);
	free(p->local);
	free(p->counts);
}

/* "0,2;1,3": the tasks of each node; of one node alone without the others'. */
static char *list_places(const struct places *p, bool own)
{
	struct strbuf out = { 0 };
	struct strbuf *of = xcalloc(g.n_nodes, sizeof(*of));

	for (uint32_t i = 0; i < p->of->n_task_ranks; i++) {
		struct strbuf *b = &of[p->of->task_ranks[i]];

		strbuf_addf(b, b->len ? ",%u" : "%u", i);
	}
	for (size_t k = 0; k < g.n_nodes; k++) {
		if (of[k].len && (!own || k == g.rank)) {
			strbuf_adds(&out, out.len ? ";" : "");
			strbuf_adds(&out, of[k].s);
		}
		strbuf_free(&of[k]);
	}
	free(of);
	return strbuf_take(&out);
}

static char *list_nodes(const struct places *p)
{
	struct strbuf out = { 0 };

	for (size_t k = 0; k < g.n_nodes; k++)
		if (p->counts[k]) {
			strbuf_adds(&out, out.len ? "," : "");
			strbuf_adds(&out, g.nodes[k]);
		}
	return strbuf_take(&out);
}

static void add_maps(void *list, const struct places *p)
{
	char *nodes = list_nodes(p), *tasks = list_places(p, false), *peers = list_places(p, true);
	char *packed;

	check(PMIx_generate_regex(nodes, &packed), "nodes");
	add(list, PMIX_NODE_MAP, packed, PMIX_REGEX);
	free(packed);
	check(PMIx_generate_ppn(tasks, &packed), "tasks");
	add(list, PMIX_PROC_MAP, packed, PMIX_REGEX);
	free(packed);
	add(list, PMIX_LOCAL_PEERS, peers, PMIX_STRING);
	free(nodes);
	free(tasks);
	free(peers);
}

static void add_task(void *list, const struct places *p, uint32_t task)
{
	void *of = PMIx_Info_list_start();
	pmix_rank_t rank = task;
	uint16_t local = (uint16_t)p->local[task];
	uint32_t node = p->of->task_ranks[task];
	pmix_data_array_t all;

	add(of, PMIX_RANK, &rank, PMIX_PROC_RANK);
	add_number(of, PMIX_APPNUM, 0);
	add(of, PMIX_GLOBAL_RANK, &rank, PMIX_PROC_RANK);
	add(of, PMIX_APP_RANK, &rank, PMIX_PROC_RANK);
	add(of, PMIX_LOCAL_RANK, &local, PMIX_UINT16);
	add(of, PMIX_NODE_RANK, &local, PMIX_UINT16);
	add_number(of, PMIX_NODEID, p->node[node]);
	add(of, PMIX_HOSTNAME, g.nodes[node], PMIX_STRING);
	check(PMIx_Info_list_convert(of, &all), "a task");
	add(list, PMIX_PROC_DATA, &all, PMIX_DATA_ARRAY);
	PMIX_DATA_ARRAY_DESTRUCT(&all);
	PMIx_Info_list_release(of);
}

static void add_sizes(void *list, const struct places *p)
{
	const bool yes = true, no = false;
	pmix_rank_t first = 0;

	while (p->of->task_ranks[first] != g.rank)
		first++;
	add(list, PMIX_JOBID, g.name, PMIX_STRING);
	add_number(list, PMIX_UNIV_SIZE, g.tasks);
	add_number(list, PMIX_JOB_SIZE, g.tasks);
	add_number(list, PMIX_MAX_PROCS, g.tasks);
	add_number(list, PMIX_JOB_NUM_APPS, 1);
	add_number(list, PMIX_NUM_NODES, p->n_nodes);
	add_number(list, PMIX_LOCAL_SIZE, p->counts[g.rank]);
	add_number(list, PMIX_NODE_SIZE, p->counts[g.rank]);
	add(list, PMIX_LOCALLDR, &first, PMIX_PROC_RANK);
	add(list, PMIX_SPAWNED, &no, PMIX_BOOL);
	add(list, PMIX_TMPDIR, g.dir, PMIX_STRING);
	add(list, PMIX_NSDIR, g.dir, PMIX_STRING);
	add(list, PMIX_TDIR_RMCLEAN, &yes, PMIX_BOOL);
}

static void register_tasks(const struct places *p)
{
	for (uint32_t i = 0; i < g.tasks; i++) {
		pmix_proc_t proc;

		if (p->of->task_ranks[i] != g.rank)
			continue;
		PMIX_LOAD_PROCID(&proc, g.name, i);
		check(PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL),
		        "PMIx_server_register_client");
	}
}

static void register_all(const Gpusched__StepTasks *t)
{
	void *list = PMIx_Info_list_start();
	pmix_data_array_t all;
	struct places p;

	PMIX_LOAD_NSPACE(g.name, t->pmix_name);
	g.tasks = (uint32_t)t->n_task_ranks;
	find_places(&p, t);
	if (g.rank >= g.n_nodes || !p.counts[g.rank])
		die("no task of the step is on this node");
	add_sizes(list, &p);
	add_maps(list, &p);
	for (uint32_t i = 0; i < g.tasks; i++)
		add_task(list, &p, i);
	check(PMIx_Info_list_convert(list, &all), "PMIx_Info_list_convert");
	check(PMIx_server_register_nspace(
	              g.name, (int)p.counts[g.rank], all.array, all.size, NULL, NULL),
	        "PMIx_server_register_nspace");
	register_tasks(&p);
	PMIX_DATA_ARRAY_DESTRUCT(&all);
	PMIx_Info_list_release(list);
	clear_places(&p);
}

/* --- the server ------------------------------------------------------------------------------- */

static void make_dir(void)
{
	const char *dir = getenv("GPUSCHED_RUN_DIR");

	g.dir = xasprintf("%s/pmix.%u", dir ? dir : "/tmp", g.step);
	if (mkdir(g.dir, 0700) < 0 && errno != EEXIST)
		die("%s: %s", g.dir, strerror(errno));
}

/* libpmix removes what it has made itself; what tasks have left there goes with the run. */
static void remove_dir(void)
{
	DIR *d = opendir(g.dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			char *path = xasprintf("%s/%s", g.dir, e->d_name);

			remove(path);
			free(path);
		}
	if (d)
		closedir(d);
	rmdir(g.dir);
}

static void read_nodes(void)
{
	const char *list = getenv("GPUSCHED_NODELIST"), *node = getenv("GPUSCHED_NODE"),
	           *rank = getenv("GPUSCHED_NODE_RANK");
	struct error err;

	list = list && *list ? list : node && *node ? node : "localhost";
	if (hostlist_expand(list, HOSTLIST_MAX, &g.nodes, &g.n_nodes, &err) < 0)
		die("%s", err.text);
	g.rank = rank ? (uint32_t)strtoul(rank, NULL, 10) : 0;
}

static void begin(const Gpusched__StepTasks *t)
{
	pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
	void *list = PMIx_Info_list_start();
	pmix_data_array_t all;
	pmix_rank_t rank;
	char *name = xasprintf("%s.gstepd", t->pmix_name);

	if (!t->n_task_ranks || !*t->pmix_name)
		die("tasks without a namespace");
	read_nodes();
	make_dir();
	if (g.rank >= g.n_nodes)
		die("rank %u of %zu nodes", g.rank, g.n_nodes);
	rank = g.rank;
	/* Tasks keep what they know in their own memory, not in files that all of them map. */
	setenv("PMIX_MCA_gds", "hash", 1);
	add(list, PMIX_SERVER_NSPACE, name, PMIX_STRING);
	add(list, PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
	add(list, PMIX_SERVER_TMPDIR, g.dir, PMIX_STRING);
	add(list, PMIX_HOSTNAME, g.nodes[g.rank], PMIX_STRING);
	check(PMIx_Info_list_convert(list, &all), "PMIx_Info_list_convert");
	check(PMIx_server_init(&module, all.array, all.size), "PMIx_server_init");
	PMIx_Register_event_handler(&lost, 1, NULL, 0, on_event, NULL, NULL);
	PMIX_DATA_ARRAY_DESTRUCT(&all);
	PMIx_Info_list_release(list);
	free(name);
	register_all(t);
}

static void tell_environment(uint32_t task)
{
	Gpusched__StepPmix p = GPUSCHED__STEP_PMIX__INIT;
	struct strbuf block = { 0 };
	char **env = NULL;
	pmix_proc_t proc;

	PMIX_LOAD_PROCID(&proc, g.name, task);
	check(PMIx_server_setup_fork(&proc, &env), "PMIx_server_setup_fork");
	for (size_t i = 0; env && env[i]; i++) {
		strbuf_add(&block, env[i], strlen(env[i]) + 1);
		free(env[i]);
	}
	free(env);
	strbuf_add(&block, "", 1);
	p.kind = GPUSCHED__STEP_PMIX__KIND__ENVIRONMENT;
	p.n_tasks = 1;
	p.tasks = &task;
	p.data = (ProtobufCBinaryData){ block.len, (uint8_t *)block.s };
	say(&p);
	strbuf_free(&block);
}

/* --- from gstepd ------------------------------------------------------------------------------ */

static void take_start(const struct steplink_message *m)
{
	Gpusched__StepTasks *t = gpusched__step_tasks__unpack(NULL, m->len, m->data);

	if (!t)
		die("tasks that cannot be read");
	g.step = m->step;
	if (!*g.name)
		begin(t);
	for (size_t i = 0; i < t->n_ids; i++)
		tell_environment(t->ids[i]);
	gpusched__step_tasks__free_unpacked(t, NULL);
}

static void take_message(const struct steplink_message *m)
{
	Gpusched__StepPmix *p;

	if (m->kind == STEP_START) {
		take_start(m);
		return;
	}
	p = gpusched__step_pmix__unpack(NULL, m->len, m->data);
	if (!p || !*g.name)
		die("a message that cannot be read");
	if (p->kind != GPUSCHED__STEP_PMIX__KIND__FETCH)
		take_answer(p);
	else if (p->n_tasks == 1)
		take_fetch(p);
	gpusched__step_pmix__free_unpacked(p, NULL);
}

int main(void)
{
	static uint8_t b[READ_BYTES];
	struct steplink *in = steplink_new();
	struct steplink_message m;
	struct error err;
	ssize_t n;
	int rc;

	g.out = steplink_new();
	while ((n = read(STDIN_FILENO, b, sizeof(b))) > 0 || (n < 0 && errno == EINTR)) {
		if (n < 0)
			continue;
		if (steplink_feed(in, b, (size_t)n, &err) < 0)
			die("%s", err.text);
		while ((rc = steplink_next(in, &m, &err)) > 0)
			take_message(&m);
		if (rc < 0)
			die("%s", err.text);
	}
	if (*g.name) {
		PMIx_server_finalize();
		remove_dir();
	}
	steplink_free(in);
	steplink_free(g.out);
	return EXIT_SUCCESS;
}
