/* totals.h - what was counted since gweb began */
#ifndef CMDS_WEB_TOTALS_H
#define CMDS_WEB_TOTALS_H

struct totals;
void totals_free(struct totals *t); /* NULL is fine */

#endif
