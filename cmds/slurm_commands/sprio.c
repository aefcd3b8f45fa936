/* sprio.c - what the priorities of waiting jobs are made of, as Slurm's sprio lists it */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/slurm_commands/jobfields.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/sorted_lines.h"
#include "common/gpusched.pb-c.h"

/* A job, or (`prio` NULL) the weights. */
struct prio_line {
	const Gpusched__Prio *prio;
	const Gpusched__PrioWeights *weights;
};

#define LINE const struct prio_line *l = object

/* The points of a factor, its part of 1, and of the weights the factor's. */
#define SHOW_FACTOR(factor, number)                                          \
	SHOW(points_##factor)                                                \
	{                                                                    \
		LINE;                                                        \
		if (l->prio)                                                 \
			view_number(cell, l->prio->points->number);          \
		else if (l->weights)                                         \
			view_number(cell, l->weights->factor);               \
	}                                                                    \
	SHOW(part_##factor)                                                  \
	{                                                                    \
		LINE;                                                        \
		if (l->prio)                                                 \
			view_printf(cell, "%.7f", l->prio->factors->factor); \
		else if (l->weights)                                         \
			view_number(cell, l->weights->factor);               \
	}
SHOW_FACTOR(age, age)
SHOW_FACTOR(fair_share, fair_share)
SHOW_FACTOR(size, size)
SHOW_FACTOR(partition, partition)
SHOW_FACTOR(qos, qos)
SHOW_FACTOR(wait, wait)

SHOW(id)
{
	LINE;

	if (!l->prio) {
		view_text(cell, "Weights");
		return;
	}
	job_id_text(cell->buf, sizeof(cell->buf), l->prio->id, l->prio->tasks,
	        strpbrk(l->prio->tasks, "-,") != NULL, 0);
	cell->text = cell->buf;
	cell->is_number = true;
	cell->number = (int64_t)l->prio->id;
}

#define SHOW_TEXT(name, field) CELL(name, LINE, view_text(cell, l->prio ? l->prio->field : ""))
SHOW_TEXT(account, account)
SHOW_TEXT(partition_name, partition)
SHOW_TEXT(user, user)

SHOW(priority)
{
	LINE;
	if (l->prio)
		view_number(cell, l->prio->priority);
}

SHOW(priority_part)
{
	LINE;
	if (l->prio)
		view_printf(cell, "%.8f", (double)l->prio->priority / 4294967296.0);
}

SHOW(nice)
{
	LINE;
	if (l->prio)
		view_number(cell, l->prio->points->nice);
}

#define FIELD(letter, heading, show, text) \
	SLURM_CMD_FIELD(letter, NULL, heading, 0, text, show_##show, 0)
#define NOT_KNOWN(letter, heading) SLURM_CMD_FIELD(letter, NULL, heading, 0, "0", NULL, 0)
#define WAIT "the points of --max-wait"

static const struct slurm_cmd_field fields[] = {
	FIELD('a', "AGE", part_age, NULL),
	FIELD('A', "AGE", points_age, NULL),
	NOT_KNOWN('b', "ASSOC"),
	NOT_KNOWN('B', "ASSOC"),
	SLURM_CMD_FIELD('c', NULL, "CLUSTER", 0, NULL, slurm_cmd_show_cluster, 0),
	FIELD('f', "FAIRSHARE", part_fair_share, NULL),
	FIELD('F', "FAIRSHARE", points_fair_share, NULL),
	FIELD('i', "JOBID", id, NULL),
	FIELD('j', "JOBSIZE", part_size, NULL),
	FIELD('J', "JOBSIZE", points_size, NULL),
	FIELD('N', "NICE", nice, NULL),
	FIELD('o', "ACCOUNT", account, NULL),
	FIELD('p', "PARTITION", part_partition, NULL),
	FIELD('P', "PARTITION", points_partition, NULL),
	FIELD('q', "QOS", part_qos, NULL),
	FIELD('Q', "QOS", points_qos, NULL),
	FIELD('r', "PARTITION", partition_name, NULL),
	FIELD('S', "SITE", points_wait, WAIT),
	FIELD('s', "SITE", part_wait, WAIT),
	NOT_KNOWN('t', "TRES"),
	NOT_KNOWN('T', "TRES"),
	FIELD('u', "USER", user, NULL),
	FIELD('y', "PRIORITY", priority_part, NULL),
	FIELD('Y', "PRIORITY", priority, NULL),
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

SLURM_CMD_TABLE(field, sprio_fields, fields)

#define FORMAT_LONG "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T"

struct sprio {
	struct filter filter;
	const char *format, *sort, *clusters;
	bool longer, norm, weights, no_heading, chosen;
	struct fields fields;
	struct rows rows;
	size_t seen;
};

static CMD_SETTER(set_jobs)
{
	return value ? filter_add(field, FILTER_IDS, "--jobs", value, err) : 0;
}

static const struct slurm_cmd_option options[] = {
	SLURM_CMD_CLUSTERS(struct sprio, clusters, "clusters"),
	SLURM_CMD_NONE("federation", 0, SLURM_CMD_PLAIN, "there are no federations"),
	SLURM_CMD_ROW(struct sprio, format, "format", 'o', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_ROW(struct sprio, filter, "jobs", 'j', SLURM_CMD_NEXT, set_jobs),
	SLURM_CMD_SAME("local", 0, SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct sprio, longer, "long", 'l', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(struct sprio, no_heading, "noheader", 'h', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_ROW(struct sprio, norm, "norm", 'n', SLURM_CMD_PLAIN, cmd_set_flag),
	SLURM_CMD_FILTER(struct sprio, filter, "partition", 'p', FILTER_PARTITIONS),
	SLURM_CMD_NONE("sibling", 0, SLURM_CMD_PLAIN, "there are no federations"),
	SLURM_CMD_ROW(struct sprio, sort, "sort", 'S', SLURM_CMD_VALUE, cmd_set_text),
	SLURM_CMD_FILTER(struct sprio, filter, "user", 'u', FILTER_USERS),
	SLURM_CMD_SAME("verbose", 'v', SLURM_CMD_PLAIN),
	SLURM_CMD_ROW(struct sprio, weights, "weights", 'w', SLURM_CMD_PLAIN, cmd_set_flag),
};

/* A column for each factor that has a weight, as sprio does. */
static void choose_format(struct sprio *s, const Gpusched__PrioWeights *w)
{
	char own[160];
	const char *order = s->sort ? s->sort : "i";
	bool n = s->norm;

	snprintf(own, sizeof(own), "%%.15i %%9r %s%s%s%s%s%s%s", n ? "%10y" : "%.10Y",
	        !w || w->wait ? n ? " %10s" : " %.10S" : "",
	        !w || w->age ? n ? " %10a" : " %.10A" : "",
	        !w || w->fair_share ? n ? " %10f" : " %.10F" : "",
	        !w || w->size ? n ? " %10j" : " %.10J" : "",
	        !w || w->partition ? n ? " %10p" : " %.10P" : "",
	        !w || w->qos ? n ? " %10q" : " %.10Q" : "");
	fields_letters(&s->fields, "sprio",
	        s->format   ? s->format
	        : s->longer ? FORMAT_LONG
	                    : own,
	        fields, N_FIELDS);
	rows_order(&s->rows, "sprio", order, fields, N_FIELDS);
	s->chosen = true;
}

static int on_chunk(const ProtobufCMessage *m, void *arg, struct error *err)
{
	const Gpusched__PrioChunk *chunk = (const Gpusched__PrioChunk *)m;
	struct sprio *s = arg;

	if (!s->chosen)
		choose_format(s, chunk->weights);
	if (s->weights && chunk->weights) {
		const struct prio_line line = { NULL, chunk->weights };

		rows_add(&s->rows, &s->fields, &line);
	}
	for (size_t i = 0; i < chunk->n_prios && !s->weights; i++) {
		const struct prio_line line = { chunk->prios[i], NULL };

		if (!line.prio->points || !line.prio->factors)
			return error_set(err, ERR_PROTOCOL, "a priority without its parts");
		rows_add(&s->rows, &s->fields, &line);
		s->seen++;
	}
	return 0;
}

static int ask(struct sprio *s, struct client *c, struct error *err)
{
	Gpusched__ListPrios request = GPUSCHED__LIST_PRIOS__INIT;
	Gpusched__JobFilter filter;
	struct client_call call = CLIENT_ASK(LIST_PRIOS, &request.base, PRIO_CHUNK, on_chunk, s);

	if (!s->weights && filter_add(&s->filter, FILTER_STATES, "", "PENDING", err) < 0)
		return -1;
	filter_message(&s->filter, &filter);
	request.filter = &filter;
	return client_call(c, &call, err);
}

static int list(struct sprio *s, struct client *c)
{
	struct strbuf heading = { 0 };
	struct error err;
	int rc = ask(s, c, &err);

	if (rc < 0 && error_exit_status(err.code) != EXIT_NO_OBJECT)
		return slurm_cmd_fail_load(
		        "sprio", "Couldn't get priority factors from controller", &err);
	if (!s->weights && !s->seen && (s->filter.ids.n || s->filter.lists[FILTER_USERS].n)) {
		puts("Unable to find jobs matching user/id(s) specified");
		return 0;
	}
	if (!s->chosen)
		choose_format(s, NULL);
	fields_line(&s->fields, NULL, &heading);
	if (!s->no_heading)
		fwrite(heading.s, 1, heading.len, stdout);
	strbuf_free(&heading);
	rows_print(&s->rows, stdout);
	return 0;
}

static int run(struct sprio *s)
{
	struct client *c = slurm_cmd_client(
	        "sprio", "Couldn't get priority factors from controller", s->clusters);
	int status;

	if (!c)
		return SLURM_CMD_FAILED;
	status = list(s, c);
	client_free(c);
	return status;
}

int sprio_main(int argc, char **argv)
{
	struct sprio s = { .format = NULL };
	int status = slurm_cmd_parse("sprio", NULL, argc, argv, &s);

	if (status == CMD_GO_ON)
		status = slurm_cmd_finish("sprio", run(&s));
	rows_clear(&s.rows);
	fields_clear(&s.fields);
	filter_clear(&s.filter);
	return status;
}

SLURM_CMD_TABLE(option, sprio_options, options)
