/* gpu_topology.c - see gpu_topology.h */
#include "common/gpu/gpu_topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/gpu/gpuset.h"

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

near_t near_link_least(enum near_link link)
{
	switch (link) {
#define X(sym, word, near) \
	case sym: return near;
		NEAR_LINKS(X)
#undef X
	case NEAR_LINK_COUNT: break;
	}
	return 0;
}

static const char *const link_words[] = {
#define X(sym, word, near) word,
	NEAR_LINKS(X)
#undef X
};

const char *near_link_word(enum near_link link)
{
	return link > NEAR_LINK_ANY && link < NEAR_LINK_COUNT ? link_words[link] : "";
}

int near_link_parse(const char *word, enum near_link *link, struct error *err)
{
	*link = NEAR_LINK_ANY;
	if (!*word)
		return 0;
	for (int i = 0; i < NEAR_LINK_COUNT; i++) {
		*link = (enum near_link)i;
		if (!strcmp(word, link_words[i]))
			return 0;
	}
	return error_set(err, ERR_USAGE, "must be nvlink, pcie, numa or any");
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

/* --- as a configuration says it --------------------------------------------------------------- */

static bool word_read(const char *word, size_t len, struct near_said *said)
{
	char *end;

	if (len > 2 && !strncmp(word, "NV", 2) && word[2] >= '1' && word[2] <= '9') {
		unsigned long links = strtoul(word + 2, &end, 10);

		said->links = (uint32_t)links;
		return end == word + len && links <= NEAR_LINKS_MAX;
	}
	for (int level = NEAR_SYS; level < NEAR_LEVEL_COUNT; level++) {
		said->level = (enum near_level)level;
		if (strlen(levels[level].word) == len && !strncmp(word, levels[level].word, len))
			return true;
	}
	return false;
}

int near_said_read(const char *text, struct near_said *said, struct error *err)
{
	size_t len = strcspn(text, ":");

	*said = (struct near_said){ 0 };
	if (!text[len])
		return error_set(err, ERR_CONFIG,
		        "must be how close and GPUs, as in \"NV4:0-3\" or \"PIX:0,1\"");
	if (!word_read(text, len, said))
		return error_set(err, ERR_CONFIG,
		        "'%.*s': must be NV1 to NV%d, PIX, PXB, PHB, NODE or SYS",
		        (int)(len < 16 ? len : 16), text, NEAR_LINKS_MAX);
	if (gpuset_read(text + len + 1, &said->gpus, err) < 0)
		return -1;
	if (!(said->gpus & (said->gpus - 1)))
		return error_set(
		        err, ERR_CONFIG, "it is GPU %s alone; must be two or more", text + len + 1);
	return 0;
}

static void links_take(struct near_place *places, const struct near_said *said)
{
	uint64_t left, others;

	for (left = said->gpus; left; left &= left - 1) {
		for (others = said->gpus & ~(left & -left); others; others &= others - 1)
			places[__builtin_ctzll(left)].links[__builtin_ctzll(others)] =
			        (uint8_t)said->links;
	}
}

/* One more set that is together at group level `at`. True: that changed something. */
static bool group_take(struct near_place *places, int at, uint64_t gpus)
{
	uint8_t lowest = places[__builtin_ctzll(gpus)].groups[at];
	bool changed = false;
	uint64_t left;

	for (left = gpus; left; left &= left - 1) {
		uint8_t group = places[__builtin_ctzll(left)].groups[at];

		lowest = group < lowest ? group : lowest;
	}
	for (left = gpus; left; left &= left - 1) {
		uint8_t *group = &places[__builtin_ctzll(left)].groups[at];

		changed |= *group != lowest;
		*group = lowest;
	}
	return changed;
}

void near_places_read(struct near_place places[NEAR_HOSTS], const char *const *texts, size_t n)
{
	struct near_said said;
	bool again = true;

	memset(places, 0, NEAR_HOSTS * sizeof(*places));
	for (uint8_t i = 0; i < NEAR_HOSTS; i++)
		memset(places[i].groups, i, sizeof(places[i].groups));
	while (again) {
		again = false;
		for (size_t i = 0; i < n; i++) {
			if (near_said_read(texts[i], &said, NULL) < 0)
				continue;
			if (said.links) {
				links_take(places, &said);
				continue;
			}
			for (uint64_t left = said.gpus; left; left &= left - 1)
				places[__builtin_ctzll(left)].grouped = true;
			/* What is under one switch is at one host bridge, too. */
			for (int at = 0; at + NEAR_NODE <= (int)said.level; at++)
				again |= group_take(places, at, said.gpus);
		}
	}
}

static void said_print(const char *word, uint64_t gpus, struct strbuf *out)
{
	strbuf_addf(out, "%s\"%s:", out->len ? ", " : "", word);
	gpuset_print(gpus, out);
	strbuf_adds(out, "\"");
}

static bool is_link(const struct near_place *places, uint64_t gpus, unsigned with, uint8_t n)
{
	for (; gpus; gpus &= gpus - 1) {
		if (places[with].links[__builtin_ctzll(gpus)] != n)
			return false;
	}
	return true;
}

/* Each two are in one set: from each pair that is in none yet as many as all have so many. */
static void links_print(const struct near_place *places, uint64_t gpus, struct strbuf *out)
{
	uint64_t done[NEAR_HOSTS] = { 0 }, rest = gpus;
	char word[NEAR_WORD];

	for (; rest; rest &= rest - 1) {
		unsigned a = (unsigned)__builtin_ctzll(rest);

		for (unsigned b = a + 1; b < NEAR_HOSTS; b++) {
			uint64_t set = 1ull << a | 1ull << b, left;
			uint8_t n = places[a].links[b];

			if (!(gpus >> b & 1) || !n || done[a] >> b & 1)
				continue;
			for (unsigned c = b + 1; c < NEAR_HOSTS; c++) {
				if (gpus >> c & 1 && !(done[c] & set) &&
				        is_link(places, set, c, n))
					set |= 1ull << c;
			}
			for (left = set; left; left &= left - 1)
				done[__builtin_ctzll(left)] |= set;
			said_print(near_word(near_of(n, NEAR_UNKNOWN), word), set, out);
		}
	}
}

/* The group of `gpu` at that level; above the closest level: only itself. */
static uint64_t group_of(const struct near_place *places, uint64_t gpus, unsigned gpu, int at)
{
	uint64_t group = 1ull << gpu;

	for (; at < NEAR_GROUPS && gpus; gpus &= gpus - 1) {
		unsigned other = (unsigned)__builtin_ctzll(gpus);

		if (places[other].groups[at] == places[gpu].groups[at])
			group |= 1ull << other;
	}
	return group;
}

void near_places_print(
        const struct near_place places[NEAR_HOSTS], uint64_t gpus, struct strbuf *out)
{
	uint64_t known = 0, alone = 0, left, group;
	struct strbuf all = { 0 };

	for (left = gpus; left; left &= left - 1)
		known |= places[__builtin_ctzll(left)].grouped ? left & -left : 0;
	links_print(places, gpus, &all);
	for (int at = NEAR_GROUPS; at--;) {
		for (left = known; left; left &= left - 1) {
			unsigned gpu = (unsigned)__builtin_ctzll(left);

			group = group_of(places, known, gpu, at);
			if (group & (group - 1) && (group & -group) == (left & -left) &&
			        group != group_of(places, known, gpu, at + 1))
				said_print(near_level_word((enum near_level)(NEAR_NODE + at)),
				        group, &all);
		}
	}
	/* A GPU that is near to no other is in no group so far: listing all GPUs at the farthest
	 * level says that it is there. */
	for (left = known; left; left &= left - 1) {
		group = group_of(places, known, (unsigned)__builtin_ctzll(left), 0);
		alone |= group & (group - 1) ? 0 : group;
	}
	if (alone && known & (known - 1))
		said_print(near_level_word(NEAR_SYS), known, &all);
	strbuf_adds(out, all.s ? all.s : "");
	strbuf_free(&all);
}

bool near_is_less(near_t found, near_t wanted)
{
	enum near_level level = near_level(found);

	return found && (near_nvlinks(found) < near_nvlinks(wanted) ||
	                        (level != NEAR_UNKNOWN && level < near_level(wanted)));
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
