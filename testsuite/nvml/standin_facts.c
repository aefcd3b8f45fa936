/* standin_facts.c - see standin.h */
#include "testsuite/nvml/standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct facts facts;

/* The value of KEY in a line's words, "" if it is not there. */
static const char *word(const char *line, const char *key)
{
	static char value[4][512];
	static unsigned turn;
	char *out = value[turn++ % 4];
	size_t n = strlen(key), len;
	const char *at = line;

	out[0] = '\0';
	while ((at = strstr(at, key))) {
		if (at > line && at[-1] == ' ' && at[n] == '=') {
			at += n + 1;
			len = *at == '"' ? strcspn(++at, "\"") : strcspn(at, " \t\n");
			snprintf(out, sizeof(value[0]), "%.*s", (int)len, at);
			break;
		}
		at += n;
	}
	return out;
}

static int number(const char *line, const char *key, int otherwise)
{
	const char *text = word(line, key);

	return *text ? (int)strtol(text, NULL, 0) : otherwise;
}

static void set(char *to, const char *text)
{
	snprintf(to, TEXT, "%.*s", TEXT - 1, text);
}

static void add_gpu(struct facts *f, const char *line)
{
	struct gpu *g = &f->gpus[f->n_gpus];

	if (f->n_gpus == MAX_GPUS)
		return;
	set(g->uuid, word(line, "uuid"));
	set(g->name, word(line, "name"));
	if (sscanf(word(line, "pci"), "%x:%x:%x", &g->domain, &g->bus, &g->device) != 3)
		g->bus = f->n_gpus + 1;
	g->minor = (unsigned)number(line, "minor", (int)f->n_gpus);
	g->mem = (unsigned)number(line, "mem", 81559);
	g->used = (unsigned)number(line, "used", 0);
	g->reserved = (unsigned)number(line, "reserved", 0);
	g->power = (unsigned)number(line, "power", 700);
	g->compute = (unsigned)number(line, "compute", 0);
	g->memory = (unsigned)number(line, "memory", 0);
	g->temp = (unsigned)number(line, "temp", 35);
	g->energy = (unsigned long long)number(line, "energy", 0);
	g->watts = (unsigned)number(line, "watts", 0);
	g->draw = (unsigned)number(line, "draw", 60);
	g->sm_clock = (unsigned)number(line, "sm_clock", 345);
	g->mem_clock = (unsigned)number(line, "mem_clock", 1593);
	g->nan = number(line, "nan", 0) != 0;
	g->ecc = number(line, "ecc", 1);
	g->slowdown = (unsigned)number(line, "slowdown", 90);
	g->ecc_errors = (unsigned)number(line, "ecc_errors", 0);
	g->ecc_total = (unsigned)number(line, "ecc_total", 0);
	g->remap_pending = (unsigned)number(line, "remap_pending", 0);
	g->remap_failed = (unsigned)number(line, "remap_failed", 0);
	g->recovery = number(line, "recovery", -1);
	g->reset = number(line, "reset", -1);
	g->drain_reset = number(line, "drain_reset", -1);
	g->mig = number(line, "mig", 0);
	g->lost = number(line, "lost", 0);
	for (unsigned i = 0; i < 4; i++)
		g->path[i] = -1;
	sscanf(word(line, "path"), "%d/%d/%d/%d", &g->path[0], &g->path[1], &g->path[2],
	        &g->path[3]);
	f->n_gpus++;
}

static void add_mig(struct facts *f, const char *line)
{
	unsigned gpu = (unsigned)number(line, "gpu", 0);
	struct gpu *g = gpu < MAX_GPUS ? &f->gpus[gpu] : NULL;
	struct mig *m = g && g->n_mig < MAX_MIG ? &g->migs[g->n_mig] : NULL;

	if (!m)
		return;
	set(m->uuid, word(line, "uuid"));
	set(m->profile, word(line, "profile"));
	m->gi = (unsigned)number(line, "gi", (int)g->n_mig + 1);
	m->ci = (unsigned)number(line, "ci", 0);
	m->mem = (unsigned)number(line, "mem", 9856);
	m->used = (unsigned)number(line, "used", 0);
	m->slices = (unsigned)number(line, "slices", 1);
	m->compute_slices = (unsigned)number(line, "compute_slices", (int)m->slices);
	g->n_mig++;
}

