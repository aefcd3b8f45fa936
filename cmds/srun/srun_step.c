/* srun_step.c - a step from its request to its end; see srun.h */
#include "cmds/srun/srun_step.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmds/cli/terminal.h"
#include "cmds/steps/step_filename.h"
#include "common/base/hostlist.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

#define READ_STEP  (64 * 1024)
#define TAKEN_STEP (STEP_WINDOW / 4)
#define IN_STEP    (STEPLINK_DATA_MAX - 4)

extern char **environ;

/* --- to the manager --------------------------------------------------------------------------- */

void srun_signal(struct srun_run *r, uint32_t sig)
{
	uint8_t b[8];

	if (!r->created)
		return;
	put_u32(b, sig);
	put_u32(b + 4, STEP_NONE);
	steplink_put(r->link, STEP_SIGNAL, r->id, b, sizeof(b));
}

static void tell_taken(struct srun_run *r)
{
	uint64_t n = r->out.taken - r->told_taken;
	uint8_t b[4];

	if (n < TAKEN_STEP || r->over)
		return;
	put_u32(b, (uint32_t)n);
	r->told_taken = r->out.taken;
	steplink_put(r->link, STEP_TAKEN, r->id, b, sizeof(b));
}

/* No process reads our output any more: the tasks learn it as they would in a pipeline. */
static void tell_broken(struct srun_run *r)
{
	if (!r->out.broken || r->told_sigpipe)
		return;
	r->told_sigpipe = true;
	srun_signal(r, SIGPIPE);
}

/* Returns -1 when the connection is dead. */
static int flush(struct srun_run *r)
{
	const uint8_t *bytes;
	size_t len;
	ssize_t n;

	while (bytes = steplink_pending(r->link, &len), len) {
		n = send(r->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		steplink_sent(r->link, (size_t)n);
	}
	return 0;
}

/* --- input ------------------------------------------------------------------------------------ */

static bool wants_input(const struct srun_run *r)
{
	return r->created && !r->over && !r->in_ended && r->in_way < STEP_IN_WINDOW &&
	       !terminal_is_others();
}

static void end_input(struct srun_run *r)
{
	uint8_t b[4];

	r->in_ended = true;
	put_u32(b, STEP_NONE);
	steplink_put(r->link, STEP_IN_END, r->id, b, sizeof(b));
}

static void read_input(struct srun_run *r)
{
	uint8_t b[IN_STEP];
	size_t max = STEP_IN_WINDOW - r->in_way;
	ssize_t n = read(r->in_fd, b, max < sizeof(b) ? max : sizeof(b));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_input(r);
		return;
	}
	r->in_way += (size_t)n;
	steplink_put_bytes(r->link, STEP_IN, r->id, STEP_NONE, b, (size_t)n);
}

static int open_input(struct srun_run *r, struct error *err)
{
	const Gpusched__StepRequest *q = &r->parts[0].request;
	const char *text = r->o->input;
	struct filename_in in = { .env = environ, .node = "", .name = q->name };
	char *name;

	r->in_fd = STDIN_FILENO;
	if (q->no_input || q->input.len) {
		r->in_ended = true;
		return 0;
	}
	if (!text || !strcasecmp(text, "all") || q->input_task)
		return 0;
	name = filename_expand(text, strlen(text), &in);
	r->in_fd = open(name, O_RDONLY | O_CLOEXEC);
	if (r->in_fd < 0)
		error_set(
		        err, ERR_USAGE, "Could not open stdin file: %s: %s", name, strerror(errno));
	free(name);
	return r->in_fd < 0 ? -1 : 0;
}

/* --- output ----------------------------------------------------------------------------------- */

