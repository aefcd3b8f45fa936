/* worker.c - see worker.h */
#include "cmds/steps/worker_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cmds/steps/cpubind.h"
#include "cmds/steps/multiprog.h"
#include "cmds/steps/pmix_child.h"
#include "cmds/steps/task.h"
#include "cmds/steps/taskenv.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

#define PIPES_GRACE_MS 2000 /* for pipes that a process holds open which could not be found */

static uint32_t count_list(const char *list)
{
	uint32_t n = list && *list ? 1 : 0;

	for (; list && *list; list++)
		n += *list == ',';
	return n;
}

struct worker *worker_new(struct loop *loop, char *const *own, worker_send_fn *send, void *arg)
{
	struct worker *w = xcalloc(1, sizeof(*w));
	const char *cpus = taskenv_get(own, "GPUSCHED_CPUS"),
	           *node = taskenv_get(own, "GPUSCHED_NODE");

	*w = (struct worker){ .loop = loop, .own = own, .send = send, .arg = arg };
	sched_getaffinity(0, sizeof(w->allowed), &w->allowed);
	w->cpus = cpus ? (uint32_t)strtoul(cpus, NULL, 10) : (uint32_t)CPU_COUNT(&w->allowed);
	w->cpus = w->cpus ? w->cpus : 1;
	w->gpus = count_list(taskenv_get(own, "GPUSCHED_GPUS"));
	w->node = node ? node : "localhost";
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return w;
}

uint32_t worker_cpus(const struct worker *w)
{
	return w->cpus;
}

uint32_t worker_gpus(const struct worker *w)
{
	return w->gpus;
}

const char *worker_node(const struct worker *w)
{
	return w->node;
}

