/* number_list.c - see number_list.h */
#include "common/base/number_list.h"

#include <inttypes.h>
#include <stdio.h>

char *numbers_format(char *text, size_t size, const uint32_t *v, size_t n)
{
	size_t used = 0, i, end;

	if (size)
		text[0] = '\0';
	for (i = 0; i < n && used < size; i = end) {
		for (end = i + 1; end < n && v[end] == v[end - 1] + 1;)
			end++;
		if (end - i < 3)
			end = i + 1;
		used += (size_t)snprintf(
		        text + used, size - used, "%s%" PRIu32, i ? "," : "", v[i]);
		if (end - i > 1 && used < size)
			used += (size_t)snprintf(text + used, size - used, "-%" PRIu32, v[end - 1]);
	}
	return text;
}

char *numbers_format_set(char *text, size_t size, uint64_t set)
{
	uint32_t v[64], i;
	size_t n = 0;

	for (i = 0; i < 64; i++) {
		if (set >> i & 1)
			v[n++] = i;
	}
	return numbers_format(text, size, v, n);
}
