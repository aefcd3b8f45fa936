/* stream_access.h - what a client may have of a run, by the user that munge says it is
 *
 *	the run's owner                     everything: output, input of an interactive run, steps
 *	root                                the output
 *	a user of gnoded --output-readers   the last bytes of the output, at present and no longer, of a
 *	                                    run whose owner has signed that it may be shown
 *	any other user                      nothing
 *
 * The two consents are the owner's (SignedSpec.show_output, which the launcher has checked with the
 * rest of what was signed) and root's (the option of this agent). The controller has no say in
 * either.
 */
#ifndef NODED_STREAM_ACCESS_H
#define NODED_STREAM_ACCESS_H

#include <sys/types.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

#define OUTPUT_READERS_MAX 8

/* The users that --output-readers names. */
struct output_readers {
	uid_t v[OUTPUT_READERS_MAX];
	size_t n;
};

/* "gpusched-web,other": users of this host, by name or number, none of them root. -1: ERR_USAGE. */
int output_readers_parse(const char *names, struct output_readers *out, struct error *err);

enum stream_access {
	STREAM_REFUSED, /* with `err` */
	STREAM_TAIL,    /* the end of its output */
	STREAM_OUTPUT,  /* all of it */
	STREAM_OWNER,   /* everything */
};

/* `name` is the run's, for `err`. */
enum stream_access stream_access(const struct output_readers *readers,
        const Gpusched__OutputRecord *run, const char *name, uid_t uid, struct error *err);

/* --- bounds of STREAM_TAIL --------------------------------------------------------------------- */

#define TAIL_BYTES_MAX (64 * 1024) /* of one file */
#define TAIL_LIFE_S    10          /* its gtap ends after so long, whatever it waits for */
#define TAILS_MAX      128         /* so many begin in that time, and so many are there at most */

struct tails {
	uint64_t n;           /* begun, of all times */
	usec_t at[TAILS_MAX]; /* the last of them, in turn */
};

/* One begins; `now` is of a monotonic clock. -1: ERR_BUSY. */
int tails_begin(struct tails *t, usec_t now, struct error *err);

#endif
