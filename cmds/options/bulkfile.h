/* bulkfile.h - a file of jobs: one JSON object a line
 *
 *	{"wrap": "./ocr page-1.png", "gpus": "l40s:1", "time": 10}
 *	{"script": "embed.sh", "args": ["7"], "job-name": "embed-7", "label": ["a=1", "b=2"]}
 *
 * A line has a command ("wrap") or the path of a script, arguments, gsubmit's long options (with
 * '-' or '_'). A value is a text, a number, true or false for options without one, or a list of
 * these for one that may be given several times. Empty lines are passed over, so are a byte order
 * mark before the first line and a carriage return behind any; the last needs no newline.
 *
 * Foreign bytes: any input is fine.
 */
#ifndef CMDS_BULKFILE_H
#define CMDS_BULKFILE_H

#include <stddef.h>

#include "cmds/options/options.h"
#include "common/base/error.h"

#define BULKFILE_LINE_MAX    (1 << 20) /* bytes of a line */
#define BULKFILE_OPTIONS_MAX 128       /* values of one job */

struct bulkfile_job {
	unsigned line;
	const char *script, *wrap; /* one of them; the other is NULL */
	const char *const *args;   /* NULL-terminated */
	struct {
		const struct option_row *row;
		const char *value;
	} given[BULKFILE_OPTIONS_MAX];
	size_t n_given;
};

/* Called for each job; texts die when it returns. -1 with `err` ends it. */
typedef int bulkfile_on_job(void *arg, const struct bulkfile_job *job, struct error *err);

/* Read all of it. ERR_USAGE; the text begins with the line's number ("77001: ..."), also where the
 * callee's error came from. Returns how many jobs there are. */
long bulkfile_each(
        const char *text, size_t len, bulkfile_on_job *on_job, void *arg, struct error *err);

#endif