/* The files that srun opens itself; their names may have the step's number. */
static void open_outputs(struct srun_run *r)
{
	for (size_t i = 0; i < r->n_parts * 2; i++) {
		struct srun_dest *d = &r->out.dest[i];
		const struct srun_part *part = &r->parts[i / 2];
		struct filename_in in = { .env = environ,
			.step = r->id,
			.node = r->first_node,
			.name = part->request.name };
		char *name, *path;

		if (d->where != SRUN_FILE)
			continue;
		if (i % 2 && r->out.dest[i - 1].where == SRUN_FILE &&
		        !strcmp(d->pattern, r->out.dest[i - 1].pattern)) {
			d->fd = r->out.dest[i - 1].fd;
			continue;
		}
		name = filename_expand(d->pattern, strlen(d->pattern), &in);
		path = name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", part->cwd, name);
		d->fd = open(path,
		        O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (part->o.append ? 0 : O_TRUNC),
		        0666);
		if (d->fd < 0) {
			srun_fail("Could not open %s file: %s: %s", i % 2 ? "stderr" : "stdout",
			        path, strerror(errno));
			r->worst = r->worst ? r->worst : 1;
			srun_terminate(r);
		}
		free(path);
		free(name);
	}
}

static void begin_output(struct srun_run *r)
{
	r->out.dest = xcalloc(r->n_parts * 2, sizeof(*r->out.dest));
	for (size_t i = 0; i < r->n_parts; i++)
		memcpy(&r->out.dest[i * 2], r->parts[i].dest, sizeof(r->parts[i].dest));
	r->out.label = r->o->label;
	r->out.meanwhile = srun_take_signals;
	r->out.meanwhile_fd = r->signals;
	r->out.arg = r;
}

/* --- from the manager ------------------------------------------------------------------------- */

static void take_created(struct srun_run *r, const Gpusched__StepState *s)
{
	char **names;
	size_t n;

	if (r->created)
		return;
	if (r->waits_told && !r->o->quiet)
		srun_info("Step created for job %s", r->job->name);
	r->created = true;
	r->id = s->step;
	r->tasks = s->tasks;
	r->states = xcalloc(s->tasks, 1);
	r->nodelist = xstrdup(s->nodelist);
	if (hostlist_expand(s->nodelist, HOSTLIST_MAX, &names, &n, NULL) == 0) {
		r->first_node = xstrdup(names[0]);
		free(names);
	} else {
		r->first_node = xstrdup("");
	}
	snprintf(r->name, sizeof(r->name), "StepId=%s.%u", r->job->name, r->id);
	r->out.by_line = s->tasks > 1 && !r->o->unbuffered && !r->o->pty;
	srun_out_begin(&r->out, s->tasks, s->part_tasks, s->n_part_tasks);
	if (r->o->verbose)
		srun_info("launching %s on host %s, %u tasks: 0%s", r->name, s->nodelist, s->tasks,
		        s->tasks > 1 ? "-" : "");
	open_outputs(r);
	if (r->o->pty)
		terminal_raw();
}

static void take_refused(struct srun_run *r, const Gpusched__StepState *s)
{
	srun_fail("Unable to create step for job %s: %s", r->job->name, s->text);
	r->over = r->failed = true;
}

static void take_state(struct srun_run *r, const struct steplink_message *m)
{
	Gpusched__StepState *s = gpusched__step_state__unpack(NULL, m->len, m->data);

	if (!s)
		return;
	switch (s->state) {
	case GPUSCHED__STEP_STATE__STATE__WAITS:
		r->waits_told = true;
		if (!r->o->quiet)
			srun_info("Job %s step creation temporarily disabled, retrying (%s)",
			        r->job->name, s->text);
		break;
	case GPUSCHED__STEP_STATE__STATE__CREATED:
		take_created(r, s);
		break;
	case GPUSCHED__STEP_STATE__STATE__REFUSED:
		take_refused(r, s);
		break;
	case GPUSCHED__STEP_STATE__STATE__CANCELLED:
	case GPUSCHED__STEP_STATE__STATE__TIME_LIMIT:
		srun_tell_cancelled(r, s->state == GPUSCHED__STEP_STATE__STATE__TIME_LIMIT);
		break;
	default:
		break;
	}
	gpusched__step_state__free_unpacked(s, NULL);
}

static void take_end(struct srun_run *r, const struct steplink_message *m)
{
	Gpusched__StepEnd *e = gpusched__step_end__unpack(NULL, m->len, m->data);

	r->over = true;
	if (!e)
		return;
	if (*e->text) {
		srun_fail("%s", e->text);
		r->worst = r->worst ? r->worst : e->exit_code;
	}
	gpusched__step_end__free_unpacked(e, NULL);
}

