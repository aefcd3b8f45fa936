/* multiprog.c - see multiprog.h */
#include "cmds/steps/multiprog.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"

#define WORDS_MAX 1024

/* Is the task in "1-3,7"? *place: how many of the list stand before it. -1: no such list. */
static int find_task(const char *list, size_t len, uint32_t task, uint32_t *place)
{
	const char *p = list, *end = list + len;

	*place = 0;
	if (len == 1 && *list == '*')
		return *place = task, 1;
	while (p < end) {
		char *next;
		unsigned long first = strtoul(p, &next, 10), last = first;

		if (next == p || !isdigit((unsigned char)*p))
			return -1;
		if (next < end && *next == '-') {
			p = next + 1;
			last = strtoul(p, &next, 10);
			if (next == p || last < first)
				return -1;
		}
		if (task >= first && task <= last)
			return *place += task - (uint32_t)first, 1;
		*place += (uint32_t)(last - first) + 1;
		if (next < end && *next != ',')
			return -1;
		p = next + 1;
	}
	return 0;
}

static void put_char(
        struct strbuf *word, const char **p, const char *end, uint32_t task, uint32_t place)
{
	const char *at = *p;

	if (*at == '%' && at + 1 < end && (at[1] == 't' || at[1] == 'o')) {
		strbuf_addf(word, "%u", at[1] == 't' ? task : place);
		*p += 2;
		return;
	}
	strbuf_add(word, at, 1);
	++*p;
}

static char *next_word(const char **p, const char *end, uint32_t task, uint32_t place)
{
	struct strbuf word = { 0 };
	char quote = 0;

	while (*p < end && isspace((unsigned char)**p))
		++*p;
	if (*p == end)
		return NULL;
	while (*p < end && (quote || !isspace((unsigned char)**p))) {
		if (**p == quote || (!quote && (**p == '"' || **p == '\''))) {
			quote = quote ? 0 : **p;
			++*p;
		} else if (**p == '\\' && *p + 1 < end) {
			strbuf_add(&word, *p + 1, 1);
			*p += 2;
		} else {
			put_char(&word, p, end, task, place);
		}
	}
	return strbuf_take(&word);
}

static char **split(const char *p, const char *end, uint32_t task, uint32_t place)
{
	char **words = xcalloc(WORDS_MAX + 1, sizeof(*words));
	size_t n = 0;

	while (n < WORDS_MAX && (words[n] = next_word(&p, end, task, place)))
		n++;
	return words;
}

/* One line; 1: *words are those of the task. */
static int take_line(
        const char *p, const char *end, uint32_t task, char ***words, struct error *err)
{
	const char *list;
	uint32_t place;
	int r;

	while (p < end && isspace((unsigned char)*p))
		p++;
	if (p == end || *p == '#')
		return 0;
	list = p;
	while (p < end && !isspace((unsigned char)*p))
		p++;
	r = find_task(list, (size_t)(p - list), task, &place);
	if (r < 0)
		return error_set(err, ERR_USAGE, "--multi-prog: invalid task list: %.*s",
		        (int)(p - list), list);
	if (r == 0)
		return 0;
	*words = split(p, end, task, place);
	if ((*words)[0])
		return 1;
	multiprog_free(*words);
	return error_set(err, ERR_USAGE, "--multi-prog: no program for task %u", task);
}

char **multiprog_words(const char *text, size_t len, uint32_t task, struct error *err)
{
	const char *p = text, *end = text + len;
	char **words = NULL;

	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		int r;

		while (stop && stop > p && stop[-1] == '\\' && stop + 1 < end) {
			const char *more = memchr(stop + 1, '\n', (size_t)(end - stop - 1));

			stop = more ? more : end;
		}
		if (!stop)
			stop = end;
		r = take_line(p, stop, task, &words, err);
		if (r < 0)
			return NULL;
		if (r > 0)
			return words;
		p = stop + 1;
	}
	error_set(err, ERR_USAGE, "--multi-prog: no program for task %u", task);
	return NULL;
}

void multiprog_free(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}
