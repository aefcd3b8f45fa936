/* manual.c - see manual.h */
#include "cmds/slurm_commands/manual.h"

#include <string.h>

#include "cmds/slurm/sbatch_options.h"
#include "cmds/slurm_commands/scontrol_records.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/srun/srun_options.h"

static const char *const verdicts[] = {
	[SLURM_CMD_YES] = "yes",
	[SLURM_CMD_DIFFERS] = "differs",
	[SLURM_CMD_NO] = "no",
};

/* What mdoc would take for its own: a backslash, a point or a quote in front. */
static void put(FILE *out, const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c == '\\')
			fputs("\\e", out);
		else if (*c == '-')
			fputs("\\-", out);
		else
			fputc(*c, out);
}

/* One row of any table. */
struct entry {
	char name[160]; /* with its macros */
	enum slurm_cmd_says says;
	const char *before, *text; /* `before` begins the text */
};

typedef struct entry entry_of(const void *table, size_t i);

static struct entry entry_of_option(const void *table, size_t i)
{
	const struct slurm_cmd_option *o = (const struct slurm_cmd_option *)table + i;
	struct entry e = { .says = o->says, .before = "", .text = o->text };

	if (o->letter)
		snprintf(e.name, sizeof(e.name), "Fl -%s , Fl %c", o->name, o->letter);
	else
		snprintf(e.name, sizeof(e.name), "Fl -%s", o->name);
	return e;
}

static struct entry entry_of_word(const void *table, size_t i)
{
	const struct slurm_cmd_word *w = (const struct slurm_cmd_word *)table + i;
	struct entry e = { .says = w->says, .before = "", .text = w->text };

	snprintf(e.name, sizeof(e.name), "Cm %s", w->name);
	return e;
}

static struct entry entry_of_field(const void *table, size_t i)
{
	const struct slurm_cmd_field *f = (const struct slurm_cmd_field *)table + i;
	bool shown = f->show || f->like;
	struct entry e = { .says = !shown    ? SLURM_CMD_NO
		                   : f->text ? SLURM_CMD_DIFFERS
		                             : SLURM_CMD_YES,
		.before = shown                 ? ""
		          : f->text && *f->text ? "always "
		                                : "always empty",
		.text = f->text ? f->text : "" };

	if (f->letter && f->name)
		snprintf(e.name, sizeof(e.name), "Cm \\&%%%c , Cm %s", f->letter, f->name);
	else if (f->letter)
		snprintf(e.name, sizeof(e.name), "Cm \\&%%%c", f->letter);
	else
		snprintf(e.name, sizeof(e.name), "Cm %s", f->name);
	return e;
}

/* Those that are as in Slurm one after another, the others each with its sentence. */
static void print_verdict(FILE *out, const char *title, const void *table, size_t n, entry_of *of,
        enum slurm_cmd_says says)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		struct entry e = of(table, i);

		if (e.says != says)
			continue;
		if (!found++)
			fprintf(out, ".Pp\n%s, %s:%s", title, verdicts[says],
			        says == SLURM_CMD_YES ? "\n" : "\n.Bl -tag -width Ds -compact\n");
		else if (says == SLURM_CMD_YES)
			fprintf(out, " ;\n");
		fprintf(out, "%s%s", says == SLURM_CMD_YES ? "." : ".It ", e.name);
		if (says == SLURM_CMD_YES)
			continue;
		fprintf(out, "\n%s", e.before);
		put(out, e.text);
		fputc('\n', out);
	}
	if (found)
		fprintf(out, "%s", says == SLURM_CMD_YES ? " .\n" : ".El\n");
}

static void print_table(FILE *out, const char *title, const void *table, size_t n, entry_of *of)
{
	print_verdict(out, title, table, n, of, SLURM_CMD_YES);
	print_verdict(out, title, table, n, of, SLURM_CMD_DIFFERS);
	print_verdict(out, title, table, n, of, SLURM_CMD_NO);
}

static void print_records(FILE *out)
{
	static const struct {
		const char *title;
		const struct slurm_cmd_field *(*table)(size_t *n);
	} tables[] = {
		{ "Keys of show job", record_job },
		{ "Keys of show node", record_node },
		{ "Keys of show partition", record_partition },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		size_t n;
		const struct slurm_cmd_field *f = tables[i].table(&n);

		print_table(out, tables[i].title, f, n, entry_of_field);
	}
}

/* --- srun and salloc, which are programs of their own ----------------------------------------- */

static struct entry entry_of_srun(const void *table, size_t i)
{
	static const enum slurm_cmd_says says[] = { [SRUN_STEP] = SLURM_CMD_YES,
		[SRUN_NOTHING] = SLURM_CMD_DIFFERS,
		[SRUN_REFUSED] = SLURM_CMD_NO };
	const struct srun_row *row = (const struct srun_row *)table + i;
	struct entry e = { .says = says[row->kind],
		.before = row->kind == SRUN_NOTHING ? "taken without effect" : "",
		.text = row->text };

	if (row->letter)
		snprintf(e.name, sizeof(e.name), "Fl -%s , Fl %c", row->name, row->letter);
	else
		snprintf(e.name, sizeof(e.name), "Fl -%s", row->name);
	return e;
}

static bool srun_has(const char *name)
{
	size_t n;
	const struct srun_row *rows = srun_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i].name, name))
			return true;
	return false;
}

/* Those of sbatch's that say something of a job; `own` are in srun's table as well. */
static void print_of_job(FILE *out, const char *title, bool own)
{
	size_t n, found = 0;
	const struct sbatch_row *rows = sbatch_rows(&n);

	fprintf(out, ".Pp\n%s:\n", title);
	for (size_t i = 0; i < n; i++) {
		enum sbatch_kind kind = sbatch_kind(&rows[i]);

		if ((kind != SBATCH_SAME && kind != SBATCH_BECOMES) ||
		        srun_is_of_step(rows[i].name) || (!own && srun_has(rows[i].name)))
			continue;
		fprintf(out, "%s.Fl -%s", found++ ? " ;\n" : "", rows[i].name);
	}
	fprintf(out, " .\n");
}

static void print_srun(FILE *out)
{
	size_t n;
	const void *rows = srun_rows(&n);

	fprintf(out, ".Ss srun\n.Nm srun\n"
	             "runs tasks as a step of the job that it is called in, or of one that it "
	             "makes.\n");
	print_table(out, "Options", rows, n, entry_of_srun);
	print_of_job(out, "Options of sbatch that count too, where it makes a job", false);
	fprintf(out, ".Ss salloc\n.Nm salloc\n"
	             "makes a job and runs a command or a shell here, in which srun starts steps.\n"
	             ".Pp\nOptions, yes:\n.Fl -no-shell , Fl -quiet , Fl -immediate .\n");
	print_of_job(out, "Options of sbatch that count", true);
}

void slurm_cmd_manual(FILE *out)
{
	for (size_t i = 0; i < n_slurm_cmds; i++) {
		const struct slurm_cmd *f = &slurm_cmds[i];
		const void *table;
		size_t n;

		fprintf(out, ".Ss %s\n.Nm %s\n%s.\n", f->name, f->name, f->about);
		table = f->options(&n);
		print_table(out, "Options", table, n, entry_of_option);
		if (f->words) {
			table = f->words(&n);
			print_table(out, "Commands", table, n, entry_of_word);
		}
		if (f->fields) {
			table = f->fields(&n);
			print_table(out, "Fields", table, n, entry_of_field);
		}
		if (!strcmp(f->name, "scontrol"))
			print_records(out);
	}
	print_srun(out);
}
