/* gpus_by_type.c - see gpus_by_type.h */
#include "common/gpu/gpus_by_type.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define ITEMS_MAX 64 /* types in one amount */

struct item {
	char type[GPUS_BY_TYPE_NAME_MAX + 1];
	uint32_t count;
};

static int refuse(struct error *err, const char *piece, const char *what)
{
	char shown[80];

	text_escape(shown, sizeof(shown), piece, strlen(piece));
	return error_set(err, ERR_USAGE, "'%s': %s", shown, what);
}

int gpus_by_type_check(const char *name, struct error *err)
{
	size_t n = strlen(name);

	if (n < 1 || n > GPUS_BY_TYPE_NAME_MAX)
		return refuse(err, name, "a GPU type's name has 1 to 64 characters");
	if (strspn(name, "0123456789") == n || !strcmp(name, GPUS_BY_TYPE_ANY))
		return refuse(err, name, "means a number of any type, so no type is called that");
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)name[i]) && (i == 0 || !strchr("-_.+", name[i])))
			return refuse(err, name,
			        "a GPU type's name has letters, digits, '-', '_', '.' and '+', "
			        "a letter or digit first");
	}
	return 0;
}

/* `piece` is "TYPE:COUNT" or "COUNT"; it is cut at the ':'. */
static int item_parse(char *piece, uint32_t least, struct item *item, struct error *err)
{
	char *colon = strchr(piece, ':'), *digits = colon ? colon + 1 : piece;
	uint64_t count;

	if (!*digits || strspn(digits, "0123456789") != strlen(digits))
		return refuse(err, piece, "must be TYPE:COUNT, as in \"h100:2\", or a number");
	if (count_parse(digits, least, GPUS_BY_TYPE_COUNT_MAX, &count, NULL) < 0)
		return refuse(err, piece,
		        least ? "the count must be 1 to 1000000"
		              : "the count must be 0 to 1000000");
	if (colon)
		*colon = '\0';
	if (colon && strcmp(piece, GPUS_BY_TYPE_ANY) && gpus_by_type_check(piece, err) < 0)
		return -1;
	snprintf(item->type, sizeof(item->type), "%.*s", GPUS_BY_TYPE_NAME_MAX,
	        colon ? piece : GPUS_BY_TYPE_ANY);
	item->count = (uint32_t)count;
	return 0;
}

/* Cut `copy` at its commas into items. Returns how many. */
static int items_parse(char *copy, uint32_t least, struct item *items, struct error *err)
{
	char *piece;
	int n = 0;

	while ((piece = strsep(&copy, ",")) != NULL) {
		if (n == ITEMS_MAX)
			return error_set(err, ERR_USAGE, "more than %d types", ITEMS_MAX);
		if (item_parse(piece, least, &items[n], err) < 0)
			return -1;
		for (int i = 0; i < n; i++) {
			if (!strcmp(items[i].type, items[n].type))
				return refuse(err, items[n].type, "is there twice");
		}
		n++;
	}
	return n;
}

static int each_of(const char *text, uint32_t least,
        int (*each)(const char *type, uint32_t count, void *arg), void *arg, struct error *err)
{
	struct item *items = xcalloc(ITEMS_MAX, sizeof(*items));
	char *copy = xstrdup(text);
	int n = items_parse(copy, least, items, err), rc = n < 0 ? -1 : 0;

	for (int i = 0; i < n && rc == 0; i++)
		rc = each(items[i].type, items[i].count, arg);
	free(copy);
	free(items);
	return rc;
}

int gpus_by_type_each(const char *text, int (*each)(const char *type, uint32_t count, void *arg),
        void *arg, struct error *err)
{
	return each_of(text, 1, each, arg, err);
}

int gpus_by_type_each_or_none(const char *text,
        int (*each)(const char *type, uint32_t count, void *arg), void *arg, struct error *err)
{
	return each_of(text, 0, each, arg, err);
}