bool worker_is_idle(const struct worker *w)
{
	return !w->steps;
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct wstep *find(struct worker *w, uint32_t id)
{
	for (struct wstep *s = w->steps; s; s = s->next)
		if (s->id == id)
			return s;
	return NULL;
}

static struct wstep *wstep_new(struct worker *w, uint32_t id)
{
	struct wstep *s = xcalloc(1, sizeof(*s));

	s->w = w;
	s->id = id;
	s->next = w->steps;
	s->oom_kills = wkill_oom_count();
	w->steps = s;
	return s;
}

static void wstep_free(struct wstep *s)
{
	struct wstep **at = &s->w->steps;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	pmix_child_free(s->pmix);
	for (size_t i = 0; i < s->n_tasks; i++) {
		wio_close(s->tasks[i]);
		free(s->tasks[i]);
	}
	for (size_t i = 0; i < s->n_parts; i++)
		gpusched__step_tasks__free_unpacked(s->parts[i], NULL);
	free(s->tasks);
	free(s->parts);
	free(s->in);
	free(s);
}

void worker_forget(struct worker *w)
{
	while (w->steps) {
		wkill_rest(w->steps);
		wstep_free(w->steps);
	}
}

void wstep_check(struct wstep *s)
{
	if (s->n_alive || s->more)
		return;
	for (size_t i = 0; i < s->n_tasks; i++)
		if (!wio_is_done(s->tasks[i]))
			return;
	s->w->send(s->w->arg, STEP_DONE, s->id, NULL, 0);
	wstep_free(s);
}

/* Its last task has ended. */
static void end_tasks(struct wstep *s)
{
	if (s->more)
		return;
	s->give_up_ms = loop_now_ms() + PIPES_GRACE_MS;
	wkill_rest(s);
	wstep_check(s);
}

/* --- what is told of tasks -------------------------------------------------------------------- */

static void tell(struct wtask *t, Gpusched__StepTask *m)
{
	struct worker *w = t->step->w;
	size_t len;
	uint8_t *data;

	m->task = t->id;
	m->node = (char *)(uintptr_t)w->node;
	len = gpusched__step_task__get_packed_size(m);
	data = xcalloc(len, 1);
	gpusched__step_task__pack(m, data);
	w->send(w->arg, STEP_TASK, t->step->id, data, len);
	free(data);
}

static void tell_started(struct wtask *t)
{
	Gpusched__StepTask m = GPUSCHED__STEP_TASK__INIT;

	m.pid = (uint32_t)t->pid;
	tell(t, &m);
}

static void tell_failed(struct wtask *t, const char *why)
{
	Gpusched__StepTask m = GPUSCHED__STEP_TASK__INIT;

	m.ended = true;
	m.exit_code = 1;
	m.error = (char *)(uintptr_t)why;
	tell(t, &m);
}

static void tell_ended(struct wtask *t, int status, const struct rusage *used)
{
	Gpusched__StepTask m = GPUSCHED__STEP_TASK__INIT;

	m.pid = (uint32_t)t->group;
	m.ended = true;
	if (WIFSIGNALED(status)) {
		m.exit_signal = (uint32_t)WTERMSIG(status);
		m.core_dumped = WCOREDUMP(status);
		m.out_of_memory =
		        m.exit_signal == SIGKILL && wkill_oom_count() > t->step->oom_kills;
	} else {
		m.exit_code = (uint32_t)WEXITSTATUS(status);
	}
	m.cpu_time_us = (uint64_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000 +
	                (uint64_t)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
	m.max_rss_kb = (uint64_t)used->ru_maxrss;
	tell(t, &m);
}

/* --- starting --------------------------------------------------------------------------------- */

static char **plain_words(const Gpusched__StepRequest *r)
{
	char **words = xcalloc(r->n_args + 1, sizeof(*words));

	for (size_t i = 0; i < r->n_args; i++)
		words[i] = xstrndup((const char *)r->args[i].data, r->args[i].len);
	return words;
}

static char **words_of(const struct wtask *t, struct error *err)
{
	const Gpusched__StepRequest *r = t->part->request;

	if (r->multi_prog.len)
		return multiprog_words(
		        (const char *)r->multi_prog.data, r->multi_prog.len, t->id, err);
	if (r->n_args)
		return plain_words(r);
	error_set(err, ERR_USAGE, "no program");
	return NULL;
}

static char *pmi_names(const struct wtask *t, int fd)
{
	return fd < 0 ? NULL
	              : xasprintf("PMI_FD=%d\nPMI_RANK=%u\nPMI_SIZE=%u\nPMI_JOBID=%s.%u", fd, t->id,
	                        t->part->tasks, taskenv_get(t->step->w->own, "GPUSCHED_JOB_ID"),
	                        t->step->id);
}

static pid_t spawn(struct wtask *t, char **words, const struct wends *ends, struct error *err)
{
	struct worker *w = t->step->w;
	const Gpusched__StepRequest *r = t->part->request;
	bool pmix = wio_has_pmix(t);
	char *pmi = pmi_names(t, pmix ? -1 : ends->pmi), *cwd = xstrndup((const char *)r->cwd.data, r->cwd.len);
	struct taskenv_in in = { t->part, t->step->id, t->local, w->own, pmi, t->first };
	char **env = taskenv_make(&in);
	cpu_set_t cpus;
	bool bound = cpubind_find(t->part, t->local, &w->allowed, w->cpus, &cpus);
	struct task_start start = { .argv = words,
		.env = env,
		.cwd = cwd,
		.umask = (mode_t)r->umask,
		.fd = { ends->fd[0], ends->fd[1], ends->fd[2] },
		.keep_fd = pmix ? -1 : ends->pmi,
		.env_fd = pmix ? ends->pmi : -1,
		.terminal = t->pty,
		.cpus = bound ? &cpus : NULL,
		.node = w->node };
	pid_t pid = task_start(&start, err);

	taskenv_free(env);
	free(cwd);
	free(pmi);
	return pid;
}

static void start_task(struct wtask *t)
{
	struct error err = { .code = ERR_NONE };
	char **words = words_of(t, &err);
	struct wends ends;
	pid_t pid = -1;

	if (words && wio_open(t, &ends, &err) == 0) {
		pid = spawn(t, words, &ends, &err);
		wio_close_ends(&ends);
	}
	multiprog_free(words);
	if (pid < 0) {
		wio_close(t);
		t->ended = true;
		t->step->n_alive--;
		tell_failed(t, err.text);
		return;
	}
	t->pid = t->group = pid;
	tell_started(t);
	wio_watch(t);
}

static void add_tasks(struct wstep *s, const Gpusched__StepTasks *part)
{
	uint32_t first = (uint32_t)s->n_tasks;

	s->tasks = xrealloc(s->tasks, s->n_tasks + part->n_ids, sizeof(struct wtask *));
	for (size_t i = 0; i < part->n_ids; i++) {
		struct wtask *t = xcalloc(1, sizeof(*t));

		*t = (struct wtask){
			.step = s, .part = part, .local = i, .first = first, .id = part->ids[i]
		};
		t->in.fd = t->out.fd = t->err.fd = t->pmi.fd = -1;
		s->tasks[s->n_tasks++] = t;
	}
	s->n_alive += part->n_ids;
}

/* --bcast: the program that srun sent, where it is to be. */
static int write_program(const Gpusched__StepRequest *r, struct error *err)
{
	char *path = xstrndup((const char *)r->bcast.data, r->bcast.len);
	char *part = xasprintf("%s.%d", path, (int)getpid());
	int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700), rc = 0;

	for (size_t at = 0; fd >= 0 && at < r->bcast_file.len;) {
		ssize_t n = write(fd, r->bcast_file.data + at, r->bcast_file.len - at);

		if (n < 0) {
			close(fd);
			fd = -1;
			break;
		}
		at += (size_t)n;
	}
	if (fd < 0 || close(fd) < 0 || rename(part, path) < 0)
		rc = error_set(err, ERR_SYSTEM, "--bcast: %s: %s", path, strerror(errno));
	free(part);
	free(path);
	return rc;
}

static void fail_tasks(struct wstep *s, size_t first, const char *why)
{
	for (size_t i = first; i < s->n_tasks; i++) {
		s->tasks[i]->ended = true;
		s->n_alive--;
		tell_failed(s->tasks[i], why);
	}
}

static int take_start(struct worker *w, const struct steplink_message *m, struct error *err)
{
	Gpusched__StepTasks *part = gpusched__step_tasks__unpack(NULL, m->len, m->data);
	struct wstep *s = find(w, m->step);
	struct error why;
	size_t first;

	if (!part || !part->request) {
		if (part)
			gpusched__step_tasks__free_unpacked(part, NULL);
		return error_set(err, ERR_PROTOCOL, "tasks that cannot be read");
	}
	s = s ? s : wstep_new(w, m->step);
	first = s->n_tasks;
	s->parts = xrealloc(s->parts, s->n_parts + 1, sizeof(*s->parts));
	s->parts[s->n_parts++] = part;
	s->more = part->more;
	add_tasks(s, part);
	if ((part->request->bcast_file.len && write_program(part->request, &why) < 0) ||
	        wpmix_start(s, part, m, &why) < 0)
		fail_tasks(s, first, why.text);
	else
		for (size_t i = first; i < s->n_tasks; i++)
			start_task(s->tasks[i]);
	if (!s->n_alive)
		end_tasks(s);
	return 0;
}

/* --- ending ----------------------------------------------------------------------------------- */

static struct wtask *find_pid(struct worker *w, pid_t pid)
{
	for (struct wstep *s = w->steps; s; s = s->next)
		for (size_t i = 0; i < s->n_tasks; i++)
			if (s->tasks[i]->pid == pid)
				return s->tasks[i];
	return NULL;
}

void worker_reap(struct worker *w)
{
	struct rusage used;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		struct wtask *t = find_pid(w, pid);
		struct wstep *s = t ? t->step : NULL;

		if (!t)
			continue;
		t->pid = 0;
		t->ended = true;
		tell_ended(t, status, &used);
		wio_feed(s);
		if (--s->n_alive == 0)
			end_tasks(s);
	}
	/* What an orphan leaves behind comes to us with its end. */
	for (struct wstep *s = w->steps; s; s = s->next)
		if (!s->n_alive && !s->more)
			wkill_rest(s);
}

