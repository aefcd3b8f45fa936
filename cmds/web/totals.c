/* totals.c - see totals.h */
#include "cmds/web/totals.h"

#include <stdlib.h>

void totals_free(struct totals *t)
{
	free(t);
}
