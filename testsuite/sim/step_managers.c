/* step_managers.c - see step_managers.h */
#include "testsuite/sim/step_managers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/msg.h"
#include "ctld/wire/convert.h"

#define STEPS     12 /* of one attempt */
#define NEWS_MAX  64 /* reports of a message */
#define LAST      (10 * SEC) /* for reports after the end of the run */
#define PATIENCE  (10 * SEC) /* for an answer */

struct step {
	bool ended;
	Gpusched__StepReport r; /* the latest; its texts live as long as the manager */
};

/* What is to be reported: by step, that it runs or that it has ended. */
struct news {
	uint32_t step;
	bool ended, sent; /* sent: in the message under way */
};

enum life { EXPECTED, RUNS, LAST_WORDS, DEAD };
/* The message under way: reports, or what must be refused. */
enum kind { REPORTS, BAD_TEXT, BAD_NUMBER, BAD_JOB };

struct manager {
	struct step_managers *of;
	struct run_id run;
	uint32_t uid;
	enum life life;
	uint64_t link, turn; /* turn: later answers and timeouts are of another message */
	bool asking;
	enum kind kind;
	struct step steps[STEPS];
	uint32_t n_steps;
	struct news news[NEWS_MAX];
	size_t n_news;
	struct manager *next;
};

struct step_managers {
	struct step_managers_options o;
	struct manager *all;
	struct step_managers_count count;
	struct arena *arena;
};

struct turn {
	uint64_t turn;
};

static void send_soon(struct manager *m, usec_t low, usec_t high);

/* --- sums ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t sum, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < n; i++)
		sum = (sum ^ b[i]) * 0x100000001b3u;
	return (sum ^ n) * 0x100000001b3u;
}

uint64_t step_looks(const struct step_looks *looks)
{
	uint64_t sum = mix(0xcbf29ce484222325u, looks->name, looks->name_len);

	sum = mix(sum, looks->nodelist, looks->nodelist_len);
	return mix(sum, looks->numbers, sizeof(looks->numbers));
}

static uint64_t looks_of(const Gpusched__StepReport *r)
{
	return step_looks(&(struct step_looks){ .name = r->name,
	        .nodelist = r->nodelist,
	        .name_len = strlen(r->name),
	        .nodelist_len = strlen(r->nodelist),
	        .numbers = { r->nodes, r->tasks, r->cpus, r->gpus, r->start_time,
	                (int64_t)r->cpu_time_us, (int64_t)r->max_rss_kb } });
}

/* --- facts ----------------------------------------------------------------------------------- */

static void say(const struct manager *m, const char *fact, uint32_t step, const char *rest)
{
	checker_say(m->of->o.checker, "%s %" PRIu64 " %u %u %u%s", fact, m->run.job, m->run.task,
	        m->run.attempt, step, rest);
}

static const char *end_of(const Gpusched__StepReport *r)
{
	if (r->cancelled)
		return "CANCELLED";
	if (r->timeout)
		return "TIMEOUT";
	return r->exit_code || r->exit_signal ? "FAILED" : "COMPLETED";
}

static void say_end(const struct manager *m, const Gpusched__StepReport *r)
{
	char rest[100];

	snprintf(rest, sizeof(rest), " %s %u %u %" PRIx64, end_of(r), r->exit_code, r->exit_signal,
	        looks_of(r));
	say(m, "stepends", r->step, rest);
}

/* --- texts ----------------------------------------------------------------------------------- */

/* Of 255 bytes, the most that a name may have. */
#define FIVE(x)   x x x x x
#define LONG_NAME FIVE(FIVE("long-name.")) "long."

/* Whatever is plain text is a name. */
static const char *const names[] = { "train", "", "' OR 1=1; DROP TABLE step; --",
	"\"; \\ `id` $(id)", "%s%n%99999d", "-rf", "../../etc/passwd", "a b  c", "\xf0\x9f\x92\xa3\xe6\xad\xa5",
	"e\xcc\x81\xcc\x81\xcc\x81\xcc\x81", "{\"json\": [1,", "<b>&amp;", "4812.0", LONG_NAME };

/* And this is not. */
static const char *const bad_names[] = { "\x1b[2J", "two\nlines", "tab\there", "\x7f",
	"\xc2\x9b" "31m", "\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x80\xae" "gpj",
	"\xe2\x81\xa6", "\xe2\x80\xa8", LONG_NAME "x" };

#define PICK(e, list) (char *)(list)[engine_below(e, sizeof(list) / sizeof((list)[0]))]

/* --- steps ----------------------------------------------------------------------------------- */

