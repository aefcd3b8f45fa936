/* conf_find.h - the index of what has a name: CONF_FIND(conf, partitions, "batch")
 *
 * Of conf.nodes, .partitions, .gpu_types, .accounts, .qos and every other list with names.
 * CONF_NONE: there is none. A walk from the first to the last: for many names sort them first.
 */
#ifndef COMMON_CONF_FIND_H
#define COMMON_CONF_FIND_H

#include <string.h>

#include "common/conf/conf.h"

#define CONF_FIND(conf, list, text)                                          \
	conf_find((conf)->list, (conf)->n_##list, sizeof((conf)->list[0]),   \
	        offsetof(__typeof__((conf)->list[0]), name), text)

static inline uint32_t conf_find(
        const void *list, size_t n, size_t size, size_t name, const char *text)
{
	const char *at = (const char *)list + name;

	for (size_t i = 0; i < n; i++, at += size)
		if (!strcmp(*(char *const *)(const void *)at, text))
			return (uint32_t)i;
	return CONF_NONE;
}

#endif
