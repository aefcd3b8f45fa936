/* job_template.c - see job_template.h, and the functions of drmaa.h for templates */
#include "cmds/drmaa/job_template.h"

#include <stdlib.h>
#include <string.h>

#include "cmds/drmaa/attribute_values.h"
#include "cmds/drmaa/error_diagnosis.h"
#include "cmds/drmaa/session.h"
#include "common/base/xalloc.h"

/* --- the table ------------------------------------------------------------------------------ */

/* What is wrong with a value, with the number that DRMAA has for it; ERRNO_SUCCESS: nothing. */
typedef int check_fn(const char *value, struct error *err);

static int one_of(const char *value, const char *a, const char *b, struct error *err)
{
	if (!strcmp(value, a) || !strcmp(value, b))
		return DRMAA_ERRNO_SUCCESS;
	error_set(err, ERR_USAGE, "expected %s or %s", a, b);
	return DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE;
}

static int check_state(const char *value, struct error *err)
{
	return one_of(value, DRMAA_SUBMISSION_STATE_ACTIVE, DRMAA_SUBMISSION_STATE_HOLD, err);
}

static int check_block(const char *value, struct error *err)
{
	return one_of(value, "0", "1", err);
}

static int check_join(const char *value, struct error *err)
{
	return one_of(value, "y", "n", err);
}

static int check_time(const char *value, struct error *err)
{
	int64_t us;

	return value_time(value, 0, &us, err) < 0 ? DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT
	                                          : DRMAA_ERRNO_SUCCESS;
}

static int check_duration(const char *value, struct error *err)
{
	uint32_t s;

	return value_duration(value, &s, err) < 0 ? DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT
	                                          : DRMAA_ERRNO_SUCCESS;
}

static int check_words(const char *value, struct error *err)
{
	size_t n;
	char **words = value_words(value, &n, err);

	free(words);
	return words ? DRMAA_ERRNO_SUCCESS : DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT;
}

static int check_variable(const char *value, struct error *err)
{
	if (*value != '=' && strchr(value, '='))
		return DRMAA_ERRNO_SUCCESS;
	error_set(err, ERR_USAGE, "expected NAME=VALUE");
	return DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT;
}

static const struct {
	const char *name;
	check_fn *check; /* NULL: any text */
} attributes[ATTRIBUTES] = {
	[ATTRIBUTE_REMOTE_COMMAND] = { DRMAA_REMOTE_COMMAND, NULL },
	[ATTRIBUTE_JS_STATE] = { DRMAA_JS_STATE, check_state },
	[ATTRIBUTE_WD] = { DRMAA_WD, NULL },
	[ATTRIBUTE_JOB_CATEGORY] = { DRMAA_JOB_CATEGORY, NULL },
	[ATTRIBUTE_NATIVE_SPECIFICATION] = { DRMAA_NATIVE_SPECIFICATION, check_words },
	[ATTRIBUTE_BLOCK_EMAIL] = { DRMAA_BLOCK_EMAIL, check_block },
	[ATTRIBUTE_START_TIME] = { DRMAA_START_TIME, check_time },
	[ATTRIBUTE_JOB_NAME] = { DRMAA_JOB_NAME, NULL },
	[ATTRIBUTE_INPUT_PATH] = { DRMAA_INPUT_PATH, NULL },
	[ATTRIBUTE_OUTPUT_PATH] = { DRMAA_OUTPUT_PATH, NULL },
	[ATTRIBUTE_ERROR_PATH] = { DRMAA_ERROR_PATH, NULL },
	[ATTRIBUTE_JOIN_FILES] = { DRMAA_JOIN_FILES, check_join },
	[ATTRIBUTE_DEADLINE_TIME] = { DRMAA_DEADLINE_TIME, check_time },
	[ATTRIBUTE_WCT_HLIMIT] = { DRMAA_WCT_HLIMIT, check_duration },
	[ATTRIBUTE_WCT_SLIMIT] = { DRMAA_WCT_SLIMIT, check_duration },
	[ATTRIBUTE_DURATION_HLIMIT] = { DRMAA_DURATION_HLIMIT, check_duration },
	[ATTRIBUTE_DURATION_SLIMIT] = { DRMAA_DURATION_SLIMIT, check_duration },
	[ATTRIBUTE_V_ARGV] = { DRMAA_V_ARGV, NULL },
	[ATTRIBUTE_V_ENV] = { DRMAA_V_ENV, check_variable },
	[ATTRIBUTE_V_EMAIL] = { DRMAA_V_EMAIL, NULL },
};

const char *attribute_name(enum attribute a)
{
	return attributes[a].name;
}

/* One of `from` to `end`; `end`: it is none. */
static size_t find(const char *name, size_t from, size_t end)
{
	size_t i = from;

	while (i < end && name && strcmp(attributes[i].name, name) != 0)
		i++;
	return name ? i : end;
}

