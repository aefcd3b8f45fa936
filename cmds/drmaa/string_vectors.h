/* string_vectors.h - lists of texts that a program reads one by one: names, values, job ids
 *
 * The three types of drmaa.h are one struct. A list of job ids is made of an array's tasks as it is
 * read, so that a million of them cost nothing.
 */
#ifndef CMDS_DRMAA_STRING_VECTORS_H
#define CMDS_DRMAA_STRING_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "cmds/drmaa/drmaa.h"

struct text_list {
	char **v; /* owned */
	size_t n, size;
};

void list_add(struct text_list *list, const char *text);
void list_addf(struct text_list *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void list_clear(struct text_list *list);

/* Take over what `list` holds. */
drmaa_attr_names_t *list_names(struct text_list *list);
drmaa_attr_values_t *list_values(struct text_list *list);
drmaa_job_ids_t *list_job_ids(uint64_t job, int start, int end, int incr);

#endif
