/* propose_conf.c - see propose_conf.h */
#include "ctld/gdemand/propose_conf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/strbuf.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"
#include "common/gpu/gpus_by_type.h"

#define RECLAIM_S   30 /* the default grace time: after it lent GPUs are back */
#define MEMBERS_MAX 32
#define NAME_MAX_   64

/* GPUs of one type, or of any. */
struct line {
	const char *type; /* GPUS_BY_TYPE_ANY */
	uint64_t floor, limit;
	double from_floor, from_kept; /* as they were found */
};

struct proposal {
	const struct demand *d;
	FILE *out;
	bool first; /* of a list */
};

/* --- words that a gpusched.conf takes -------------------------------------------------------- */

static bool is_name(const char *text)
{
	size_t n = strlen(text);

	return n && n <= NAME_MAX_ && strchr("-._", text[0]) == NULL &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
	               n;
}

/* The name of the type in gpusched.conf: "any" for alternatives and for types that it does not
 * have. */
static const char *conf_type(const struct demand *d, uint32_t type)
{
	const char *text = type == DEMAND_ALL ? GPUS_BY_TYPE_ANY : text_numbers_text(d->past->names, type);

	if (gpus_by_type_check(text, NULL) < 0)
		return GPUS_BY_TYPE_ANY;
	if (d->conf && CONF_FIND(d->conf, gpu_types, text) == CONF_NONE)
		return GPUS_BY_TYPE_ANY;
	return text;
}

/* "5m" and "2:00:00": rounded up to what people would write. */
static void wait_text(char buf[UNITS_TEXT], double s)
{
	double unit = s <= 60 ? 5 : s <= 600 ? 60 : s <= 7200 ? 300 : 3600;
	uint64_t whole = (uint64_t)(ceil(s / unit) * unit);

	duration_format_exact(buf, (whole ? whole : 1) * 1000);
}

/* --- accounts -------------------------------------------------------------------------------- */

static uint64_t largest_job(const struct past *p, const struct scope *s)
{
	int64_t most = 0;
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (past_counts(p, &p->v[i]) && scope_has(s, &p->v[i]))
			most = p->v[i].milli > most ? p->v[i].milli : most;
	}
	return (uint64_t)(most + 999) / 1000;
}

/* If no account has figures of its own, those of all jobs are taken. */
static uint32_t scope_account(const struct demand *d, uint32_t account)
{
	size_t i;

	for (i = 0; i < d->n_scopes; i++) {
		if (d->scopes[i].account != DEMAND_ALL)
			return account;
	}
	return DEMAND_ALL;
}

static bool several_types(const struct demand *d, uint32_t account)
{
	size_t i;

	for (i = 0; i < d->n_scopes; i++) {
		if (d->scopes[i].type != DEMAND_ALL && d->scopes[i].account == account)
			return true;
	}
	return false;
}

/* The type of the first job that counts: called where there is only one type. */
static uint32_t only_type(const struct past *p)
{
	size_t i = 0;

	while (i < p->n - 1 && !past_counts(p, &p->v[i]))
		i++;
	return p->v[i].type;
}

/* The figures of an account, a line for each type; types of the same name are joined. */
static size_t lines_of(const struct demand *d, uint32_t account, struct line *v, size_t max)
{
	uint32_t of = scope_account(d, account);
	bool by_type = several_types(d, of), any = !by_type && several_types(d, DEMAND_ALL);
	size_t n = 0, i, k;

	for (i = 0; i < d->n_scopes && n < max; i++) {
		const struct concurrency *c = &d->concurrency[i];
		uint64_t largest = largest_job(d->past, &c->scope), kept;
		const char *type;

		if (c->scope.account != of || by_type != (c->scope.type != DEMAND_ALL))
			continue;
		type = any ? GPUS_BY_TYPE_ANY
		           : conf_type(d, by_type ? c->scope.type : only_type(d->past));
		for (k = 0; k < n && strcmp(v[k].type, type); k++)
			;
		if (k == n)
			v[n++] = (struct line){ .type = type };
		kept = (uint64_t)ceil(c->kept.value);
		v[k].floor += (uint64_t)c->floor.value;
		v[k].limit += kept > largest ? kept : largest;
		v[k].from_floor += c->floor.value;
		v[k].from_kept += c->kept.value;
	}
	return n;
}

