/* pmi.c - see pmi.h */
#include "cmds/steps/pmi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"

#define KEY_MAX    64
#define VALUE_MAX  1024
#define BUCKETS    1024
#define FIELDS_MAX 32

struct pair {
	struct pair *next;
	char *key, *value;
};

/* A task that waits for a value: PMI-2's node attributes and blocking gets. */
struct waiter {
	struct waiter *next;
	uint32_t task;
	char *key, *thread;
};

struct pmi {
	uint32_t tasks, in_fence;
	const uint32_t *rank;
	char *name, *mapping;
	struct pair *buckets[BUCKETS];
	size_t n_keys;
	struct {
		bool two, in; /* it speaks PMI-2; it waits in a fence */
		char *thread; /* of the fence's question */
	} * of;
	struct waiter *waiters;
	bool aborted;
};

/* One question, taken apart. */
struct fields {
	struct {
		char *name, *value;
	} v[FIELDS_MAX];
	size_t n;
	bool two;
};

struct reply {
	struct pmi *p;
	pmi_answer_fn *answer;
	void *arg;
};

struct pmi *pmi_new(uint32_t tasks, const uint32_t *rank, const char *name)
{
	struct pmi *p = xcalloc(1, sizeof(*p));

	p->tasks = tasks;
	p->name = xstrdup(name);
	p->rank = rank;
	p->mapping = pmi_mapping(rank, tasks);
	p->of = xcalloc(tasks, sizeof(*p->of));
	return p;
}

void pmi_free(struct pmi *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (p->buckets[i]) {
			struct pair *pair = p->buckets[i];

			p->buckets[i] = pair->next;
			free(pair->key);
			free(pair->value);
			free(pair);
		}
	while (p->waiters) {
		struct waiter *w = p->waiters;

		p->waiters = w->next;
		free(w->key);
		free(w->thread);
		free(w);
	}
	for (uint32_t i = 0; i < p->tasks; i++)
		free(p->of[i].thread);
	free(p->of);
	free(p->name);
	free(p->mapping);
	free(p);
}

bool pmi_is_aborted(const struct pmi *p)
{
	return p->aborted;
}

/* Runs of nodes with as many tasks each, as long as the tasks lie in blocks. */
char *pmi_mapping(const uint32_t *rank, uint32_t tasks)
{
	struct strbuf out = { 0 };
	uint32_t at = 0;

	strbuf_adds(&out, "(vector");
	while (at < tasks) {
		uint32_t first = rank[at], nodes = 0, each = 0;

		while (at + each < tasks && rank[at + each] == first)
			each++;
		for (uint32_t k = at; k < tasks && rank[k] == first + nodes; nodes++) {
			uint32_t n = 0;

			while (k + n < tasks && n < each && rank[k + n] == first + nodes)
				n++;
			if (n < each || (k + n < tasks && rank[k + n] == first + nodes))
				break;
			k += n;
		}
		nodes = nodes ? nodes : 1;
		strbuf_addf(&out, ",(%u,%u,%u)", first, nodes, each);
		at += nodes * each;
	}
	strbuf_adds(&out, ")");
	return strbuf_take(&out);
}

/* --- what is kept ----------------------------------------------------------------------------- */

static size_t bucket(const char *key)
{
	uint32_t h = 2166136261u;

	for (; *key; key++)
		h = (h ^ (uint8_t)*key) * 16777619u;
	return h % BUCKETS;
}

static const char *get(const struct pmi *p, const char *key)
{
	for (const struct pair *pair = p->buckets[bucket(key)]; pair; pair = pair->next)
		if (!strcmp(pair->key, key))
			return pair->value;
	return strcmp(key, "PMI_process_mapping") ? NULL : p->mapping;
}

