/* export.c - see export.h */
#include "cmds/options/export.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* One item of the rule: NAME or NAME=VALUE with the quotes taken away. */
struct item {
	char *text;
	size_t name_len;
	bool has_value;
};

struct rule {
	struct item *v;
	size_t n;
	bool all;
};

static const char *const basics[] = { "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "USER" };

/* Of our own variables those that commands read; the others belong to one job alone. */
static const char *const ours_kept[] = { "GPUSCHED_CONTROLLER", "GPUSCHED_CLUSTER",
	"GPUSCHED_CONTROLLER_USER", "GPUSCHED_CONF", "GPUSCHED_MUNGE_SOCKET", "GPUSCHED_RETRY" };

/* Likewise of Slurm's: what its commands read. The others speak of the job that we are in. */
static const char *const slurms_kept[] = { "SLURM_CONF", "SLURM_JWT", "SLURM_TIME_FORMAT" };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void rule_clear(struct rule *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].text);
	free(r->v);
	*r = (struct rule){ .n = 0 };
}

/* Copy the item at *s up to its comma, without quotes; moves *s behind it. False: a quote is open.
 */
static bool take_item(const char **s, struct item *item)
{
	const char *p = *s;
	char quote = 0, *out = item->text = xcalloc(strlen(p) + 1, 1);

	item->has_value = false;
	item->name_len = 0;
	for (; *p && (quote || *p != ','); p++) {
		if (item->has_value && (quote ? *p == quote : *p == '\'' || *p == '"')) {
			quote = quote ? 0 : *p;
			continue;
		}
		if (*p == '=' && !item->has_value) {
			item->has_value = true;
			item->name_len = (size_t)(out - item->text);
		}
		*out++ = *p;
	}
	if (!item->has_value)
		item->name_len = (size_t)(out - item->text);
	*s = p;
	return !quote;
}

static bool good_name(const struct item *item)
{
	if (!item->name_len || isdigit((unsigned char)item->text[0]))
		return false;
	for (size_t i = 0; i < item->name_len; i++)
		if (!isgraph((unsigned char)item->text[i]))
			return false;
	return true;
}

static int rule_parse(const char *text, struct rule *r, struct error *err)
{
	const char *s = text;

	*r = (struct rule){ .n = 0 };
	for (bool first = true;; first = false) {
		struct item item;
		bool closed = take_item(&s, &item);

		if (first && !strcmp(item.text, "ALL")) {
			r->all = true;
			free(item.text);
		} else if (first && !strcmp(item.text, "NONE")) {
			free(item.text);
		} else {
			r->v = xrealloc(r->v, r->n + 1, sizeof(*r->v));
			r->v[r->n++] = item;
			if (!closed || !good_name(&item)) {
				rule_clear(r);
				return error_set(err, ERR_USAGE,
				        "expected ALL, NONE, or NAME and NAME=VALUE with commas "
				        "between%s",
				        closed ? "" : "; a quote is not closed");
			}
		}
		if (!*s)
			return 0;
		s++;
	}
}

int export_check(const char *text, struct error *err)
{
	struct rule r;

	if (rule_parse(text, &r, err) < 0)
		return -1;
	rule_clear(&r);
	return 0;
}

static bool same_name(const char *entry, const char *name, size_t len)
{
	return !strncmp(entry, name, len) && entry[len] == '=';
}

static bool is_one_of(const char *entry, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (same_name(entry, names[i], strlen(names[i])))
			return true;
	return false;
}

/* The variables of another job. */
static bool never_exported(const char *entry)
{
	if (!strchr(entry, '=') || entry[0] == '=' || same_name(entry, "_", 1))
		return true;
	if (!strncmp(entry, "GPUSCHED_", 9))
		return !is_one_of(entry, ours_kept, COUNT(ours_kept));
	if (!strncmp(entry, "SLURM_", 6) || !strncmp(entry, "SLURMD_", 7))
		return !is_one_of(entry, slurms_kept, COUNT(slurms_kept));
	return false;
}

static const struct item *find_item(const struct rule *r, const char *entry)
{
	for (size_t i = r->n; i-- > 0;)
		if (same_name(entry, r->v[i].text, r->v[i].name_len))
			return &r->v[i];
	return NULL;
}

/* Does this variable of the environment go along as it is? */
static bool goes_along(const struct rule *r, const char *entry)
{
	const struct item *item = find_item(r, entry);

	if (never_exported(entry) || (item && item->has_value))
		return false;
	return r->all || item || is_one_of(entry, basics, COUNT(basics));
}

/* Is the i-th item, NAME=VALUE, the last with its name? */
static bool counts(const struct rule *r, size_t i)
{
	return r->v[i].has_value && find_item(r, r->v[i].text) == &r->v[i];
}

static const char *find_missing(const struct rule *r, char *const *environment)
{
	for (size_t i = 0; i < r->n; i++) {
		char *const *e = environment;

		if (r->v[i].has_value)
			continue;
		while (*e && !same_name(*e, r->v[i].text, r->v[i].name_len))
			e++;
		if (!*e)
			return r->v[i].text;
	}
	return "";
}

/* Copy `text` to *at, which moves behind it; the room was counted before. */
static char *put(char **at, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = memcpy(*at, text, size);

	*at += size;
	return copy;
}

char **export_apply(const char *text, char *const *environment, const char **missing)
{
	size_t n = 0, bytes = 1, i;
	struct rule r;
	char **list, *at;

	if (rule_parse(text, &r, NULL) < 0)
		r = (struct rule){ .n = 0 };
	for (i = 0; environment[i]; i++, n++)
		bytes += strlen(environment[i]) + 1;
	for (i = 0; i < r.n; i++, n++)
		bytes += strlen(r.v[i].text) + 1;
	list = xcalloc(1, (n + 1) * sizeof(*list) + bytes);
	at = (char *)(list + n + 1);
	*missing = put(&at, find_missing(&r, environment));
	for (i = n = 0; environment[i]; i++) {
		if (!goes_along(&r, environment[i]))
			continue;
		list[n++] = put(&at, environment[i]);
	}
	for (i = 0; i < r.n; i++) {
		if (!counts(&r, i))
			continue;
		list[n++] = put(&at, r.v[i].text);
	}
	rule_clear(&r);
	return list;
}
