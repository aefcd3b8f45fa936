/* sorted_lines.c - see sorted_lines.h */
#include "cmds/slurm_commands/sorted_lines.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

void rows_order(struct rows *r, const char *program, const char *order,
        const struct slurm_cmd_field *table, size_t n)
{
	char *list = xstrdup(order), *at = list, *one;

	r->n_keys = 0;
	while ((one = strsep(&at, ",")) && r->n_keys < ROWS_KEYS) {
		bool down = *one == '-';
		const char *name = one + (*one == '-' || *one == '+');
		const struct slurm_cmd_field *field =
		        name[0] && !name[1] ? field_by_letter(name[0], table, n)
		                            : field_by_name(name, strlen(name), table, n);

		if (field)
			r->keys[r->n_keys++] = (struct rows_key){ field, down };
		else if (*name)
			fprintf(stderr, "%s: error: Invalid sort specification: %s\n", program,
			        name);
	}
	free(list);
}

void rows_add(struct rows *r, const struct fields *f, const void *object)
{
	size_t at = r->lines.len;
	struct view_cell cell;

	if (r->n == r->size) {
		r->size = r->size ? 2 * r->size : 64;
		r->v = xrealloc(r->v, r->size, sizeof(*r->v));
		if (r->n_keys)
			r->values = xrealloc(r->values, r->size * r->n_keys, sizeof(*r->values));
	}
	fields_line(f, object, &r->lines);
	r->v[r->n] = (struct row){ at, r->lines.len - at, r->n };
	for (size_t k = 0; k < r->n_keys; k++) {
		struct rows_value *v = &r->values[r->n * r->n_keys + k];
		const char *text = field_value(r->keys[k].field, object, &cell);

		*v = (struct rows_value){ cell.number, r->texts.len, cell.is_number };
		if (!cell.is_number)
			strbuf_add(&r->texts, text, strlen(text) + 1);
	}
	r->n++;
}

static int compare(const void *x, const void *y, void *arg)
{
	const struct rows *r = arg;
	const struct row *a = x, *b = y;

	for (size_t k = 0; k < r->n_keys; k++) {
		const struct rows_value *p = &r->values[a->number * r->n_keys + k],
		                        *q = &r->values[b->number * r->n_keys + k];
		int order = p->is_number && q->is_number
		                    ? (p->number > q->number) - (p->number < q->number)
		            : p->is_number || q->is_number
		                    ? p->is_number - q->is_number
		                    : strcmp(r->texts.s + p->text, r->texts.s + q->text);

		if (order)
			return r->keys[k].descending ? -order : order;
	}
	return (a->number > b->number) - (a->number < b->number);
}

void rows_print(struct rows *r, FILE *out)
{
	if (r->n_keys && r->n > 1)
		qsort_r(r->v, r->n, sizeof(*r->v), compare, r);
	for (size_t i = 0; i < r->n; i++)
		fwrite(r->lines.s + r->v[i].at, 1, r->v[i].len, out);
}

void rows_clear(struct rows *r)
{
	strbuf_free(&r->lines);
	strbuf_free(&r->texts);
	free(r->v);
	free(r->values);
	*r = (struct rows){ .n = 0 };
}