static void take_message(struct srun_run *r, const struct steplink_message *m)
{
	switch (m->kind) {
	case STEP_STATE:
		take_state(r, m);
		break;
	case STEP_OUT:
	case STEP_ERR:
		if (r->created && m->len >= 4)
			srun_out_put(&r->out, get_u32(m->data), m->kind == STEP_ERR, m->data + 4,
			        m->len - 4);
		tell_taken(r);
		tell_broken(r);
		break;
	case STEP_TASK:
		if (r->created)
			srun_take_task(r, m);
		break;
	case STEP_IN_TAKEN:
		if (m->len == 4 && get_u32(m->data) <= r->in_way)
			r->in_way -= get_u32(m->data);
		break;
	case STEP_END:
		take_end(r, m);
		break;
	default:
		break;
	}
}

static int receive(struct srun_run *r, struct error *err)
{
	uint8_t bytes[READ_STEP];
	struct steplink_message m;
	ssize_t n = read(r->fd, bytes, sizeof(bytes));
	int k;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return error_set(err, ERR_UNREACHABLE, "the job's step manager has gone");
	if (steplink_feed(r->link, bytes, (size_t)n, err) < 0)
		return -1;
	while (!r->over && (k = steplink_next(r->link, &m, err)) != 0) {
		if (k < 0)
			return -1;
		take_message(r, &m);
	}
	return 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

static int wait_and_take(struct srun_run *r, struct error *err)
{
	struct pollfd p[3] = { { .fd = r->fd, .events = POLLIN },
		{ .fd = r->signals, .events = POLLIN } };
	bool input = wants_input(r);
	size_t len;

	steplink_pending(r->link, &len);
	if (len)
		p[0].events |= POLLOUT;
	p[2] = (struct pollfd){ .fd = r->in_fd, .events = POLLIN };
	if (poll(p, input ? 3 : 2, srun_timeout(r)) < 0 && errno != EINTR)
		return error_set(err, ERR_SYSTEM, "poll: %s", strerror(errno));
	if (p[1].revents)
		srun_take_signals(r);
	if (p[0].revents & (POLLIN | POLLHUP | POLLERR) && receive(r, err) < 0)
		return -1;
	if (input && p[2].revents && !r->over)
		read_input(r);
	srun_check_clock(r);
	if (flush(r) < 0 && !r->over)
		return error_set(err, ERR_UNREACHABLE, "the job's step manager has gone");
	return 0;
}

static int catch_signals(struct error *err)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT,
		SIGALRM, SIGWINCH };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sigaddset(&set, ours[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? error_set(err, ERR_SYSTEM, "signalfd: %s", strerror(errno)) : fd;
}

static int finish(struct srun_run *r, int rc, const struct error *err)
{
	terminal_restore();
	if (r->created)
		srun_out_end(&r->out);
	srun_tell_exits(r);
	if (rc < 0)
		srun_fail("%s", err->text);
	if (r->terminated && rc == 0)
		srun_info("Force Terminated %s", r->name);
	steplink_free(r->link);
	free(r->out.dest);
	free(r->exits);
	free(r->states);
	free(r->nodelist);
	free(r->first_node);
	close(r->signals);
	return rc < 0 || r->failed ? SRUN_FAILED : (int)r->worst;
}

int srun_step(struct srun_part *parts, size_t n, const struct srun_job *job, int fd)
{
	struct srun_run r = {
		.parts = parts, .n_parts = n, .o = &parts[0].o, .job = job, .fd = fd
	};
	struct error err = { .code = ERR_NONE };
	int rc = 0;

	r.signals = catch_signals(&err);
	r.link = steplink_new();
	if (r.signals < 0 || open_input(&r, &err) < 0)
		return finish(&r, -1, &err);
	begin_output(&r);
	for (size_t i = 0; i < n; i++)
		steplink_put_message(r.link, STEP_NEW, STEP_NONE, &parts[i].request.base);
	rc = flush(&r);
	while (rc == 0 && !r.over)
		rc = wait_and_take(&r, &err);
	return finish(&r, rc, &err);
}
