/* command.h - what the screen wants of the controller: asked for by the link, in its own time */
#ifndef CMDS_TOP_MODEL_COMMAND_H
#define CMDS_TOP_MODEL_COMMAND_H

#include <stddef.h>

#include "cmds/top/model/job.h"

enum command_kind {
	COMMAND_WHY, /* of `key` */
	COMMAND_CANCEL,
	COMMAND_HOLD,
	COMMAND_RELEASE,
	COMMAND_PAUSE, /* nothing is followed until COMMAND_RESUME */
	COMMAND_RESUME,
	COMMAND_LOOK, /* what is on the screen now: `wants`, `shown` */
	COMMAND_KINDS
};

/* What a screen shows beyond jobs and nodes. */
enum want { WANT_SHARES = 1 << 0, WANT_SERVICES = 1 << 1, WANT_USED = 1 << 2, WANT_ORDER = 1 << 3 };

#define COMMAND_SHOWN_MAX 256
#define COMMAND_TASKS_MAX 4096

struct command {
	enum command_kind kind;
	struct job_key key;
	char tasks[COMMAND_TASKS_MAX];           /* of an array: which; "": it is none */
	unsigned wants;                          /* enum want */
	struct job_key shown[COMMAND_SHOWN_MAX]; /* jobs whose rows are on the screen */
	size_t n_shown;
};

#endif