static bool put(struct pmi *p, const char *key, const char *value)
{
	struct pair **at = &p->buckets[bucket(key)], *pair;

	for (pair = *at; pair; pair = pair->next)
		if (!strcmp(pair->key, key)) {
			free(pair->value);
			pair->value = xstrdup(value);
			return true;
		}
	if (p->n_keys == PMI_KEYS_MAX || strlen(key) > KEY_MAX || strlen(value) > VALUE_MAX)
		return false;
	p->n_keys++;
	pair = xcalloc(1, sizeof(*pair));
	*pair = (struct pair){ *at, xstrdup(key), xstrdup(value) };
	*at = pair;
	return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

static char *find_end(char *p, bool two)
{
	for (; *p; p++) {
		if (two && p[0] == ';' && p[1] == ';')
			memmove(p, p + 1, strlen(p));
		else if (two ? *p == ';' : *p == ' ' || *p == '\n')
			break;
	}
	return p;
}

/* "name=value" parted by blanks and line ends (PMI-1; a value may have blanks where it is the
 * last), or by semicolons (PMI-2, where ";;" is one in a value). */
static void split(char *text, bool two, struct fields *f)
{
	char *p = text;

	f->n = 0;
	f->two = two;
	while (*p && f->n < FIELDS_MAX) {
		char *equals, *end;

		p += strspn(p, two ? ";" : " \n");
		if (!*p)
			break;
		end = find_end(p, two);
		equals = memchr(p, '=', (size_t)(end - p));
		f->v[f->n].name = p;
		f->v[f->n].value = equals ? equals + 1 : end;
		if (equals)
			*equals = '\0';
		f->n++;
		p = *end ? end + 1 : end;
		*end = '\0';
	}
}

static const char *field(const struct fields *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].name, name))
			return f->v[i].value;
	return NULL;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void say_one(const struct reply *r, uint32_t task, const char *text)
{
	r->answer(r->arg, task, text, strlen(text));
}

/* PMI-2: the thread's number comes back with the answer. */
static void say_two(
        const struct reply *r, uint32_t task, const char *cmd, const char *thread, const char *rest)
{
	char *body = thread ? xasprintf("cmd=%s;thrid=%s;%s", cmd, thread, rest)
	                    : xasprintf("cmd=%s;%s", cmd, rest);
	char *all = xasprintf("%6zu%s", strlen(body), body);

	r->answer(r->arg, task, all, strlen(all));
	free(all);
	free(body);
}

/* --- PMI-1 ------------------------------------------------------------------------------------ */