const char *template_text(const drmaa_job_template_t *jt, enum attribute a)
{
	return jt->values[a].n ? jt->values[a].v[0] : NULL;
}

/* --- templates ------------------------------------------------------------------------------ */

int drmaa_allocate_job_template(
        drmaa_job_template_t **jt, char *error_diagnosis, size_t error_diag_len)
{
	if (!jt)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "jt is NULL");
	if (!session_active())
		return session_none(DIAGNOSIS);
	*jt = xcalloc(1, sizeof(**jt));
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_delete_job_template(
        drmaa_job_template_t *jt, char *error_diagnosis, size_t error_diag_len)
{
	if (!jt)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "jt is NULL");
	for (size_t i = 0; i < ATTRIBUTES; i++)
		list_clear(&jt->values[i]);
	free(jt);
	return DRMAA_ERRNO_SUCCESS;
}

static int no_attribute(struct diagnosis d, const char *name, const char *what)
{
	return fail_with(
	        d, DRMAA_ERRNO_INVALID_ARGUMENT, "'%.200s' is no %s", name ? name : "", what);
}

static int check(struct diagnosis d, size_t a, const char *value)
{
	struct error err = { .code = ERR_NONE };
	int code = attributes[a].check ? attributes[a].check(value, &err) : DRMAA_ERRNO_SUCCESS;

	if (code != DRMAA_ERRNO_SUCCESS)
		fail_with(d, code, "%s=%.200s: %s", attributes[a].name, value, err.text);
	return code;
}

/* An empty value unsets. */
int drmaa_set_attribute(drmaa_job_template_t *jt, const char *name, const char *value,
        char *error_diagnosis, size_t error_diag_len)
{
	size_t a = find(name, 0, ATTRIBUTE_SCALARS);
	int code;

	if (!jt || !value)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	if (a == ATTRIBUTE_SCALARS)
		return no_attribute(DIAGNOSIS, name, "attribute with one value");
	code = *value ? check(DIAGNOSIS, a, value) : DRMAA_ERRNO_SUCCESS;
	if (code != DRMAA_ERRNO_SUCCESS)
		return code;
	list_clear(&jt->values[a]);
	if (*value)
		list_add(&jt->values[a], value);
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_attribute(drmaa_job_template_t *jt, const char *name, char *value, size_t value_len,
        char *error_diagnosis, size_t error_diag_len)
{
	size_t a = find(name, 0, ATTRIBUTE_SCALARS);
	const char *text;

	if (!jt || !value)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	if (a == ATTRIBUTE_SCALARS)
		return no_attribute(DIAGNOSIS, name, "attribute with one value");
	text = template_text(jt, a);
	fail_copy(value, value_len, text ? text : "");
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_set_vector_attribute(drmaa_job_template_t *jt, const char *name, const char *value[],
        char *error_diagnosis, size_t error_diag_len)
{
	size_t a = find(name, ATTRIBUTE_SCALARS, ATTRIBUTES);

	if (!jt || !value)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	if (a == ATTRIBUTES)
		return no_attribute(DIAGNOSIS, name, "attribute with several values");
	for (size_t i = 0; value[i]; i++) {
		int code = check(DIAGNOSIS, a, value[i]);

		if (code != DRMAA_ERRNO_SUCCESS)
			return code;
	}
	list_clear(&jt->values[a]);
	for (size_t i = 0; value[i]; i++)
		list_add(&jt->values[a], value[i]);
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_vector_attribute(drmaa_job_template_t *jt, const char *name,
        drmaa_attr_values_t **values, char *error_diagnosis, size_t error_diag_len)
{
	size_t a = find(name, ATTRIBUTE_SCALARS, ATTRIBUTES);
	struct text_list copy = { .v = NULL };

	if (!jt || !values)
		return fail_with(DIAGNOSIS, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	if (a == ATTRIBUTES)
		return no_attribute(DIAGNOSIS, name, "attribute with several values");
	for (size_t i = 0; i < jt->values[a].n; i++)
		list_add(&copy, jt->values[a].v[i]);
	*values = list_values(&copy);
	return DRMAA_ERRNO_SUCCESS;
}

static int give_names(drmaa_attr_names_t **values, size_t from, size_t end, struct diagnosis d)
{
	struct text_list names = { .v = NULL };

	if (!values)
		return fail_with(d, DRMAA_ERRNO_INVALID_ARGUMENT, "an argument is NULL");
	for (size_t i = from; i < end; i++)
		list_add(&names, attributes[i].name);
	*values = list_names(&names);
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_attribute_names(
        drmaa_attr_names_t **values, char *error_diagnosis, size_t error_diag_len)
{
	return give_names(values, 0, ATTRIBUTE_SCALARS, DIAGNOSIS);
}

int drmaa_get_vector_attribute_names(
        drmaa_attr_names_t **values, char *error_diagnosis, size_t error_diag_len)
{
	return give_names(values, ATTRIBUTE_SCALARS, ATTRIBUTES, DIAGNOSIS);
}
