/* srun_output.c - output of tasks; see srun.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/srun/srun.h"
#include "cmds/steps/step_filename.h"
#include "common/base/xalloc.h"

#define LINE_MAX_BYTES (64 * 1024) /* a longer one is written in pieces */

void srun_dest_read(struct srun_dest *d, const char *text, int fd)
{
	size_t len = text ? strlen(text) : 0;

	*d = (struct srun_dest){ .where = SRUN_ALL, .fd = fd };
	if (!len || !strcasecmp(text, "all"))
		return;
	if (!strcasecmp(text, "none")) {
		d->where = SRUN_NONE;
	} else if (strspn(text, "0123456789") == len) {
		d->where = SRUN_TASK;
		d->task = (uint32_t)strtoul(text, NULL, 10);
	} else {
		d->pattern = text;
		d->where = filename_is_of_task(text) ? SRUN_NODE : SRUN_FILE;
		d->fd = -1; /* until the step has a number */
	}
}

static int count_digits(uint32_t n)
{
	int digits = 1;

	for (; n >= 10; n /= 10)
		digits++;
	return digits;
}

void srun_out_begin(struct srun_out *o, uint32_t tasks, const uint32_t *part_tasks, size_t n_parts)
{
	uint32_t at = 0;

	o->tasks = tasks;
	o->width = count_digits(tasks ? tasks - 1 : 0);
	o->streams = xcalloc((size_t)tasks * 2, sizeof(*o->streams));
	o->part_of = xcalloc(tasks, sizeof(*o->part_of));
	for (size_t i = 0; i < n_parts; i++)
		for (uint32_t k = 0; k < part_tasks[i] && at < tasks; k++)
			o->part_of[at++] = (uint32_t)i;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Signals are heard while the reader is slow. */
static void wait_for_reader(struct srun_out *o, int fd)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLOUT },
		{ .fd = o->meanwhile_fd, .events = POLLIN } };

	poll(p, o->meanwhile ? 2 : 1, -1);
	if (o->meanwhile && p[1].revents)
		o->meanwhile(o->arg);
}

static bool is_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) > 0;
}

static void write_all(struct srun_out *o, struct srun_dest *d, const char *p, size_t n)
{
	while (n && !d->closed) {
		ssize_t w;

		if (!is_ready(d->fd)) {
			wait_for_reader(o, d->fd);
			continue;
		}
		w = write(d->fd, p, n < 4096 ? n : 4096);
		if (w < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (w < 0) {
			d->closed = true;
			o->broken |= errno == EPIPE;
			return;
		}
		p += w;
		n -= (size_t)w;
	}
}

static void write_line(
        struct srun_out *o, struct srun_dest *d, uint32_t task, const char *p, size_t n)
{
	char label[24];

	if (o->label)
		write_all(o, d, label,
		        (size_t)snprintf(label, sizeof(label), "%*u: ", o->width, task));
	write_all(o, d, p, n);
}

static void keep(struct srun_stream *s, const char *p, size_t n)
{
	s->part = xrealloc(s->part, s->n + n + 1, 1);
	memcpy(s->part + s->n, p, n);
	s->n += n;
}

static void put_lines(struct srun_out *o, struct srun_dest *d, struct srun_stream *s, uint32_t task,
        const char *p, size_t n)
{
	while (n) {
		const char *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) + 1 : n;

		if (!end && s->n + len < LINE_MAX_BYTES) {
			keep(s, p, len);
			return;
		}
		if (s->n) {
			keep(s, p, len);
			write_line(o, d, task, s->part, s->n);
			s->n = 0;
		} else {
			write_line(o, d, task, p, len);
		}
		p += len;
		n -= len;
	}
}

static struct srun_dest *dest_of(struct srun_out *o, uint32_t task, bool error)
{
	return &o->dest[o->part_of[task] * 2 + error];
}

void srun_out_put(struct srun_out *o, uint32_t task, bool error, const uint8_t *p, size_t n)
{
	struct srun_dest *d;

	o->taken += n;
	if (task >= o->tasks)
		return;
	d = dest_of(o, task, error);
	if (d->where == SRUN_NONE || d->fd < 0 || (d->where == SRUN_TASK && d->task != task))
		return;
	if (o->by_line || o->label)
		put_lines(o, d, &o->streams[(size_t)task * 2 + error], task, (const char *)p, n);
	else
		write_all(o, d, (const char *)p, n);
}

void srun_out_end(struct srun_out *o)
{
	for (uint32_t i = 0; i < o->tasks; i++)
		for (int error = 0; error < 2; error++) {
			struct srun_stream *s = &o->streams[(size_t)i * 2 + (size_t)error];

			if (s->n) {
				if (o->label)
					keep(s, "\n", 1);
				write_line(o, dest_of(o, i, error), i, s->part, s->n);
			}
			free(s->part);
		}
	free(o->streams);
	free(o->part_of);
}
