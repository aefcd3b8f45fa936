/* start_shepherd.h - starts the shepherds of runs
 *
 * Shepherds are forked from a template (shepherd/fork_server.h), which is started here and
 * restarted if it ends; while there is none they are executed. The result is the same.
 */
#ifndef NODED_START_SHEPHERD_H
#define NODED_START_SHEPHERD_H

#include <sys/types.h>

#include "common/base/error.h"
#include "common/job/run.h"

struct launcher;
struct template_client;

struct template_client *template_client_new(struct launcher *l);
/* NULL is fine. Runs that were ordered are started; the next launcher will find them. */
void template_client_free(struct template_client *t);

/* Start a shepherd for the record directory at `path`, with the descriptors of inherit.h, of which
 * only the third may be -1; they stay the caller's. Never waits. Returns 0 with *pid; *pid is 0 if
 * the template was asked, and then run_forked() or run_not_forked() is called later. -1 with
 * ERR_LAUNCH: nothing was started. */
int template_client_spawn(struct template_client *t, struct run_id id, const char *path,
        const int fds[3], pid_t *pid, struct error *err);

#endif
