/* near.c - see near.h */
#include "common/near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static enum near_level level_between(const struct near_place *a, const struct near_place *b)
{
	if (!a->grouped || !b->grouped)
		return NEAR_UNKNOWN;
	for (int i = NEAR_GROUPS; i--;) {
		if (a->groups[i] == b->groups[i])
			return (enum near_level)(NEAR_NODE + i);
	}
	return NEAR_SYS;
}

near_t near_between(const struct near_place *a, const struct near_place *other, uint32_t host)
{
	return near_of(host < NEAR_HOSTS ? a->links[host] : 0, level_between(a, other));
}

void near_place_write(const struct near_place *place, char text[NEAR_PLACE_TEXT])
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; place->grouped && i < NEAR_GROUPS; i++)
		used += (size_t)snprintf(text + used, NEAR_PLACE_TEXT - used, "%s%u",
		        used ? "." : "", (unsigned)place->groups[i]);
	for (unsigned host = 0; host < NEAR_HOSTS; host++) {
		if (place->links[host])
			used += (size_t)snprintf(text + used, NEAR_PLACE_TEXT - used, "%s%u*%u",
			        used ? " " : "", host, (unsigned)place->links[host]);
	}
}

void near_place_read(struct near_place *place, const char *text)
{
	size_t n = strcspn(text, " "), dots = 0;
	char *end;

	*place = (struct near_place){ 0 };
	for (size_t i = 0; i < n; i++)
		dots += text[i] == '.';
	if (dots == NEAR_GROUPS - 1) {
		place->grouped = true;
		for (int i = 0; i < NEAR_GROUPS; i++, text = end + (*end != '\0'))
			place->groups[i] = (uint8_t)strtoul(text, &end, 10);
	}
	while (*text) {
		unsigned long host = strtoul(text, &end, 10);

		if (*end != '*' || host >= NEAR_HOSTS)
			return;
		place->links[host] = (uint8_t)strtoul(end + 1, &end, 10);
		text = end + (*end == ' ');
		if (*end && *end != ' ')
			return;
	}
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
