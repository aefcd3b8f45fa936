/* comma_lists.c - see comma_lists.h */
#include "noded/contain/comma_lists.h"

#include <stdio.h>
#include <string.h>

static const char *next_word(const char *words, size_t *len)
{
	words += strspn(words, ", ");
	*len = strcspn(words, ", ");
	return *len ? words : NULL;
}

static bool has_word(const char *words, const char *word, size_t word_len)
{
	size_t len = 0;

	for (words = next_word(words, &len); words; words = next_word(words + len, &len))
		if (len == word_len && strncmp(words, word, len) == 0)
			return true;
	return false;
}

bool comma_list_has(const char *words, const char *word)
{
	return has_word(words, word, strlen(word));
}

const char *comma_list_lacks(const char *want, const char *active)
{
	static char lacks[100];
	size_t len = 0, n = 0;

	for (want = next_word(want, &len); want; want = next_word(want + len, &len)) {
		if (!has_word(active, want, len) && n < sizeof(lacks))
			n += (size_t)snprintf(lacks + n, sizeof(lacks) - n, "%s%.*s", n ? ", " : "",
			        (int)len, want);
	}
	return n ? lacks : NULL;
}
