/* stream_access.c - see stream_access.h */
#include "config.h"

#include "noded/stream/stream_access.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"

/* --- the option ------------------------------------------------------------------------------- */

static int add_reader(struct output_readers *to, const char *name, struct error *err)
{
	const struct passwd *pw = getpwnam(name);
	uint64_t uid = pw ? pw->pw_uid : 0;

	if (!pw && (*name < '0' || *name > '9' || count_parse(name, 1, UINT32_MAX - 1, &uid, err) < 0))
		return error_set(err, ERR_USAGE, "there is no user '%s'", name);
	if (uid == 0)
		return error_set(err, ERR_USAGE, "root reads all output anyway");
	if (to->n == OUTPUT_READERS_MAX)
		return error_set(err, ERR_USAGE, "at most %d users", OUTPUT_READERS_MAX);
	to->v[to->n++] = (uid_t)uid;
	return 0;
}

int output_readers_parse(const char *names, struct output_readers *out, struct error *err)
{
	char *copy = xstrdup(names), *rest = copy, *name;
	int rc = 0;

	out->n = 0;
	while (rc == 0 && (name = strsep(&rest, ",")))
		rc = add_reader(out, name, err);
	free(copy);
	return rc;
}

/* --- bounds ----------------------------------------------------------------------------------- */

int tails_begin(struct tails *t, uid_t owner, usec_t now, struct error *err)
{
	unsigned all = 0, own = 0;

	for (size_t i = 0; i < t->n && i < TAILS_MAX; i++)
		if (now - t->v[i].at < (usec_t)TAIL_LIFE_S * 1000000) {
			all++;
			own += t->v[i].owner == owner;
		}
	if (all == TAILS_MAX || own >= TAILS_OF_ONE)
		return error_set(err, ERR_BUSY,
		        "%u ends of %s were read here in %d s: try again", own < TAILS_OF_ONE ? all : own,
		        own < TAILS_OF_ONE ? "outputs" : "this owner's outputs", TAIL_LIFE_S);
	t->v[t->n % TAILS_MAX].at = now;
	t->v[t->n++ % TAILS_MAX].owner = owner;
	return 0;
}

/* --- the decision ----------------------------------------------------------------------------- */

bool output_readers_have(const struct output_readers *readers, uid_t uid)
{
	for (size_t i = 0; i < readers->n; i++)
		if (readers->v[i] == uid)
			return true;
	return false;
}

enum stream_access stream_access(const struct output_readers *readers,
        const Gpusched__OutputRecord *run, const char *name, uid_t uid, struct error *err)
{
	if (uid == run->uid)
		return STREAM_OWNER;
	if (uid == 0)
		return STREAM_OUTPUT;
	if (!output_readers_have(readers, uid))
		error_set(err, ERR_NOT_PERMITTED,
		        "uid %u may not read the output of run %s: it is not its owner, and this agent %s",
		        (unsigned)uid, name,
		        readers->n ? "does not name it with --output-readers"
		                   : "has no --output-readers");
	else if (!run->show_output)
		error_set(err, ERR_NOT_PERMITTED, STREAM_NOT_AGREED);
	else
		return STREAM_TAIL;
	return STREAM_REFUSED;
}