static uint32_t any_number(struct engine *e)
{
	return engine_chance(e, 50000) ? UINT32_MAX : (uint32_t)engine_below(e, 64);
}

static Gpusched__StepReport new_report(struct engine *e, uint32_t step)
{
	Gpusched__StepReport r = GPUSCHED__STEP_REPORT__INIT;

	r.step = step;
	r.name = PICK(e, names);
	r.nodelist = (char *)(engine_chance(e, 500000) ? "n1" : "n[1-4]");
	r.nodes = any_number(e);
	r.tasks = any_number(e);
	r.cpus = any_number(e);
	r.gpus = any_number(e);
	r.start_time = engine_now(e).wall;
	return r;
}

/* As bridge_process.c: what was not sent yet is replaced. */
static void report(struct manager *m, uint32_t step, bool ended)
{
	for (size_t i = 0; i < m->n_news; i++)
		if (!m->news[i].sent && m->news[i].step == step) {
			m->news[i].ended = ended;
			return;
		}
	if (m->n_news < NEWS_MAX)
		m->news[m->n_news++] = (struct news){ step, ended, false };
}

static void start_step(struct manager *m)
{
	struct engine *e = m->of->o.engine;
	uint32_t step = m->n_steps;

	if (step == STEPS)
		return;
	m->n_steps++;
	m->of->count.steps++;
	m->steps[step].r = new_report(e, step);
	say(m, "step", step, "");
	report(m, step, false);
}

static void end_step(struct manager *m, uint32_t step)
{
	struct engine *e = m->of->o.engine;
	struct step *s = &m->steps[step];

	if (s->ended)
		return;
	s->ended = true;
	s->r.end_time = engine_now(e).wall;
	if (s->r.end_time < s->r.start_time)
		s->r.end_time = s->r.start_time; /* the clock went back */
	s->r.exit_code = engine_chance(e, 300000) ? (uint32_t)engine_below(e, 256) : 0;
	s->r.exit_signal = engine_chance(e, 100000) ? 9 : 0;
	s->r.cancelled = engine_chance(e, 100000);
	s->r.timeout = engine_chance(e, 100000);
	s->r.cpu_time_us = engine_below(e, INT64_MAX);
	s->r.max_rss_kb = engine_below(e, UINT32_MAX);
	say_end(m, &s->r);
	report(m, step, true);
}

static void end_all(struct manager *m)
{
	for (uint32_t i = 0; i < m->n_steps; i++)
		end_step(m, i);
}

/* Of one that runs: again, with what it has used by now. Of one that has ended: the same again. */
static void repeat(struct manager *m, uint32_t step)
{
	struct step *s = &m->steps[step];

	m->of->count.repeats++;
	if (!s->ended)
		s->r.cpu_time_us += engine_below(m->of->o.engine, SEC);
	report(m, step, s->ended);
}

/* --- messages -------------------------------------------------------------------------------- */

static void hang_up(struct manager *m, usec_t within)
{
	if (m->link)
		link_drop_end(m->of->o.engine, m->link, SIDE_NODE, within);
	m->link = 0;
	m->asking = false;
	m->turn++;
	for (size_t i = 0; i < m->n_news; i++)
		m->news[i].sent = false;
}

static void pack_and_send(struct manager *m, const Gpusched__StepReports *reports)
{
	size_t len = gpusched__step_reports__get_packed_size(reports);
	uint8_t *bytes = xcalloc(len + 1, 1);

	gpusched__step_reports__pack(reports, bytes);
	link_send(m->of->o.engine, m->link, SIDE_NODE, GPUSCHED__MSG_TYPE__MSG_STEP_REPORTS, bytes,
	        len);
	free(bytes);
}

static Gpusched__StepReports message_of(const struct manager *m)
{
	Gpusched__StepReports reports = GPUSCHED__STEP_REPORTS__INIT;

	reports.job = m->run.job;
	reports.task = m->run.task;
	reports.attempt = m->run.attempt;
	return reports;
}

static void send_news(struct manager *m)
{
	Gpusched__StepReports reports = message_of(m);
	Gpusched__StepReport copies[NEWS_MAX], *list[NEWS_MAX];

	for (size_t i = 0; i < m->n_news; i++) {
		struct news *news = &m->news[i];

		copies[i] = m->steps[news->step].r;
		if (!news->ended)
			copies[i].end_time = 0;
		list[i] = &copies[i];
		news->sent = true;
	}
	reports.steps = list;
	reports.n_steps = m->n_news;
	m->kind = REPORTS;
	pack_and_send(m, &reports);
}

