/* bulkfile.c - see bulkfile.h */
#include "cmds/options/bulkfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/text.h"
#include "common/base/xalloc.h"

#define NUMBER_TEXT     32
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors put it before all text in UTF-8 */

struct reader {
	struct bulkfile_job job;
	const char *args[BULKFILE_OPTIONS_MAX + 1];
	char numbers[BULKFILE_OPTIONS_MAX * 2][NUMBER_TEXT];
	size_t n_args, n_numbers;
};

static int bad_value(const char *key, const char *would, struct error *err)
{
	char shown[80];

	text_escape(shown, sizeof(shown), key, strlen(key));
	return error_set(err, ERR_USAGE, "\"%s\": expected %s", shown, would);
}

/* A text or a whole number, as text; NULL: something else. */
static const char *text_of(struct reader *r, const json_t *v)
{
	char *number;

	if (json_is_string(v))
		return json_string_value(v);
	if (!json_is_integer(v) || r->n_numbers == BULKFILE_OPTIONS_MAX * 2)
		return NULL;
	number = r->numbers[r->n_numbers++];
	snprintf(number, NUMBER_TEXT, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	return number;
}

static int take_args(struct reader *r, const json_t *v, struct error *err)
{
	if (!json_is_array(v) || json_array_size(v) > BULKFILE_OPTIONS_MAX)
		return bad_value("args", "a list of at most 128 texts", err);
	for (size_t i = 0; i < json_array_size(v); i++) {
		r->args[i] = text_of(r, json_array_get(v, i));
		if (!r->args[i])
			return bad_value("args", "a list of texts", err);
	}
	r->args[json_array_size(v)] = NULL;
	return 0;
}

static const struct option_row *find_row(const char *key, struct error *err)
{
	char name[64];
	const struct option_row *row;

	snprintf(name, sizeof(name), "%s", key);
	for (char *p = name; *p; p++)
		*p = *p == '_' ? '-' : *p;
	row = option_by_name(name, strlen(name));
	text_escape(name, sizeof(name), key, strlen(key));
	if (!row)
		error_set(err, ERR_USAGE,
		        "\"%s\": no such option; expected a long option of gsubmit, as in "
		        "\"job-name\"",
		        name);
	else if (!(row->where & OPTION_IN_SCRIPT) || row->group == OPTION_ANSWER)
		error_set(err, ERR_USAGE,
		        "\"%s\": not allowed for a single job; it belongs on the command "
		        "line", name);
	else
		return row;
	return NULL;
}

static int take_value(
        struct reader *r, const struct option_row *row, const json_t *v, struct error *err)
{
	struct bulkfile_job *job = &r->job;
	const char *value;

	if (job->n_given == BULKFILE_OPTIONS_MAX)
		return error_set(err, ERR_USAGE, "more than %d options", BULKFILE_OPTIONS_MAX);
	if (json_is_boolean(v) && !row->arg)
		value = json_is_true(v) ? "yes" : "no";
	else
		value = row->arg ? text_of(r, v) : NULL;
	if (!value)
		return bad_value(row->name, row->arg ? "a text or a number" : "true or false", err);
	job->given[job->n_given].row = row;
	job->given[job->n_given++].value = value;
	return 0;
}

static int take_option(struct reader *r, const char *key, const json_t *v, struct error *err)
{
	const struct option_row *row = find_row(key, err);

	if (!row)
		return -1;
	if (!json_is_array(v))
		return take_value(r, row, v, err);
	for (size_t i = 0; i < json_array_size(v); i++)
		if (take_value(r, row, json_array_get(v, i), err) < 0)
			return -1;
	return 0;
}

static int take_key(struct reader *r, const char *key, const json_t *v, struct error *err)
{
	const char **text = !strcmp(key, "script") ? &r->job.script
	                    : !strcmp(key, "wrap") ? &r->job.wrap
	                                           : NULL;

	if (!strcmp(key, "args"))
		return take_args(r, v, err);
	if (!text)
		return take_option(r, key, v, err);
	*text = json_string_value(v);
	return *text && **text ? 0 : bad_value(key, "a text", err);
}

static int take_job(struct reader *r, json_t *object, struct error *err)
{
	const char *key;
	json_t *v;

	r->job.script = r->job.wrap = NULL;
	r->job.n_given = r->n_numbers = 0;
	r->args[0] = NULL;
	r->job.args = r->args;
	if (!json_is_object(object))
		return error_set(err, ERR_USAGE, "expected an object: {\"wrap\": \"COMMAND\"}");
	json_object_foreach(object, key, v) if (take_key(r, key, v, err) < 0) return -1;
	if (!r->job.script == !r->job.wrap)
		return error_set(
		        err, ERR_USAGE, "needs \"script\" or \"wrap\", and not both of them");
	if (r->job.wrap && r->args[0])
		return error_set(err, ERR_USAGE, "\"args\" requires \"script\"");
	return 0;
}

static int take_line(struct reader *r, const char *s, size_t len, bulkfile_on_job *on_job,
        void *arg, struct error *err)
{
	json_error_t why;
	json_t *object;
	char shown[160];
	int rc;

	if (len > BULKFILE_LINE_MAX)
		return error_set(err, ERR_USAGE, "more than %d bytes", BULKFILE_LINE_MAX);
	object = json_loadb(s, len, JSON_REJECT_DUPLICATES, &why);
	if (!object && (memchr(s, '\0', len) || json_error_code(&why) == json_error_null_character))
		return error_set(err, ERR_USAGE, "a NUL byte; jobs are text");
	if (!object) {
		text_escape(shown, sizeof(shown), why.text, strlen(why.text));
		return error_set(err, ERR_USAGE, "no JSON: %s", shown);
	}
	rc = take_job(r, object, err);
	if (rc >= 0)
		rc = on_job(arg, &r->job, err);
	json_decref(object);
	return rc;
}

long bulkfile_each(
        const char *text, size_t len, bulkfile_on_job *on_job, void *arg, struct error *err)
{
	const char *end = text + len;
	struct reader *r = xcalloc(1, sizeof(*r));
	unsigned line = 1;
	long n = 0;

	if (len >= strlen(BYTE_ORDER_MARK) &&
	        !memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
		text += strlen(BYTE_ORDER_MARK);
	for (const char *s = text; s < end && n >= 0; line++) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		const char *e = nl ? nl : end;

		r->job.line = line;
		while (s < e && strchr(" \t\r", *s) && *s)
			s++;
		if (s < e) {
			n++;
			if (take_line(r, s, (size_t)(e - s), on_job, arg, err) < 0) {
				error_wrap(err, "%u", line);
				n = -1;
			}
		}
		s = e + 1;
	}
	free(r);
	return n;
}
