/* screen_jobs.h - the queue, with gqueue's columns, and what runs, with its use */
#ifndef CMDS_TOP_SCREENS_SCREEN_JOBS_H
#define CMDS_TOP_SCREENS_SCREEN_JOBS_H

#include "cmds/top/screens/state.h"

void screen_queue_draw(struct state *s, struct grid *g, struct area a);
struct job_key screen_queue_job(const struct state *s);
void screen_running_draw(struct state *s, struct grid *g, struct area a);
struct job_key screen_running_job(const struct state *s);

#endif