/* A job of somebody else that runs, or an attempt that there is not. */
static void choose_foreign(const struct manager *m, Gpusched__StepReports *reports)
{
	const struct manager *other = m->of->all;

	while (other && (other->uid == m->uid || other->life != RUNS))
		other = other->next;
	if (!other) {
		reports->attempt += 1000;
		return;
	}
	reports->job = other->run.job;
	reports->task = other->run.task;
	reports->attempt = other->run.attempt;
}

/* Nothing of it is to be taken, what is proper of it neither: its steps are never facts. */
static void send_hostile(struct manager *m)
{
	struct engine *e = m->of->o.engine;
	Gpusched__StepReports reports = message_of(m);
	Gpusched__StepReport r = new_report(e, STEPS + 1), proper = new_report(e, STEPS);
	Gpusched__StepReport *list[] = { &proper, &r };

	m->kind = (enum kind)(BAD_TEXT + engine_below(e, 3));
	r.end_time = proper.end_time = engine_chance(e, 500000) ? r.start_time : 0;
	reports.steps = list;
	reports.n_steps = 2;
	if (m->kind == BAD_TEXT && engine_chance(e, 500000)) {
		r.name = PICK(e, bad_names);
	} else if (m->kind == BAD_TEXT) {
		r.nodelist = PICK(e, bad_names);
		if (strlen(r.nodelist) > WIRE_NAME_MAX) /* fine of a list of nodes */
			r.start_time = -1;
	} else if (m->kind == BAD_NUMBER) {
		reports.steps = list + 1;
		reports.n_steps = 1;
		r.step = engine_chance(e, 500000) ? STEP_MANAGERS_MAX_STEPS : UINT32_MAX;
	} else {
		choose_foreign(m, &reports);
	}
	pack_and_send(m, &reports);
}

/* No answer: the session may have died without a word. */
static void timed_out(void *arg, void **own)
{
	struct manager *m = arg;
	struct turn *t = *own;

	if (t->turn != m->turn || !m->asking)
		return;
	hang_up(m, SEC);
	send_soon(m, 10 * MS, SEC);
}

static void later(struct manager *m, usec_t after, engine_fn *fn)
{
	struct turn *t = xcalloc(1, sizeof(*t));

	t->turn = ++m->turn;
	engine_at(m->of->o.engine, after, fn, m, t);
}

static const struct link_ops manager_link_ops;

/* A new session: the controller may have forgotten all that runs. */
static bool connect_again(struct manager *m)
{
	m->link = sim_controller_connect(m->of->o.controller, -1, m->uid, &manager_link_ops, m);
	for (uint32_t i = 0; m->link && i < m->n_steps; i++)
		if (!m->steps[i].ended)
			report(m, i, false);
	return m->link != 0;
}

static void send_now(void *arg, void **own)
{
	struct manager *m = arg;
	struct turn *t = *own;
	struct engine *e = m->of->o.engine;

	if (t->turn != m->turn || m->asking || m->life == DEAD)
		return;
	if (!m->link && !connect_again(m)) {
		send_soon(m, 100 * MS, 2 * SEC);
		return;
	}
	if (engine_chance(e, m->of->o.hostile_ppm))
		send_hostile(m);
	else if (m->n_news)
		send_news(m);
	else
		return;
	m->asking = true;
	if (engine_chance(e, m->of->o.impatient_ppm)) {
		hang_up(m, SEC);
		send_soon(m, MS, 100 * MS);
	} else {
		later(m, PATIENCE, timed_out);
	}
}

static void send_soon(struct manager *m, usec_t low, usec_t high)
{
	later(m, engine_between(m->of->o.engine, low, high), send_now);
}

/* --- answers --------------------------------------------------------------------------------- */

static void stop(const struct manager *m, const Gpusched__Reply *reply)
{
	fprintf(stderr,
	        "step manager of %" PRIu64 "_%u attempt %u: a message of kind %d was answered %u: "
	        "%s\n",
	        m->run.job, m->run.task, m->run.attempt, m->kind, reply->code, reply->text);
	abort();
}

/* The attempt may be over, the job be forgotten. */
static bool is_over(uint32_t code)
{
	return code == ERR_JOB_STATE || code == ERR_NO_JOB;
}

static void check_refusal(struct manager *m, const Gpusched__Reply *reply)
{
	static const enum error_code codes[] = { [BAD_TEXT] = ERR_USAGE,
		[BAD_NUMBER] = ERR_LIMIT_STEPS,
		[BAD_JOB] = ERR_JOB_STATE };

	if (reply->code != (uint32_t)codes[m->kind] && !is_over(reply->code) &&
	        !(m->kind == BAD_JOB && reply->code == ERR_NOT_PERMITTED))
		stop(m, reply);
	m->of->count.refused++;
}

