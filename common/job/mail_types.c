/* mail_types.c - see mail_types.h */
#include "common/job/mail_types.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

#define X(sym, word, all) { word, sym, all },
static const struct {
	const char *word;
	uint32_t bit;
	bool all;
} types_of[] = { MAIL_TYPES(X) };
#undef X
#define N_TYPES (sizeof(types_of) / sizeof(types_of[0]))

static bool is_word(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && !strncasecmp(text, word, n);
}

static int add_word(const char *text, size_t n, uint32_t *types, struct error *err)
{
	bool all = is_word(text, n, "ALL"), found = all;
	char shown[40];
	size_t i;

	for (i = 0; i < N_TYPES; i++) {
		if (all ? types_of[i].all : is_word(text, n, types_of[i].word)) {
			*types |= types_of[i].bit;
			found = true;
		}
	}
	if (found)
		return 0;
	text_escape(shown, sizeof(shown), text, n < 16 ? n : 16);
	return error_set(err, ERR_USAGE,
	        "'%s': expected BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT, "
	        "ARRAY_TASKS, "
	        "ALL "
	        "or NONE",
	        shown);
}

int mail_types_parse(const char *text, uint32_t *types, struct error *err)
{
	uint32_t found = 0;
	const char *p = text;

	*types = 0;
	if (!strcasecmp(text, "NONE"))
		return 0;
	for (;;) {
		size_t n = strcspn(p, ",");

		if (add_word(p, n, &found, err) < 0)
			return -1;
		p += n;
		if (!*p)
			break;
		p++;
	}
	*types = found;
	return 0;
}

char *mail_types_format(char buf[MAIL_TEXT_MAX], uint32_t types)
{
	size_t used = 0, i;

	buf[0] = '\0';
	for (i = 0; i < N_TYPES; i++) {
		if (types & types_of[i].bit)
			used += (size_t)snprintf(buf + used, MAIL_TEXT_MAX - used, "%s%s",
			        used ? "," : "", types_of[i].word);
	}
	return buf;
}

int mail_address_check(const char *address, struct error *err)
{
	const char *at = strchr(address, '@'), *p;
	bool good = strlen(address) <= MAIL_ADDRESS_MAX;

	if (!*address)
		return 0;
	good &= isalnum((unsigned char)*address) || *address == '_';
	for (p = address; *p; p++)
		good &= isalnum((unsigned char)*p) || strchr("._+-%", *p) || p == at;
	if (at)
		good &= isalnum((unsigned char)at[1]) != 0;
	if (good)
		return 0;
	return error_set(err, ERR_USAGE,
	        "no address: letters, digits and . _ + - %% with one '@', as in ana@example.org");
}