static double tolerated(const struct demand *d, uint32_t account)
{
	size_t i;

	for (i = 0; i < d->n_tolerances; i++) {
		const struct tolerance *t = &d->tolerances[i];

		if (t->account == (account == DEMAND_ALL ? account : scope_account(d, account)))
			return isfinite(t->declared) ? t->declared : t->gave_up.value;
	}
	return NAN;
}

/* Guarantees that exceed what the nodes have are all reduced by the same factor. */
static double fitting(const struct demand *d, const char *type, uint64_t sum)
{
	uint64_t capacity = 0;
	size_t i, g;

	if (!d->conf)
		return 1;
	for (i = 0; i < d->conf->n_nodes; i++) {
		for (g = 0; g < d->conf->nodes[i].n_gpus; g++) {
			const struct conf_gpu_count *c = &d->conf->nodes[i].gpus[g];

			if (!strcmp(type, GPUS_BY_TYPE_ANY) ||
			        !strcmp(type, d->conf->gpu_types[c->type].name))
				capacity += c->count;
		}
	}
	return capacity && sum > capacity ? (double)capacity / (double)sum : 1;
}

#define TYPES_MAX 32

struct account {
	const char *name;
	uint32_t number; /* of the past; DEMAND_ALL: only the configuration has it */
	uint32_t conf;   /* CONF_NONE */
	struct line lines[TYPES_MAX];
	size_t n;
};

struct accounts {
	struct account *v;
	size_t n, size;
};

static struct account *add_account(
        struct accounts *a, const char *name, uint32_t number, uint32_t conf)
{
	a->v = xgrow(a->v, a->n, &a->size, sizeof(*a->v));
	a->v[a->n] = (struct account){ .name = name, .number = number, .conf = conf };
	return &a->v[a->n++];
}

/* Those of the configuration in its order, then those that only the history has. */
static void take_accounts(const struct demand *d, struct accounts *a)
{
	const struct past *p = d->past;
	size_t i, k;

	for (i = 0; d->conf && i < d->conf->n_accounts; i++)
		add_account(a, d->conf->accounts[i].name, DEMAND_ALL, (uint32_t)i);
	for (i = 0; i < p->n; i++) {
		const char *name = text_numbers_text(p->names, p->v[i].account);

		if (!past_counts(p, &p->v[i]) || !is_name(name))
			continue;
		for (k = 0; k < a->n && strcmp(a->v[k].name, name); k++)
			;
		if (k == a->n)
			add_account(a, name, DEMAND_ALL, CONF_NONE);
		if (a->v[k].number != DEMAND_ALL)
			continue;
		a->v[k].number = p->v[i].account;
		a->v[k].n = lines_of(d, p->v[i].account, a->v[k].lines, TYPES_MAX);
	}
}

static void add_lines(struct account *to, const struct account *from)
{
	size_t i, k;

	for (i = 0; i < from->n; i++) {
		for (k = 0; k < to->n && strcmp(to->lines[k].type, from->lines[i].type); k++)
			;
		if (k == to->n && to->n == TYPES_MAX)
			continue;
		if (k == to->n)
			to->lines[to->n++] = (struct line){ .type = from->lines[i].type };
		ADD_FIELDS(&to->lines[k], &from->lines[i], floor, limit, from_floor, from_kept);
	}
}

/* The guarantee of an account includes those of the accounts below it. Children come after their
 * parents. */
static void sum_up(const struct demand *d, struct accounts *a)
{
	size_t i;

	for (i = a->n; i-- > 0;) {
		uint32_t parent = a->v[i].conf == CONF_NONE
		                          ? CONF_NONE
		                          : d->conf->accounts[a->v[i].conf].parent;

		if (parent != CONF_NONE)
			add_lines(&a->v[parent], &a->v[i]);
	}
}

static bool is_top(const struct demand *d, const struct account *a)
{
	return a->conf == CONF_NONE || d->conf->accounts[a->conf].parent == CONF_NONE;
}

/* The sum of the guarantees of all uppermost accounts, for a type or for all together. */
static uint64_t promised(const struct demand *d, const struct accounts *a, const char *type)
{
	bool any = !strcmp(type, GPUS_BY_TYPE_ANY);
	uint64_t sum = 0;
	size_t i, k;

	for (i = 0; i < a->n; i++) {
		for (k = 0; k < a->v[i].n && is_top(d, &a->v[i]); k++) {
			if (any || !strcmp(type, a->v[i].lines[k].type))
				sum += a->v[i].lines[k].floor;
		}
	}
	return sum;
}