static void one_init(const struct reply *r, uint32_t task, const struct fields *f)
{
	const char *version = field(f, "pmi_version");

	if (version && *version == '2') {
		r->p->of[task].two = true;
		say_one(r, task, "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n");
		return;
	}
	say_one(r, task, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n");
}

static void one_maxes(const struct reply *r, uint32_t task, const struct fields *f)
{
	char *text = xasprintf(
	        "cmd=maxes rc=0 kvsname_max=256 keylen_max=%d vallen_max=%d\n", KEY_MAX, VALUE_MAX);

	(void)f;
	say_one(r, task, text);
	free(text);
}

static void one_text(const struct reply *r, uint32_t task, const char *fmt, const char *value)
{
	struct strbuf out = { 0 };
	const char *at = strchr(fmt, '@');

	strbuf_add(&out, fmt, (size_t)(at - fmt));
	strbuf_adds(&out, value);
	strbuf_adds(&out, at + 1);
	say_one(r, task, out.s);
	strbuf_free(&out);
}

static void one_kvsname(const struct reply *r, uint32_t task, const struct fields *f)
{
	(void)f;
	one_text(r, task, "cmd=my_kvsname rc=0 kvsname=@\n", r->p->name);
}

static void one_appnum(const struct reply *r, uint32_t task, const struct fields *f)
{
	(void)f;
	say_one(r, task, "cmd=appnum rc=0 appnum=0\n");
}

static void one_universe(const struct reply *r, uint32_t task, const struct fields *f)
{
	char size[32];

	(void)f;
	snprintf(size, sizeof(size), "%u", r->p->tasks);
	one_text(r, task, "cmd=universe_size rc=0 size=@\n", size);
}

static void one_put(const struct reply *r, uint32_t task, const struct fields *f)
{
	const char *key = field(f, "key"), *value = field(f, "value");
	bool done = key && value && put(r->p, key, value);

	say_one(r, task,
	        done ? "cmd=put_result rc=0 msg=success\n" : "cmd=put_result rc=-1 msg=no_room\n");
}

static void one_get(const struct reply *r, uint32_t task, const struct fields *f)
{
	const char *key = field(f, "key"), *value = key ? get(r->p, key) : NULL;

	if (value)
		one_text(r, task, "cmd=get_result rc=0 msg=success value=@\n", value);
	else
		say_one(r, task, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

/* All tasks of the step are in it: each gets the answer of its protocol. */
static void end_fence(const struct reply *r)
{
	struct pmi *p = r->p;

	p->in_fence = 0;
	for (uint32_t i = 0; i < p->tasks; i++) {
		p->of[i].in = false;
		if (p->of[i].two)
			say_two(r, i, "kvs-fence-response", p->of[i].thread, "rc=0;");
		else
			say_one(r, i, "cmd=barrier_out rc=0\n");
	}
}

static void enter_fence(const struct reply *r, uint32_t task, const struct fields *f)
{
	struct pmi *p = r->p;
	const char *thread = field(f, "thrid");

	if (p->of[task].in)
		return;
	p->of[task].in = true;
	free(p->of[task].thread);
	p->of[task].thread = thread ? xstrdup(thread) : NULL;
	if (++p->in_fence == p->tasks)
		end_fence(r);
}

static void one_finalize(const struct reply *r, uint32_t task, const struct fields *f)
{
	(void)f;
	say_one(r, task, "cmd=finalize_ack rc=0\n");
}

static void do_abort(const struct reply *r, uint32_t task, const struct fields *f)
{
	(void)task;
	(void)f;
	r->p->aborted = true;
}

static void one_spawn(const struct reply *r, uint32_t task, const struct fields *f)
{
	(void)f;
	say_one(r, task, "cmd=spawn_result rc=-1 errmsg=not_supported\n");
}

/* --- PMI-2 ------------------------------------------------------------------------------------ */

static void two_fullinit(const struct reply *r, uint32_t task, const struct fields *f)
{
	char *rest = xasprintf(
	        "rc=0;pmi-version=2;pmi-subversion=0;rank=%u;size=%u;appnum=0;debugged=FALSE;"
	        "pmiverbose=FALSE;pmijobid=%s;",
	        task, r->p->tasks, r->p->name);

	r->p->of[task].two = true;
	say_two(r, task, "fullinit-response", field(f, "thrid"), rest);
	free(rest);
}

static void two_job_id(const struct reply *r, uint32_t task, const struct fields *f)
{
	char *rest = xasprintf("rc=0;jobid=%s;", r->p->name);

	say_two(r, task, "job-getid-response", field(f, "thrid"), rest);
	free(rest);
}

static void two_put(const struct reply *r, uint32_t task, const struct fields *f)
{
	const char *key = field(f, "key"), *value = field(f, "value");
	bool done = key && value && put(r->p, key, value);

	say_two(r, task, "kvs-put-response", field(f, "thrid"), done ? "rc=0;" : "rc=1;");
}

static void say_value(const struct reply *r, uint32_t task, const char *cmd, const char *thread,
        const char *value)
{
	struct strbuf rest = { 0 };

	strbuf_adds(&rest, value ? "rc=0;found=TRUE;value=" : "rc=0;found=FALSE;");
	for (const char *c = value; c && *c; c++)
		strbuf_adds(&rest, *c == ';' ? ";;" : (char[]){ *c, 0 });
	if (value)
		strbuf_adds(&rest, ";");
	say_two(r, task, cmd, thread, rest.s);
	strbuf_free(&rest);
}

static void two_get(const struct reply *r, uint32_t task, const struct fields *f)
{
	const char *key = field(f, "key");

	say_value(r, task, "kvs-get-response", field(f, "thrid"), key ? get(r->p, key) : NULL);
}

/* Attributes of a node are kept beside the others, under a name that tasks cannot put. */
static char *node_key(const struct pmi *p, uint32_t task, const char *key)
{
	return xasprintf("%u;%.48s", p->rank[task], key);
}

static void two_node_get(const struct reply *r, uint32_t task, const struct fields *f)
{
	const char *key = field(f, "key"), *wait = field(f, "wait"), *thread = field(f, "thrid"),
	           *value;
	char *name = node_key(r->p, task, key ? key : "");
	struct waiter *w;

	value = get(r->p, name);
	if (!value && wait && !strcmp(wait, "TRUE")) {
		w = xcalloc(1, sizeof(*w));
		*w = (struct waiter){ r->p->waiters, task, name, thread ? xstrdup(thread) : NULL };
		r->p->waiters = w;
		return;
	}
	say_value(r, task, "info-getnodeattr-response", thread, value);
	free(name);
}

static void answer_waiters(const struct reply *r, const char *name, const char *value)
{
	struct waiter **at = &r->p->waiters;

	while (*at) {
		struct waiter *w = *at;

		if (strcmp(w->key, name) != 0) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		say_value(r, w->task, "info-getnodeattr-response", w->thread, value);
		free(w->key);
		free(w->thread);
		free(w);
	}
}

static void two_node_put(const struct reply *r, uint32_t task, const struct fields *f)
{
	const char *key = field(f, "key"), *value = field(f, "value");
	char *name = node_key(r->p, task, key ? key : "");
	bool done = key && value && put(r->p, name, value);

	say_two(r, task, "info-putnodeattr-response", field(f, "thrid"), done ? "rc=0;" : "rc=1;");
	if (done)
		answer_waiters(r, name, value);
	free(name);
}

static void two_job_get(const struct reply *r, uint32_t task, const struct fields *f)
{
	const char *key = field(f, "key");
	char size[32];

	snprintf(size, sizeof(size), "%u", r->p->tasks);
	say_value(r, task, "info-getjobattr-response", field(f, "thrid"),
	        !key                                  ? NULL
	        : !strcmp(key, "universeSize")        ? size
	        : !strcmp(key, "PMI_process_mapping") ? r->p->mapping
	                                              : get(r->p, key));
}

static void two_finalize(const struct reply *r, uint32_t task, const struct fields *f)
{
	say_two(r, task, "finalize-response", field(f, "thrid"), "rc=0;");
}

/* --- all of it -------------------------------------------------------------------------------- */

static const struct {
	const char *cmd;
	void (*take)(const struct reply *r, uint32_t task, const struct fields *f);
} commands[] = {
	{ "init", one_init },
	{ "get_maxes", one_maxes },
	{ "get_my_kvsname", one_kvsname },
	{ "get_appnum", one_appnum },
	{ "get_universe_size", one_universe },
	{ "put", one_put },
	{ "get", one_get },
	{ "barrier_in", enter_fence },
	{ "finalize", one_finalize },
	{ "spawn", one_spawn },
	{ "abort", do_abort },
	{ "fullinit", two_fullinit },
	{ "job-getid", two_job_id },
	{ "kvs-put", two_put },
	{ "kvs-get", two_get },
	{ "kvs-fence", enter_fence },
	{ "info-getnodeattr", two_node_get },
	{ "info-putnodeattr", two_node_put },
	{ "info-getjobattr", two_job_get },
	{ "finalize", two_finalize },
};

/* "finalize" is a command of both: the later row is PMI-2's. */
static bool is_protocol(size_t i, bool two)
{
	return commands[i].take != (two ? one_finalize : two_finalize);
}

/* What PMI-2 has and this has not, such as spawning and names of services. */
static void two_unknown(
        const struct reply *r, uint32_t task, const char *cmd, const struct fields *f)
{
	char *response = xasprintf("%.64s-response", cmd);

	say_two(r, task, response, field(f, "thrid"), "rc=1;errmsg=not supported;");
	free(response);
}

void pmi_ask(struct pmi *p, uint32_t task, const uint8_t *data, size_t len, pmi_answer_fn *answer,
        void *arg)
{
	struct reply r = { p, answer, arg };
	bool two = len >= 6 && data[0] != 'c' && data[0] != 'm';
	char *text = xcalloc(len + 2, 1);
	struct fields f;
	const char *cmd;
	bool known = false;

	memcpy(text, two ? data + 6 : data, two ? len - 6 : len);
	split(text, two, &f);
	cmd = field(&f, "cmd");
	cmd = cmd ? cmd : field(&f, "mcmd");
	for (size_t i = 0; cmd && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].cmd, cmd) && is_protocol(i, two)) {
			commands[i].take(&r, task, &f);
			known = true;
			break;
		}
	if (cmd && two && !known)
		two_unknown(&r, task, cmd, &f);
	free(text);
}
