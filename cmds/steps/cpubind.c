/* cpubind.c - see cpubind.h */
#include "cmds/steps/cpubind.h"

#include <stdlib.h>
#include <string.h>

static const char *const quiet_words[] = { "q", "quiet", "v", "verbose", "none", "no" };
static const char *const own_words[] = { "rank", "threads", "cores", "sockets", "ldoms", "boards",
	"rank_ldom" };
static const char *const list_words[] = { "map_cpu:", "mask_cpu:" };
#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

static bool is_word(const char *p, size_t len, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(words[i]) == len && !strncmp(words[i], p, len))
			return true;
	return false;
}

static const char *find_list(const char *text, const char *word)
{
	const char *p = strstr(text, word);

	return p ? p + strlen(word) : NULL;
}

bool cpubind_is_known(const char *text)
{
	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ",");

		for (size_t i = 0; i < N_OF(list_words); i++)
			if (!strncmp(p, list_words[i], strlen(list_words[i])))
				return true;
		if (!is_word(p, len, quiet_words, N_OF(quiet_words)) &&
		        !is_word(p, len, own_words, N_OF(own_words)))
			return false;
		p += len;
		if (!*p)
			return true;
	}
}

static bool has_word(const char *text, const char *const *words, size_t n)
{
	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ",");

		if (len && is_word(p, len, words, n))
			return true;
		p += len;
		if (!*p)
			return false;
	}
}

/* The entry for the task, of a list that begins again at its end. */
static const char *nth(const char *list, size_t n)
{
	size_t count = 1;

	for (const char *p = list; *p; p++)
		count += *p == ',';
	for (n %= count; n; n--)
		list = strchr(list, ',') + 1;
	return list;
}

static bool from_mask(const char *text, cpu_set_t *cpus)
{
	unsigned long long mask = strtoull(text, NULL, 16);

	for (int i = 0; i < 64; i++)
		if (mask & 1ULL << i)
			CPU_SET(i, cpus);
	return mask != 0;
}

static bool from_map(const char *text, cpu_set_t *cpus)
{
	unsigned long cpu = strtoul(text, NULL, 0);

	if (cpu >= CPU_SETSIZE)
		return false;
	CPU_SET((int)cpu, cpus);
	return true;
}

/* Positions [first, first + n) of the step's list, as CPUs that the run may use. */
static bool from_positions(const uint32_t *at, size_t n, const cpu_set_t *allowed, cpu_set_t *cpus)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t left = at[i];

		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, allowed))
				continue;
			if (left-- == 0) {
				CPU_SET(cpu, cpus);
				break;
			}
		}
	}
	return CPU_COUNT(cpus) > 0;
}

bool cpubind_find(const Gpusched__StepTasks *part, size_t local, const cpu_set_t *allowed,
        uint32_t run_cpus, cpu_set_t *cpus)
{
	static const char *const none[] = { "none", "no" };
	const char *how = part->request->cpu_bind, *list;
	size_t each = part->n_ids ? part->n_cpu_at / part->n_ids : 0;

	CPU_ZERO(cpus);
	if (has_word(how, none, N_OF(none)))
		return false;
	if ((list = find_list(how, "map_cpu:")))
		return from_map(nth(list, local), cpus);
	if ((list = find_list(how, "mask_cpu:")))
		return from_mask(nth(list, local), cpus);
	if ((uint32_t)CPU_COUNT(allowed) != run_cpus)
		return false;
	if (has_word(how, own_words, N_OF(own_words)) && each)
		return from_positions(part->cpu_at + local * each, each, allowed, cpus);
	return part->n_cpu_at < run_cpus &&
	       from_positions(part->cpu_at, part->n_cpu_at, allowed, cpus);
}
