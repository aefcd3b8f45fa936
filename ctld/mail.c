/* mail.c - see mail.h */
#include "ctld/mail.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/log.h"
#include "common/mailwish.h"
#include "common/xalloc.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/gate.h"
#include "ctld/spawn.h"

struct letter {
	TAILQ_ENTRY(letter) next;
	struct mail *mail;
	uint64_t change;
	char *address, *subject;
	pid_t pid; /* 0: it waits */
	int pidfd;
	struct event *ended, *late;
};

struct mail {
	struct ctld *c;
	TAILQ_HEAD(letters, letter) waiting, running;
	unsigned n_waiting, n_running;
	unsigned dropped; /* since the queue was full */
};

struct mail *mail_new(struct ctld *c)
{
	struct mail *m = xcalloc(1, sizeof(*m));

	m->c = c;
	TAILQ_INIT(&m->waiting);
	TAILQ_INIT(&m->running);
	return m;
}

/* Out of its list already. */
static void letter_free(struct letter *l)
{
	if (l->pid > 0) {
		kill(-l->pid, SIGKILL);
		waitpid(l->pid, NULL, 0);
	}
	if (l->pidfd >= 0)
		close(l->pidfd);
	if (l->ended)
		event_free(l->ended);
	if (l->late)
		event_free(l->late);
	free(l->address);
	free(l->subject);
	free(l);
}

void mail_free(struct mail *m)
{
	struct letters *lists[2];
	struct letter *l;

	if (!m)
		return;
	lists[0] = &m->waiting;
	lists[1] = &m->running;
	for (int i = 0; i < 2; i++) {
		while ((l = TAILQ_FIRST(lists[i]))) {
			TAILQ_REMOVE(lists[i], l, next);
			letter_free(l);
		}
	}
	free(m);
}

/* --- one program --------------------------------------------------------------------------- */

static void start_some(struct mail *m);

static void finish(struct letter *l)
{
	struct mail *m = l->mail;

	TAILQ_REMOVE(&m->running, l, next);
	m->n_running--;
	letter_free(l);
	start_some(m);
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct letter *l = arg;
	int status = 0;

	(void)fd;
	(void)what;
	if (waitpid(l->pid, &status, WNOHANG) != l->pid)
		return;
	kill(-l->pid, SIGKILL); /* what it left behind */
	l->pid = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		log_warning("mail to %s: the mail program failed (%s %d)", l->address,
		        WIFEXITED(status) ? "exit status" : "signal",
		        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	finish(l);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct letter *l = arg;

	(void)fd;
	(void)what;
	log_warning("mail to %s: the mail program did not end in %d s and was killed", l->address,
	        MAIL_TIMEOUT_S);
	finish(l);
}

static pid_t spawn(const struct letter *l, const char *program)
{
	char *argv[] = { (char *)program, (char *)"-s", l->subject, l->address, NULL };
	char *env[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LC_ALL=C.UTF-8",
		NULL };
	pid_t pid;
	int error;

	error = program_spawn(program, argv, env, &pid);
	if (error)
		log_error("mail program %s: %s", program, strerror(error));
	return error ? -1 : pid;
}

static bool watch(struct letter *l)
{
	struct timeval tv = { .tv_sec = MAIL_TIMEOUT_S };

	l->pidfd = pidfd_open(l->pid, 0);
	if (l->pidfd < 0)
		return false;
	l->ended = event_new(l->mail->c->base, l->pidfd, EV_READ | EV_PERSIST, on_ended, l);
	l->late = evtimer_new(l->mail->c->base, on_late, l);
	return l->ended && l->late && !event_add(l->ended, NULL) && !event_add(l->late, &tv);
}

/* --- the queue ----------------------------------------------------------------------------- */

static void start_some(struct mail *m)
{
	const char *program = m->c->conf->controller.mail_program;
	uint64_t committed = gate_committed(m->c->gate);
	struct letter *l;

	while (m->n_running < MAIL_AT_ONCE && (l = TAILQ_FIRST(&m->waiting)) &&
	        l->change <= committed) {
		TAILQ_REMOVE(&m->waiting, l, next);
		m->n_waiting--;
		l->pid = *program ? spawn(l, program) : -1;
		if (l->pid < 0) {
			letter_free(l);
			continue;
		}
		TAILQ_INSERT_TAIL(&m->running, l, next);
		m->n_running++;
		if (!watch(l)) {
			log_error("mail to %s: cannot watch the mail program", l->address);
			TAILQ_REMOVE(&m->running, l, next);
			m->n_running--;
			letter_free(l);
		}
	}
	if (m->dropped && m->n_waiting < MAIL_WAITING_MAX / 2) {
		log_warning("%u mails were dropped: the mail program is too slow", m->dropped);
		m->dropped = 0;
	}
}

const char *mail_warning(const struct mail *m)
{
	return *m->c->conf->controller.mail_program
	               ? NULL
	               : "--mail-type: no mail will be sent, the configuration has no "
	                 "controller.mail_program";
}

void mail_send(struct mail *m, uint64_t change, const char *address, const char *subject)
{
	struct letter *l;

	/* Addresses were checked at the submit; a login name may be anything. */
	if (!*m->c->conf->controller.mail_program || !*address ||
	        mailwish_check_address(address, NULL) < 0)
		return;
	if (m->n_waiting >= MAIL_WAITING_MAX) {
		m->dropped++;
		return;
	}
	l = xcalloc(1, sizeof(*l));
	l->mail = m;
	l->change = change;
	l->address = xstrdup(address);
	l->subject = xstrdup(subject);
	l->pidfd = -1;
	TAILQ_INSERT_TAIL(&m->waiting, l, next);
	m->n_waiting++;
	start_some(m);
}

void mail_committed(struct mail *m)
{
	if (m->n_waiting)
		start_some(m);
}
