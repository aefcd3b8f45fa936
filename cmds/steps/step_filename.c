/* step_filename.c - see step_filename.h */
#include "cmds/steps/step_filename.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "cmds/steps/taskenv.h"
#include "common/base/strbuf.h"

#define PAD_MAX  10
#define NO_ARRAY "4294967294" /* as Slurm writes %a of a job that is no array */

static const char *of_env(
        const struct filename_in *in, const char *slurm, const char *ours, const char *none)
{
	const char *v = taskenv_get(in->env, slurm);

	v = v ? v : taskenv_get(in->env, ours);
	return v ? v : none;
}

static void put_number(struct strbuf *out, const char *digits, unsigned width)
{
	for (size_t len = strlen(digits); len < width; len++)
		strbuf_adds(out, "0");
	strbuf_adds(out, digits);
}

static void put_u32_padded(struct strbuf *out, uint32_t v, unsigned width)
{
	strbuf_addf(out, "%0*" PRIu32, (int)width, v);
}

static void put_name(struct strbuf *out, const char *s)
{
	for (; *s; s++)
		strbuf_add(out, *s == '/' ? "_" : s, 1);
}

/* False: no such letter. */
static bool put_value(struct strbuf *out, char letter, unsigned width, const struct filename_in *in)
{
	const char *job = of_env(in, "SLURM_JOB_ID", "GPUSCHED_JOB_ID", "0");

	switch (letter) {
	case 'j':
		return put_number(out, job, width), true;
	case 'J':
		put_number(out, job, width);
		strbuf_addf(out, ".%" PRIu32, in->step);
		return true;
	case 'A':
		put_number(
		        out, of_env(in, "SLURM_ARRAY_JOB_ID", "GPUSCHED_ARRAY_JOB_ID", job), width);
		return true;
	case 'a':
		put_number(out,
		        of_env(in, "SLURM_ARRAY_TASK_ID", "GPUSCHED_ARRAY_TASK_ID", NO_ARRAY),
		        width);
		return true;
	case 's':
		return put_u32_padded(out, in->step, width), true;
	case 't':
		return put_u32_padded(out, in->task, width), true;
	case 'n':
		return put_u32_padded(out, in->node_id, width), true;
	case 'N':
		return put_name(out, in->node), true;
	case 'x':
		put_name(out, of_env(in, "SLURM_JOB_NAME", "GPUSCHED_JOB_NAME", in->name));
		return true;
	case 'u':
		return put_name(out, of_env(in, "USER", "GPUSCHED_USER", "")), true;
	case '%':
		return strbuf_adds(out, "%"), true;
	default:
		return false;
	}
}

static size_t put_piece(
        struct strbuf *out, const char *p, size_t left, const struct filename_in *in)
{
	size_t digits = 0;
	unsigned width = 0;

	while (*p == '%' && 1 + digits < left && isdigit((unsigned char)p[1 + digits]) &&
	        digits < 3)
		width = width * 10 + (unsigned)(p[1 + digits++] - '0');
	if (*p == '%' && 1 + digits < left &&
	        put_value(out, p[1 + digits], width < PAD_MAX ? width : PAD_MAX, in))
		return 2 + digits;
	strbuf_add(out, p, 1);
	return 1;
}

char *filename_expand(const char *pattern, size_t len, const struct filename_in *in)
{
	bool literal = len && memchr(pattern, '\\', len);
	struct strbuf out = { 0 };

	for (size_t at = 0; at < len;) {
		if (!literal)
			at += put_piece(&out, pattern + at, len - at, in);
		else if (pattern[at++] != '\\')
			strbuf_add(&out, pattern + at - 1, 1);
	}
	return strbuf_take(&out);
}

bool filename_is_of_task(const char *pattern)
{
	if (strchr(pattern, '\\'))
		return false;
	for (const char *p = pattern; (p = strchr(p, '%')); p++) {
		p++;
		while (isdigit((unsigned char)*p))
			p++;
		if (*p == 't' || *p == 'n' || *p == 'N')
			return true;
		if (!*p)
			break;
	}
	return false;
}
