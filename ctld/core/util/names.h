/* names.h - kept names of one list of the configuration, with their numbers there
 *
 * By address: the account of each run is asked for in a search for victims.
 */
#ifndef CTLD_CORE_NAMES_H
#define CTLD_CORE_NAMES_H

#include "ctld/core/util/strings.h"

struct names {
	struct name {
		const char *kept;
		uint32_t number;
	} * v;
	size_t n;
};

/* In the order of the list, then once: */
void names_add(struct names *names, struct strings *strings, const char *name);
void names_sort(struct names *names);
void names_drop(struct names *names, struct strings *strings);
uint32_t names_find(const struct names *names, const char *kept); /* CONF_NONE: it is not there */

#endif
