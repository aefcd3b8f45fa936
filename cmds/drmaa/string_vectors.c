/* string_vectors.c - see string_vectors.h, and the functions of drmaa.h that read them */
#include "cmds/drmaa/string_vectors.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmds/drmaa/error_diagnosis.h"
#include "common/base/xalloc.h"

void list_add(struct text_list *list, const char *text)
{
	*XADD(list->v, list->n, list->size) = xstrdup(text);
}

void list_addf(struct text_list *list, const char *fmt, ...)
{
	char text[DRMAA_ATTR_BUFFER];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	list_add(list, text);
}

void list_clear(struct text_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i]);
	free(list->v);
	*list = (struct text_list){ .v = NULL };
}

/* --- names and values ----------------------------------------------------------------------- */

struct drmaa_attr_names_s {
	struct text_list list;
	size_t at;
};
struct drmaa_attr_values_s {
	struct drmaa_attr_names_s names;
};

drmaa_attr_names_t *list_names(struct text_list *list)
{
	drmaa_attr_names_t *names = xcalloc(1, sizeof(*names));

	names->list = *list;
	*list = (struct text_list){ .v = NULL };
	return names;
}

drmaa_attr_values_t *list_values(struct text_list *list)
{
	drmaa_attr_values_t *values = xcalloc(1, sizeof(*values));

	values->names.list = *list;
	*list = (struct text_list){ .v = NULL };
	return values;
}

int drmaa_get_next_attr_name(drmaa_attr_names_t *values, char *value, size_t value_len)
{
	if (!values || !value)
		return DRMAA_ERRNO_INVALID_ARGUMENT;
	if (values->at == values->list.n)
		return DRMAA_ERRNO_NO_MORE_ELEMENTS;
	fail_copy(value, value_len, values->list.v[values->at++]);
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_next_attr_value(drmaa_attr_values_t *values, char *value, size_t value_len)
{
	return drmaa_get_next_attr_name(values ? &values->names : NULL, value, value_len);
}

int drmaa_get_num_attr_names(drmaa_attr_names_t *values, size_t *size)
{
	if (!values || !size)
		return DRMAA_ERRNO_INVALID_ARGUMENT;
	*size = values->list.n;
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_num_attr_values(drmaa_attr_values_t *values, size_t *size)
{
	return drmaa_get_num_attr_names(values ? &values->names : NULL, size);
}

void drmaa_release_attr_names(drmaa_attr_names_t *values)
{
	if (!values)
		return;
	list_clear(&values->list);
	free(values);
}

void drmaa_release_attr_values(drmaa_attr_values_t *values)
{
	if (!values)
		return;
	list_clear(&values->names.list);
	free(values);
}

/* --- job ids -------------------------------------------------------------------------------- */

struct drmaa_job_ids_s {
	uint64_t job;
	int64_t first, next, last, step;
};

drmaa_job_ids_t *list_job_ids(uint64_t job, int start, int end, int incr)
{
	drmaa_job_ids_t *ids = xcalloc(1, sizeof(*ids));

	*ids = (drmaa_job_ids_t){ job, start, start, end, incr };
	return ids;
}

int drmaa_get_next_job_id(drmaa_job_ids_t *values, char *value, size_t value_len)
{
	char text[64];

	if (!values || !value)
		return DRMAA_ERRNO_INVALID_ARGUMENT;
	if (values->next > values->last)
		return DRMAA_ERRNO_NO_MORE_ELEMENTS;
	snprintf(text, sizeof(text), "%" PRIu64 "_%" PRId64, values->job, values->next);
	fail_copy(value, value_len, text);
	values->next += values->step;
	return DRMAA_ERRNO_SUCCESS;
}

int drmaa_get_num_job_ids(drmaa_job_ids_t *values, size_t *size)
{
	if (!values || !size)
		return DRMAA_ERRNO_INVALID_ARGUMENT;
	*size = (size_t)((values->last - values->first) / values->step) + 1;
	return DRMAA_ERRNO_SUCCESS;
}

void drmaa_release_job_ids(drmaa_job_ids_t *values)
{
	free(values);
}
