/* name_numbers.h - the interned names of one list of the configuration, with their numbers there
 *
 * Names are found by address: a preemption search looks up the account of each run.
 */
#ifndef CTLD_CORE_NAME_NUMBERS_H
#define CTLD_CORE_NAME_NUMBERS_H

#include "ctld/core/util/strings.h"

struct names {
	struct name {
		const char *kept;
		uint32_t number;
	} * v;
	size_t n;
};

/* Add the names in the order of the list, then sort once. */
void names_add(struct names *names, struct strings *strings, const char *name);
void names_sort(struct names *names);
void names_drop(struct names *names, struct strings *strings);
uint32_t names_find(const struct names *names, const char *kept); /* CONF_NONE: not in the list */

#endif
