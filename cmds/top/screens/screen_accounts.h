/* screen_accounts.h - what accounts and users hold, and their shares */
#ifndef CMDS_TOP_SCREENS_SCREEN_ACCOUNTS_H
#define CMDS_TOP_SCREENS_SCREEN_ACCOUNTS_H

#include "cmds/top/screens/state.h"

void screen_accounts_draw(struct state *s, struct grid *g, struct area a);
void screen_accounts_enter(struct state *s);

#endif
