/* near.c - see near.h */
#include "common/near.h"

#include <stdio.h>

#define LEVEL_BITS 3 /* NEAR_LEVEL_COUNT fits */

static const struct {
	const char *word, *text;
} levels[] = {
#define X(sym, word, text) { word, text },
	NEAR_LEVELS(X)
#undef X
};

near_t near_of(uint32_t nvlinks, enum near_level level)
{
	if (nvlinks > NEAR_LINKS_MAX)
		nvlinks = NEAR_LINKS_MAX;
	return (near_t)(nvlinks << LEVEL_BITS | (uint32_t)level);
}

uint32_t near_nvlinks(near_t near)
{
	return near >> LEVEL_BITS;
}

enum near_level near_level(near_t near)
{
	unsigned level = near & ((1u << LEVEL_BITS) - 1);

	return level < NEAR_LEVEL_COUNT ? (enum near_level)level : NEAR_UNKNOWN;
}

enum near_level near_level_of(const uint8_t a[NEAR_GROUPS], const uint8_t b[NEAR_GROUPS])
{
	for (int i = NEAR_GROUPS; i--;) {
		if (a[i] == b[i])
			return (enum near_level)(NEAR_NODE + i);
	}
	return NEAR_SYS;
}

const char *near_level_word(enum near_level level)
{
	return levels[level].word;
}

const char *near_level_text(enum near_level level)
{
	return levels[level].text;
}

const char *near_word(near_t near, char word[NEAR_WORD])
{
	if (near_nvlinks(near))
		snprintf(word, NEAR_WORD, "NV%u", (unsigned)near_nvlinks(near));
	else
		snprintf(word, NEAR_WORD, "%s", near_level_word(near_level(near)));
	return word;
}
