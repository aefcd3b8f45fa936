/* screen_services.h - services, as gserve shows them */
#ifndef CMDS_TOP_SCREENS_SCREEN_SERVICES_H
#define CMDS_TOP_SCREENS_SCREEN_SERVICES_H

#include "cmds/top/screens/state.h"

void screen_services_draw(struct state *s, struct grid *g, struct area a);
void screen_services_enter(struct state *s);
struct job_key screen_services_job(const struct state *s);

#endif