static void shrink_type(const struct demand *d, struct accounts *a, const char *type)
{
	double part = fitting(d, type, promised(d, a, type));
	bool any = !strcmp(type, GPUS_BY_TYPE_ANY);
	size_t i, k;

	for (i = 0; part < 1 && i < a->n; i++) {
		for (k = 0; k < a->v[i].n; k++) {
			if (any || !strcmp(type, a->v[i].lines[k].type))
				a->v[i].lines[k].floor =
				        (uint64_t)((double)a->v[i].lines[k].floor * part);
		}
	}
}

/* Each type by itself, and then all together. */
static void shrink(const struct demand *d, struct accounts *a)
{
	size_t i, k;

	for (i = 0; i < a->n; i++) {
		for (k = 0; k < a->v[i].n; k++)
			shrink_type(d, a, a->v[i].lines[k].type);
	}
	shrink_type(d, a, GPUS_BY_TYPE_ANY);
}

/* --- members --------------------------------------------------------------------------------- */

static void put_texts(FILE *out, const char *key, const char *const *v, size_t n)
{
	size_t i;

	fprintf(out, " %s = [", key);
	for (i = 0; i < n; i++)
		fprintf(out, "%s \"%s\"", i ? "," : "", v[i]);
	fputs(" ];", out);
}

/* The users that were seen in an account; "*": too many, or without names. */
static void put_members(const struct proposal *pr, const struct account *a)
{
	const struct past *p = pr->d->past;
	uint32_t users[MEMBERS_MAX];
	const char *names[MEMBERS_MAX] = { "*" };
	size_t n = 0, i, k;
	bool all = false;

	for (i = 0; i < p->n && !all; i++) {
		if (p->v[i].account != a->number)
			continue;
		for (k = 0; k < n && users[k] != p->v[i].user; k++)
			;
		if (k < n)
			continue;
		all = n == MEMBERS_MAX || !is_name(text_numbers_text(p->names, p->v[i].user));
		if (!all)
			users[n++] = p->v[i].user;
	}
	for (i = 0; !all && i < n; i++)
		names[i] = text_numbers_text(p->names, users[i]);
	put_texts(pr->out, "members", names, all || !n ? 1 : n);
}

static void put_identity(const struct proposal *pr, const struct account *a)
{
	const struct conf_account *c;

	if (a->conf == CONF_NONE) {
		put_members(pr, a);
		return;
	}
	c = &pr->d->conf->accounts[a->conf];
	if (*c->parent_name)
		fprintf(pr->out, " parent = \"%s\";", c->parent_name);
	if (c->shares != 1)
		fprintf(pr->out, " shares = %u;", (unsigned)c->shares);
	if (c->members.n)
		put_texts(pr->out, "members", (const char *const *)c->members.v, c->members.n);
}

/* --- the text -------------------------------------------------------------------------------- */

static void put_list(const struct account *a, const char *key, int which, FILE *out)
{
	struct strbuf text = { 0 };
	size_t i;

	for (i = 0; i < a->n; i++) {
		const struct line *l = &a->lines[i];
		uint64_t count = which == 0 ? l->floor : which == 1 ? l->limit : 0;

		/* A guarantee of 0 is left out; that an account lends nothing is written. */
		if ((which == 0 && !count) || (which == 2 && !l->floor))
			continue;
		strbuf_addf(&text, "%s%s:%llu", text.len ? "," : "", l->type,
		        (unsigned long long)count);
	}
	if (text.len)
		fprintf(out, " %s = \"%s\";", key, text.s);
	strbuf_free(&text);
}

