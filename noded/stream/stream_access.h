/* stream_access.h - what a client may use of a run, by the user that munge names
 *
 *	the run's owner                     everything: output, input of an interactive run, steps
 *	root                                the output
 *	a user of gnoded --output-readers   the last bytes of the output as they are now, if the
 *	                                    owner has signed that it may be shown
 *	any other user                      nothing
 *
 * The two consents are the owner's (SignedSpec.show_output, which the launcher has checked with the
 * rest of what was signed) and root's (the option of this agent). The controller has no say in
 * either.
 */
#ifndef NODED_STREAM_ACCESS_H
#define NODED_STREAM_ACCESS_H

#include <stdbool.h>
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
bool output_readers_have(const struct output_readers *readers, uid_t uid);

#define STREAM_NOT_AGREED "its owner has not agreed that it is shown (gsubmit --show-output)"

enum stream_access {
	STREAM_REFUSED, /* with `err` */
	STREAM_TAIL,    /* the end of its output */
	STREAM_OUTPUT,  /* all of it */
	STREAM_OWNER,   /* everything */
};

/* `name` is the run's, for `err`. */
enum stream_access stream_access(const struct output_readers *readers,
        const Gpusched__OutputRecord *run, const char *name, uid_t uid, struct error *err);

/* --- bounds of STREAM_TAIL -------------------------------------------------------------------- */

#define TAIL_BYTES_MAX (64 * 1024) /* of one file */
#define TAIL_LIFE_S    10          /* its gtap ends after this time, even while it waits */
#define TAILS_MAX      128         /* begun in that time, at most, for all outputs */
#define TAILS_OF_ONE   16          /* and for the outputs of one owner */

struct tails {
	uint64_t n; /* begun so far */
	struct {
		usec_t at;
		uid_t owner;
	} v[TAILS_MAX]; /* the last of them, in turn */
};

/* Counts a STREAM_TAIL for a run of `owner`; `now` is of a monotonic clock. -1: ERR_BUSY, too
 * many. */
int tails_begin(struct tails *t, uid_t owner, usec_t now, struct error *err);

#endif
