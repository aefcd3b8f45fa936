/* sbatch_options.h - options of sbatch(1): one table, for #SBATCH lines and SBATCH_* variables
 *
 * One row for each option of sbatch(1): most mean here what they mean there and are set by the
 * table of options.h; some become something else; what changes nothing that a job could notice is
 * left out with a warning; what a job could not do without is refused. An option that options.h
 * knows goes there, whatever the row says: so a new option of ours needs no change here. The manual
 * lists the rows (a test compares).
 *
 * Long options may be abbreviated as far as they stay clear. A word that is no option is an error,
 * as for sbatch. `hetjob` (or `packjob`) alone on a line begins the next component of a job
 * (cmds/options/het.h).
 *
 * Pure; foreign bytes.
 */
#ifndef CMDS_SBATCH_OPTIONS_H
#define CMDS_SBATCH_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

#include "cmds/options/options.h"
#include "common/base/error.h"

#define SBATCH_ENV_PREFIX "SBATCH_"

enum sbatch_kind {
	SBATCH_SAME,    /* as our option of that name */
	SBATCH_BECOMES, /* something else: `text` */
	SBATCH_IGNORED, /* with a warning, because `text` */
	SBATCH_TAKEN,   /* without effect, and nothing is said: `text` */
	SBATCH_REFUSED, /* because `text` */
};

enum sbatch_arg { SBATCH_NO_ARG, SBATCH_ARG, SBATCH_ARG_MAY_MISS };

#define SBATCH_TEXT 256

/* Where a value that becomes another may be put. */
struct sbatch_value {
	char text[256];
	char note[160]; /* what of it is left out, to warn of; "": nothing */
};

struct sbatch_row {
	const char *name;
	char letter; /* or 0 */
	enum sbatch_arg arg;
	enum sbatch_kind kind;
	const char *text;
	/* SBATCH_BECOMES: the value to set our option of that name to: a constant, `value` or in
	 * *out; or NULL with `err`. NULL: as it is, to the option that `text` is. SBATCH_TAKEN:
	 * NULL with `err` where the value asks for what there is not. */
	const char *(*convert)(const char *value, struct sbatch_value *out, struct error *err);
};

const struct sbatch_row *sbatch_rows(size_t *n);
enum sbatch_kind sbatch_kind(const struct sbatch_row *row); /* SBATCH_SAME if options.h has it */

/* The option of options.h that it equals, if a script may have that option; or NULL. */
const struct option_row *sbatch_ours(const struct sbatch_row *row);

/* What sbatch means by `value` (NULL: it stood without one). NULL without `err` set if it stays
 * without one; NULL with `err` only where row->convert is not NULL. */
const char *sbatch_convert(const struct sbatch_row *row, const char *value,
        struct sbatch_value *out, struct error *err);
int sbatch_refuse(const struct sbatch_row *row, struct error *err); /* -1: why there is none */
const char *sbatch_ignored(const struct sbatch_row *row, char text[SBATCH_TEXT]);

/* Called for each option that is ignored. `text` is one plain line. */
typedef void sbatch_warn(void *arg, unsigned line, const char *text);

/* Apply the #SBATCH lines of a script. Where there is at least one, the job is one that sees
 * SLURM_* variables. As options_from_script() otherwise. */
int sbatch_from_script(struct submit_options *o, const char *script, size_t len, sbatch_warn *warn,
        void *arg, unsigned *late, struct error *err);

/* Apply the SBATCH_* variables that sbatch(1) reads, and no others. Warnings have line 0.
 */
int sbatch_from_environment(struct submit_options *o, char *const *environment, sbatch_warn *warn,
        void *arg, struct error *err);

/* The list of the manual, as mdoc(7). */
void sbatch_manual(FILE *out);

#endif
