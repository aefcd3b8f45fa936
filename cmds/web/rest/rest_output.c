/* rest_output.c - /v1/job/ID/output: the end of what a job has written (cmds/web/output_tail.h) */
#include <string.h>

#include "cmds/web/output_tail.h"
#include "cmds/web/rest/rest.h"
#include "cmds/web/rest/rest_query.h"
#include "common/base/text.h"
#include "common/net/msgjson.h"

/* As a text of JSON: control characters of ASCII stay, whatever else is no plain text does not. */
static json_t *as_text(const struct strbuf *bytes)
{
	const char *s = bytes->s;
	size_t n = bytes->len;
	struct strbuf out = { 0 };
	json_t *text;

	while (n) {
		size_t plain = text_plain_prefix(s, n);

		strbuf_add(&out, s, plain);
		s += plain;
		n -= plain;
		if (!n)
			break;
		if (*s && (unsigned char)*s < 0x80)
			strbuf_add(&out, s, 1);
		else
			strbuf_adds(&out, "\357\277\275"); /* U+FFFD */
		s++, n--;
	}
	text = json_stringn(out.s ? out.s : "", out.len);
	strbuf_free(&out);
	return text;
}

static void answer(const struct http_request *r, struct http_answer *a, const struct tail *t,
        const struct tail_file *file, bool is_error)
{
	Gpusched__JobOutput m = GPUSCHED__JOB_OUTPUT__INIT;
	bool first = true;
	json_t *item;

	m.file = (char *)(uintptr_t)(is_error ? "stderr" : "stdout");
	m.path = file->path;
	m.node = t->node;
	m.attempt = t->attempt;
	m.at = file->at;
	item = msgjson(&m.base, 0);
	json_object_set_new(item, "text", as_text(&file->text)); /* one with ends of lines */
	rest_begin(r, a);
	rest_list(a, "outputs");
	rest_item(a, item, &first);
	strbuf_adds(&a->body, "]");
	rest_end(a);
}

void rest_output(const struct http_request *r, struct http_answer *a)
{
	struct tail_ask ask = { .viewer = r->viewer->uid, .name = r->name };
	const struct tail_file *file;
	struct rest_query q;
	struct error err;
	struct tail t;

	if (rest_query_read(r, REST_TAIL | REST_FILE, &q, &err) < 0) {
		rest_error(r, a, &err);
		return;
	}
	ask.lines = q.tail;
	ask.wanted[q.file] = true;
	file = &t.files[q.file];
	if (tail_read(r->client, &ask, &t, &err) < 0)
		rest_error(r, a, &err);
	else if (!file->asked) {
		error_set(&err, ERR_JOB_STATE, "its errors are in its output");
		rest_error(r, a, &err);
	} else if (file->error.code)
		rest_error(r, a, &file->error);
	else
		answer(r, a, &t, file, q.file == TAIL_STDERR);
	tail_clear(&t);
	rest_query_clear(&q);
}