void worker_tick(struct worker *w)
{
	int64_t now = loop_now_ms();
	struct wstep *next;

	for (struct wstep *s = w->steps; s; s = next) {
		next = s->next;
		if (s->n_alive || s->more || now < s->give_up_ms)
			continue;
		for (size_t i = 0; i < s->n_tasks; i++)
			wio_close(s->tasks[i]);
		wstep_check(s);
	}
}

int worker_wait_ms(const struct worker *w)
{
	int64_t now = loop_now_ms(), least = -1;

	for (const struct wstep *s = w->steps; s; s = s->next) {
		int64_t left = s->give_up_ms - now;

		if (s->n_alive || s->more)
			continue;
		left = left < 0 ? 0 : left;
		least = least < 0 || left < least ? left : least;
	}
	return (int)least;
}

void worker_signal_all(struct worker *w, int sig)
{
	for (struct wstep *s = w->steps; s; s = s->next)
		wkill_tasks(s, STEP_NONE, sig);
}

/* --- messages --------------------------------------------------------------------------------- */

static int take_input_bytes(struct wstep *s, const struct steplink_message *m, struct error *err)
{
	size_t len = m->len - 4;

	if (s->in_n + len > STEP_IN_WINDOW)
		return error_set(err, ERR_PROTOCOL, "more input than was asked for");
	if (s->in_n + len > s->in_size) {
		s->in_size = s->in_n + len;
		s->in = xrealloc(s->in, s->in_size, 1);
	}
	memcpy(s->in + s->in_n, m->data + 4, len);
	s->in_n += len;
	wio_feed(s);
	return 0;
}

