/* jsonout.c - see jsonout.h */
#include "cmds/cli/jsonout.h"

#include <inttypes.h>

#define VERSION 1

static void print(FILE *out, const json_t *value)
{
	json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
}

static void print_text(FILE *out, const char *text)
{
	json_t *value = json_string(text);

	if (!value) /* not UTF-8 */
		value = json_string("");
	print(out, value);
	json_decref(value);
}

void jsonout_begin(struct jsonout *j, FILE *out, const char *cluster, const char *what)
{
	*j = (struct jsonout){ .out = out, .cluster = cluster, .what = what };
}

static void begin_document(struct jsonout *j)
{
	if (j->begun)
		return;
	j->begun = 1;
	fprintf(j->out, "{\"version\":%d,\"cluster\":", VERSION);
	print_text(j->out, j->cluster);
	fprintf(j->out, ",\"%s\":[", j->what);
}

void jsonout_object(struct jsonout *j, json_t *object)
{
	begin_document(j);
	if (j->n++)
		putc(',', j->out);
	if (!j->lines)
		putc('\n', j->out);
	print(j->out, object);
	json_decref(object);
}

void jsonout_list(struct jsonout *j, const char *what)
{
	begin_document(j);
	fprintf(j->out, "%s],\"%s\":[", j->n && !j->lines ? "\n" : "", what);
	j->n = 0;
}

void jsonout_part(struct jsonout *j, uint64_t cursor, bool fresh)
{
	begin_document(j);
	putc(']', j->out);
	if (cursor)
		fprintf(j->out, ",\"cursor\":%" PRIu64, cursor);
	fprintf(j->out, "%s}\n", fresh ? ",\"fresh\":true" : "");
	j->begun = 0;
	j->n = 0;
}

void jsonout_end(struct jsonout *j, const struct error *err)
{
	begin_document(j);
	fputs(j->n && !j->lines ? "\n]" : "]", j->out);
	if (err) {
		fputs(",\"error\":{\"code\":", j->out);
		print_text(j->out, error_name(err->code));
		fputs(",\"text\":", j->out);
		print_text(j->out, err->text);
		fputs(",\"hint\":", j->out);
		print_text(j->out, err->hint);
		putc('}', j->out);
	}
	fputs("}\n", j->out);
}
