/* mail.c - see mail.h */
#include "ctld/site/mail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/job/mail_types.h"
#include "ctld/core/core.h"
#include "ctld/ctld.h"
#include "ctld/loop/commit_gate.h"
#include "ctld/site/programs.h"

struct letter {
	TAILQ_ENTRY(letter) next;
	struct mail *mail;
	uint64_t change;
	char *address, *subject;
};

TAILQ_HEAD(letters, letter);

struct mail {
	struct ctld *c;
	struct programs *programs;
	struct letters waiting, sent; /* sent: their programs run */
	unsigned n_waiting;
	unsigned dropped; /* since the queue was full */
};

static void start_some(void *arg);

struct mail *mail_new(struct ctld *c)
{
	struct mail *m = xcalloc(1, sizeof(*m));

	m->c = c;
	m->programs = programs_new(c->base, MAIL_AT_ONCE, start_some, m);
	TAILQ_INIT(&m->waiting);
	TAILQ_INIT(&m->sent);
	return m;
}

static void letter_free(struct letters *list, struct letter *l)
{
	TAILQ_REMOVE(list, l, next);
	free(l->address);
	free(l->subject);
	free(l);
}

void mail_free(struct mail *m)
{
	if (!m)
		return;
	programs_free(m->programs);
	while (!TAILQ_EMPTY(&m->waiting))
		letter_free(&m->waiting, TAILQ_FIRST(&m->waiting));
	while (!TAILQ_EMPTY(&m->sent))
		letter_free(&m->sent, TAILQ_FIRST(&m->sent));
	free(m);
}

static void on_done(void *arg, const struct program_end *end)
{
	struct letter *l = arg;
	char buf[PROGRAM_END_TEXT_MAX];

	if (!program_succeeded(end))
		log_warning(
		        "mail to %s: the mail program %s", l->address, program_end_text(end, buf));
	letter_free(&l->mail->sent, l);
}

static int start(struct letter *l, struct error *err)
{
	struct mail *m = l->mail;
	char *argv[] = { (char *)m->c->conf->controller.mail_program, (char *)"-s", l->subject,
		l->address, NULL };
	char *env[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LC_ALL=C.UTF-8",
		NULL };

	if (!*argv[0])
		return error_set(err, ERR_CONFIG, "there is none any more");
	return programs_start(m->programs, argv, env, MAIL_TIMEOUT_S, on_done, l, err);
}

static void start_some(void *arg)
{
	struct mail *m = arg;
	struct letter *l;
	struct error err;

	while (programs_have_room(m->programs) && (l = TAILQ_FIRST(&m->waiting)) &&
	        l->change <= commit_gate_committed(m->c->gate)) {
		TAILQ_REMOVE(&m->waiting, l, next);
		m->n_waiting--;
		TAILQ_INSERT_TAIL(&m->sent, l, next);
		if (start(l, &err) == 0)
			continue;
		log_error("mail to %s: mail program: %s", l->address, err.text);
		letter_free(&m->sent, l);
	}
	if (m->dropped && m->n_waiting < MAIL_WAITING_MAX / 2) {
		log_warning("%u mails were dropped: the mail program is too slow", m->dropped);
		m->dropped = 0;
	}
}

/* --- the queue ----------------------------------------------------------------------------- */

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
	        mail_address_check(address, NULL) < 0)
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
	TAILQ_INSERT_TAIL(&m->waiting, l, next);
	m->n_waiting++;
	start_some(m);
}

void mail_committed(struct mail *m)
{
	if (m->n_waiting)
		start_some(m);
}