static void take_window(struct wstep *s, const struct steplink_message *m)
{
	struct winsize size = { .ws_row = get_u16(m->data), .ws_col = get_u16(m->data + 2) };

	for (size_t i = 0; i < s->n_tasks; i++)
		if (s->tasks[i]->pty && s->tasks[i]->out.fd >= 0)
			ioctl(s->tasks[i]->out.fd, TIOCSWINSZ, &size);
}

static void take_pmi(struct wstep *s, const struct steplink_message *m)
{
	uint32_t id = get_u32(m->data);

	for (size_t i = 0; i < s->n_tasks; i++)
		if (s->tasks[i]->id == id)
			wio_answer(s->tasks[i], m->data + 4, m->len - 4);
}

static void take_signal(struct wstep *s, const struct steplink_message *m)
{
	uint32_t sig = get_u32(m->data), task = get_u32(m->data + 4);

	if (sig < NSIG)
		wkill_tasks(s, task, (int)sig);
}

static void take_taken(struct wstep *s, const struct steplink_message *m)
{
	uint32_t n = get_u32(m->data);

	s->out_way -= n < s->out_way ? n : s->out_way;
	wio_more_room(s);
}

int worker_take(struct worker *w, const struct steplink_message *m, struct error *err)
{
	static const struct {
		unsigned kind;
		size_t least;
	} lengths[] = { { STEP_IN, 4 }, { STEP_IN_END, 4 }, { STEP_SIGNAL, 8 }, { STEP_TAKEN, 4 },
		{ STEP_WINDOW_SIZE, 4 }, { STEP_PMI, 4 }, { STEP_PMIX, 0 } };
	struct wstep *s = find(w, m->step);
	size_t i = 0, n = sizeof(lengths) / sizeof(lengths[0]);

	if (m->kind == STEP_START)
		return take_start(w, m, err);
	while (i < n && lengths[i].kind != m->kind)
		i++;
	if (i == n || m->len < lengths[i].least)
		return error_set(err, ERR_PROTOCOL, "a message of kind %u", m->kind);
	if (!s) /* it has ended, which the manager did not know yet */
		return 0;
	switch (m->kind) {
	case STEP_IN:
		return take_input_bytes(s, m, err);
	case STEP_IN_END:
		s->in_ended = true;
		wio_feed(s);
		break;
	case STEP_SIGNAL:
		take_signal(s, m);
		break;
	case STEP_TAKEN:
		take_taken(s, m);
		break;
	case STEP_WINDOW_SIZE:
		take_window(s, m);
		break;
	case STEP_PMIX:
		wpmix_take(s, m);
		break;
	default:
		take_pmi(s, m);
	}
	return 0;
}
