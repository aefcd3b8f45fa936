/* name_numbers.c - see name_numbers.h
 *
 * Names of the configuration by their kept texts: an array in the order of addresses, so a number
 * is found by bisection and without comparing letters. Numbers are the order of names_add().
 */
#include "ctld/core/util/name_numbers.h"

#include <stdlib.h>

#include "common/base/bisect.h"
#include "common/base/xalloc.h"
#include "common/conf/conf.h"

void names_drop(struct names *names, struct strings *strings)
{
	for (size_t i = 0; i < names->n; i++)
		strings_drop(strings, names->v[i].kept);
	free(names->v);
	*names = (struct names){ 0 };
}

void names_add(struct names *names, struct strings *strings, const char *name)
{
	names->v = xrealloc(names->v, names->n + 1, sizeof(*names->v));
	names->v[names->n] = (struct name){ strings_intern(strings, name), (uint32_t)names->n };
	names->n++;
}

static int by_address(const void *x, const void *y)
{
	uintptr_t a = (uintptr_t)((const struct name *)x)->kept,
	          b = (uintptr_t)((const struct name *)y)->kept;

	return a < b ? -1 : a > b;
}

void names_sort(struct names *names)
{
	if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), by_address);
}

uint32_t names_find(const struct names *names, const char *kept)
{
	size_t at;

	BISECT(at, names->n, (uintptr_t)names->v[at].kept < (uintptr_t)kept);
	return at < names->n && names->v[at].kept == kept ? names->v[at].number : CONF_NONE;
}