static void put_account(struct proposal *pr, const struct account *a)
{
	double wait = a->number == DEMAND_ALL ? NAN : tolerated(pr->d, a->number);
	bool lends = !(wait < RECLAIM_S + pr->d->cold_start_s);
	char text[SHEET_CELL_TEXT];
	size_t i;

	fprintf(pr->out, "%s  { name = \"%s\";", pr->first ? "" : ",\n", a->name);
	pr->first = false;
	put_identity(pr, a);
	for (i = 0; i < a->n; i++)
		fprintf(pr->out,
		        "\n    # %s: wanted 95 %% of the time: %.1f; for an hour on end at most "
		        "%.1f",
		        a->lines[i].type, a->lines[i].from_floor, a->lines[i].from_kept);
	if (isfinite(wait))
		fprintf(pr->out, "\n    # waits up to %s; lends %s",
		        sheet_format(text, SHEET_TIME, wait),
		        lends ? "all of it" : "nothing: too short to get it back");
	if (a->n) {
		fputs("\n    quota = {", pr->out);
		put_list(a, "guaranteed", 0, pr->out);
		put_list(a, "limit", 1, pr->out);
		if (!lends)
			put_list(a, "lend", 2, pr->out);
		fputs(" };", pr->out);
	}
	fputs(" }", pr->out);
}

static void put_accounts(struct proposal *pr)
{
	struct accounts a = { 0 };
	size_t i;

	take_accounts(pr->d, &a);
	sum_up(pr->d, &a);
	shrink(pr->d, &a);
	if (!a.n)
		fputs("# The history names no accounts.\n", pr->out);
	else
		fputs("accounts = (\n", pr->out);
	pr->first = true;
	for (i = 0; i < a.n; i++)
		put_account(pr, &a.v[i]);
	if (a.n)
		fputs("\n);\n", pr->out);
	free(a.v);
}

/* The median of the waits that jobs of a QOS declare, in seconds; NAN: none declares one. */
static double qos_wait(const struct past *p, uint32_t qos)
{
	struct weighted w = { 0 };
	double wait;
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (past_counts(p, &p->v[i]) && p->v[i].qos == qos && p->v[i].declared)
			weighted_add(&w, (double)p->v[i].target / 1e6, 1, 0);
	}
	weighted_seal(&w);
	wait = weighted_quantile(&w, 0.5, NULL);
	weighted_clear(&w);
	return wait;
}

static void put_qos(struct proposal *pr, const char *name, double wait, bool is_default)
{
	bool has = pr->d->conf && pr->d->conf->n_qos;
	char text[UNITS_TEXT];

	if (!isfinite(wait))
		return;
	wait_text(text, wait);
	if (has)
		fprintf(pr->out, "# qos \"%s\": max_wait = \"%s\";\n", name, text);
	else
		fprintf(pr->out, "%s  { name = \"%s\"; max_wait = \"%s\";%s }",
		        pr->first ? "qos = (\n" : ",\n", name, text,
		        is_default ? " default = true;" : "");
	pr->first = false;
}

static void put_all_qos(struct proposal *pr)
{
	const struct past *p = pr->d->past;
	double all = tolerated(pr->d, DEMAND_ALL), wait;
	bool named = false, *seen;
	size_t i, n = 0;

	for (i = 0; i < p->n; i++)
		n = p->v[i].qos >= n ? (size_t)p->v[i].qos + 1 : n;
	seen = xcalloc(n, sizeof(*seen));
	pr->first = true;
	for (i = 0; i < p->n; i++) {
		const char *name = text_numbers_text(p->names, p->v[i].qos);

		if (seen[p->v[i].qos] || !is_name(name))
			continue;
		seen[p->v[i].qos] = named = true;
		wait = qos_wait(p, p->v[i].qos);
		put_qos(pr, name, isfinite(wait) ? wait : all, false);
	}
	if (!named)
		put_qos(pr, "normal", all, true);
	if (!pr->first && !(pr->d->conf && pr->d->conf->n_qos))
		fputs("\n);\n", pr->out);
	if (pr->first)
		fputs("# max_wait: no user says it, and too few cancel what waits.\n", pr->out);
	free(seen);
}

void propose(const struct demand *d, FILE *out)
{
	struct proposal pr = { .d = d, .out = out };

	fputs("# Proposed by gdemand(1): sections of gpusched.conf(5), to be read before they are "
	      "used.\n"
	      "# guaranteed is the floor, limit the highest level of an hour or the largest job.\n",
	        out);
	if (d->conf)
		fputs("# Shares, members and parents are those of the configuration; its other "
		      "keys are "
		      "to be kept.\n",
		        out);
	if (d->accounts_left_out)
		fprintf(out,
		        "# Nothing is proposed for %zu accounts with fewer GPU-hours: --top=%zu.\n",
		        d->accounts_left_out, d->accounts_left_out + d->top);
	put_accounts(&pr);
	put_all_qos(&pr);
}
