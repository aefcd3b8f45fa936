/* mail.c - see mail.h */
#include "ctld/site/mail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/job/mail_types.h"
#include "ctld/core/core.h"
#include "ctld/core/records/job.h"
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

	while (programs_have_space(m->programs) && (l = TAILQ_FIRST(&m->waiting)) &&
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

/* A mail to `address`, when `change` is committed. Without a program nothing is done. */
static void mail_send(struct mail *m, uint64_t change, const char *address, const char *subject)
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

/* --- the text of a mail ---------------------------------------------------------------------- */

/* "12"; for tasks that have mails of their own "12_7", "12_[3-9,12]" */
static void job_name(const struct effect *effect, const struct job_view *v, char *buf, size_t size)
{
	const char *tasks = job_ref_part(effect->mail.job) && v->tasks ? v->tasks : "";

	snprintf(buf, size, v->several ? "%llu%s[%.60s]" : "%llu%s%.60s", (unsigned long long)v->id,
	        *tasks ? "_" : "", tasks);
	if (!*tasks)
		snprintf(buf, size, "%llu", (unsigned long long)v->id);
}

/* What happened to the job, with details: "COMPLETED, exit 0:0, ran 1:30:00", "OUT_OF_MEMORY, exit
 * 0:9, ran 0:02: used 24.3G of 20G of GPU 2"; of an array "FAILED, 3 of 100 tasks failed" */
static void job_end_text(
        const struct effect *effect, const struct job_view *v, char *buf, size_t size)
{
	char ran[UNITS_TEXT];

	if (*v->array && !job_ref_part(effect->mail.job))
		snprintf(buf, size, "%s, %u of %u tasks failed", v->state, v->tasks_failed,
		        v->tasks_ended);
	else
		snprintf(buf, size, "%s, exit %u:%u, ran %s%s%.120s", v->state, v->exit_code,
		        v->exit_signal, duration_format(ran, v->elapsed_s),
		        *v->reason_text ? ": " : "", v->reason_text);
}

/* "gpusched lab: job 12 (embed) COMPLETED, exit 0:0, ran 1:30:00" */
void mail_effect(struct ctld *c, const struct effect *effect, struct clocks now)
{
	char subject[512], name[128], became[256];
	struct job_view v;

	if (!core_job_view(c->core, effect->mail.job, now, &v))
		return;
	job_name(effect, &v, name, sizeof(name));
	if (effect->mail.type == MAIL_BEGIN)
		snprintf(became, sizeof(became), "began%s%.200s", v.n_nodes ? " on " : "", v.nodes);
	else if (effect->mail.type == MAIL_REQUEUE)
		snprintf(became, sizeof(became), "was requeued");
	else if (effect->mail.type == MAIL_IDLE)
		snprintf(became, sizeof(became), "leaves its GPUs idle");
	else if (effect->mail.type == MAIL_INVALID_DEPEND)
		snprintf(
		        became, sizeof(became), "can never start: dependency %.200s", v.dependency);
	else
		job_end_text(effect, &v, became, sizeof(became));
	snprintf(subject, sizeof(subject), "gpusched %s: job %s (%.80s) %s", c->conf->cluster, name,
	        v.name, became);
	mail_send(c->mail, effect->change, *v.mail_user ? v.mail_user : v.user, subject);
}
