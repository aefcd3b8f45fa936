/* checkpoint_and_progress.c - see checkpoint_and_progress.h */
#include "noded/shepherd/checkpoint_and_progress.h"

#include <string.h>

#include "common/base/text.h"

#define LINE_MAX_READ 512 /* of the file; what is shown is shorter */

static usec_t time_of(const struct stat *st)
{
	return (usec_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000;
}

static bool look_at_checkpoint(struct notes *n, int rundir, usec_t started, usec_t now)
{
	struct stat st;
	usec_t at;

	if (!rundir_stat(rundir, RUNDIR_CHECKPOINT, &st))
		return false;
	at = time_of(&st); /* its owner may have set any time */
	if (at > now)
		at = now;
	if (at < started)
		at = started;
	if (at <= n->checkpoint)
		return false;
	n->checkpoint = at;
	return true;
}

static bool look_at_progress(struct notes *n, int rundir, const struct rundir_owner *owner)
{
	char line[LINE_MAX_READ], shown[sizeof(n->progress)], *text = line;

	if (rundir_read(rundir, RUNDIR_PROGRESS, owner, line, sizeof(line)) < 0)
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	text = text_trim(line);
	text_escape(shown, sizeof(shown), text, strlen(text));
	if (strcmp(shown, n->progress) == 0)
		return false;
	memcpy(n->progress, shown, sizeof(shown));
	return true;
}

bool notes_poll(
        struct notes *n, int rundir, const struct rundir_owner *owner, usec_t started, usec_t now)
{
	bool safe = look_at_checkpoint(n, rundir, started, now);

	return look_at_progress(n, rundir, owner) || safe;
}