static void drop_sent(struct manager *m, bool taken)
{
	/* If not, the controller that took them may be dead, and knows of no step that runs. */
	bool lives = sim_controller_hears(m->of->o.controller, m->link);
	size_t n = 0;

	for (size_t i = 0; i < m->n_news; i++) {
		const struct news news = m->news[i];

		if (!news.sent)
			m->news[n++] = news;
		else if (taken && (news.ended || lives))
			say(m, news.ended ? "stepdone" : "stepruns", news.step, "");
	}
	m->n_news = n;
}

static void answered(struct manager *m, const Gpusched__Reply *reply)
{
	m->asking = false;
	m->turn++;
	if (m->kind != REPORTS)
		check_refusal(m, reply);
	else if (reply->code != ERR_NONE && !is_over(reply->code))
		stop(m, reply);
	else
		drop_sent(m, reply->code == ERR_NONE);
	if (m->n_news)
		send_soon(m, MS, 100 * MS);
}

static void on_message(void *owner, uint64_t link, int type, const void *bytes, size_t n)
{
	struct manager *m = owner;
	ProtobufCMessage *message;
	struct error err;

	if (link != m->link || !m->asking || type != GPUSCHED__MSG_TYPE__MSG_REPLY)
		return;
	message = msg_unpack((unsigned)type, bytes, n, m->of->arena, &err);
	if (!message) {
		fprintf(stderr, "step manager: %s\n", err.text);
		abort();
	}
	answered(m, (const Gpusched__Reply *)message);
}

static void on_gone(void *owner, uint64_t link)
{
	struct manager *m = owner;

	if (link != m->link || m->life == DEAD)
		return;
	hang_up(m, SEC);
	send_soon(m, 10 * MS, SEC);
}

static const struct link_ops manager_link_ops = { on_message, on_gone };

/* --- its life -------------------------------------------------------------------------------- */

static void act(void *arg, void **own)
{
	struct manager *m = arg;
	struct engine *e = m->of->o.engine;
	uint32_t step = m->n_steps ? (uint32_t)engine_below(e, m->n_steps) : 0;

	(void)own;
	if (m->life != RUNS)
		return;
	if (!m->n_steps || engine_chance(e, 400000))
		start_step(m);
	else if (engine_chance(e, 700000))
		end_step(m, step);
	else
		repeat(m, step);
	if (!m->asking)
		send_soon(m, 0, 250 * MS);
	engine_at(e, engine_between(e, 5 * MS, 4 * SEC), act, m, NULL);
}

static void die(void *arg, void **own)
{
	struct manager *m = arg;

	(void)own;
	hang_up(m, SEC);
	m->life = DEAD;
}

static struct manager *find(const struct step_managers *s, struct run_id run)
{
	struct manager *m = s->all;

	while (m && !run_id_equal(&m->run, &run))
		m = m->next;
	return m;
}

void step_managers_expect(struct step_managers *s, struct run_id run, uint32_t uid)
{
	struct manager *m;

	if (run.rank || !engine_chance(s->o.engine, s->o.ppm) || find(s, run))
		return;
	m = xcalloc(1, sizeof(*m));
	m->of = s;
	m->run = run;
	m->uid = uid;
	m->next = s->all;
	s->all = m;
}

void step_managers_begin(struct step_managers *s, struct run_id run)
{
	struct manager *m = find(s, run);

	if (!m || m->life != EXPECTED)
		return;
	m->life = RUNS;
	engine_at(s->o.engine, engine_between(s->o.engine, MS, SEC), act, m, NULL);
}

void step_managers_end(struct step_managers *s, struct run_id run, bool at_once)
{
	struct manager *m = find(s, run);

	if (!m || m->life != RUNS)
		return;
	if (at_once || engine_chance(s->o.engine, 400000)) {
		die(m, NULL);
		return;
	}
	m->life = LAST_WORDS;
	end_all(m);
	if (!m->asking)
		send_soon(m, 0, 3 * SEC);
	engine_at(s->o.engine, LAST, die, m, NULL);
}

struct step_managers *step_managers_new(const struct step_managers_options *options)
{
	struct step_managers *s = xcalloc(1, sizeof(*s));

	s->o = *options;
	s->arena = arena_new(1 << 20);
	return s;
}

void step_managers_free(struct step_managers *s)
{
	struct manager *m;

	if (!s)
		return;
	while ((m = s->all)) {
		s->all = m->next;
		free(m);
	}
	arena_free(s->arena);
	free(s);
}

void step_managers_count(const struct step_managers *s, struct step_managers_count *count)
{
	count->steps += s->count.steps;
	count->repeats += s->count.repeats;
	count->refused += s->count.refused;
}