static void add_link(struct facts *f, const char *line)
{
	unsigned gpu = (unsigned)number(line, "gpu", 0);
	struct gpu *g = gpu < MAX_GPUS ? &f->gpus[gpu] : NULL;
	const char *to = word(line, "to");

	if (g && g->n_links < 18)
		g->links[g->n_links++] =
		        strcmp(to, "switch") == 0 ? TO_SWITCH : (unsigned)strtoul(to, NULL, 10);
}

static void add_fault(struct facts *f, const char *line, int kind)
{
	struct fault *t = &f->faults[f->n_faults];

	if (f->n_faults == MAX_FACTS)
		return;
	t->kind = kind;
	set(t->call, word(line, "call"));
	set(t->path, word(line, "path"));
	t->gpu = number(line, "gpu", -1);
	t->result = kind == SLOW ? number(line, "ms", 0) : number(line, "result", 999);
	f->n_faults++;
}

static bool begins(const char *line, const char *what)
{
	size_t n = strlen(what);

	return strncmp(line, what, n) == 0 && line[n] == ' ';
}

static void take_line(struct facts *f, const char *line)
{
	if (begins(line, "driver")) {
		set(f->driver, word(line, "version"));
		f->cuda = number(line, "cuda", 0);
	} else if (begins(line, "init")) {
		f->init = number(line, "result", 0);
	} else if (begins(line, "gpu")) {
		add_gpu(f, line);
	} else if (begins(line, "mig")) {
		add_mig(f, line);
	} else if (begins(line, "link")) {
		add_link(f, line);
	} else if (begins(line, "ancestor") && f->n_ancestors < MAX_FACTS) {
		f->ancestors[f->n_ancestors++] =
		        (struct ancestor){ (unsigned)number(line, "gpu", 0),
			        (unsigned)number(line, "with", 0), number(line, "level", 0) };
	} else if (begins(line, "process") && f->n_processes < MAX_FACTS) {
		f->processes[f->n_processes++] = (struct process){ (unsigned)number(line, "gpu", 0),
			(unsigned)number(line, "pid", 0), (unsigned)number(line, "mem", 0),
			(unsigned)number(line, "sm", 0), number(line, "mig", -1) };
	} else if (begins(line, "xid") && f->n_xids < MAX_FACTS) {
		f->xids[f->n_xids++] = (struct xid){ (unsigned)number(line, "gpu", 0),
			(unsigned)number(line, "code", 0), (unsigned)number(line, "seq", 0),
			(unsigned)number(line, "gi", -1), (unsigned)number(line, "ci", -1) };
	} else if (begins(line, "fail")) {
		add_fault(f, line, FAIL);
	} else if (begins(line, "hang")) {
		add_fault(f, line, HANG);
	} else if (begins(line, "crash")) {
		add_fault(f, line, CRASH);
	} else if (begins(line, "slow")) {
		add_fault(f, line, SLOW);
	} else if (begins(line, "write")) {
		add_fault(f, line, WRITE);
	}
}

void read_facts(void)
{
	const char *path = getenv("NVML_STANDIN");
	FILE *file = path ? fopen(path, "re") : NULL;
	char line[1024];

	memset(&facts, 0, sizeof(facts));
	set(facts.driver, "550.54.15");
	facts.cuda = 12040;
	if (!file) {
		facts.init = 9;
		return;
	}
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = '\0';
		take_line(&facts, line);
	}
	fclose(file);
}
