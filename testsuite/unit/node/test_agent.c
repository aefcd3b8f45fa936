/* test_agent.c - the agent's core, decision by decision
 *
 * Each test plays a script: lines of "what happens -> what the core wants done". An agent is told
 * the event on the left, and the effects that come out must be exactly those on the right, in
 * order. Words: up N / gone N (session), reg N EPOCH[/AGE] [RUN...], start/end/sig/stop/cont/forget
 * N RUN [EPOCH [INC]], hello [RUN=STATE...], lost (launcher), says RUN=STATE, clock SECONDS
 * (advances). Effects: REGISTER[RUN=STATE...], report RUN=STATE, beat, close, tell
 * start/end/sig/forget RUN, epoch E[ age A], note. RUN is "job" or "job.attempt"; STATE may be
 * followed by @ and the time of a checkpoint. Orders are of epoch 5 unless said otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "noded/core/agent.h"

#define EPOCH 5
#define INC   "boot-1"

static const char *const report_names[] = { "?", "STARTING", "RUNNING", "ENDED", "NEVER" };

struct play {
	struct agent *agent;
	usec_t mono;
	char out[4096];
};

static struct run_id parse_id(const char *text)
{
	struct run_id id = { .attempt = 1 };
	char *end;

	id.job = strtoull(text, &end, 10);
	if (*end == '.')
		id.attempt = (uint32_t)strtoul(end + 1, NULL, 10);
	return id;
}

static struct run_report parse_report(const char *text)
{
	struct run_report r = { .run = parse_id(text),
		.detail = "",
		.incarnation = INC,
		.epoch = EPOCH,
		.gpu_type = "" };
	const char *name = strchr(text, '='), *at = strchr(text, '@');

	assert_non_null(name);
	for (int i = REPORT_STARTING; i <= REPORT_NEVER; i++) {
		if (strncmp(name + 1, report_names[i], strlen(report_names[i])) == 0)
			r.state = i;
	}
	r.checkpoint_time = at ? atoi(at + 1) : 0;
	if (r.state == REPORT_ENDED)
		r.exit_code = (uint32_t)(r.run.job % 100);
	return r;
}

static const char *id_text(struct run_id id)
{
	static char text[64];

	if (id.attempt == 1)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)id.job);
	else
		snprintf(text, sizeof(text), "%llu.%u", (unsigned long long)id.job, id.attempt);
	return text;
}

static void put(struct play *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct play *p, const char *fmt, ...)
{
	size_t n = strlen(p->out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->out + n, sizeof(p->out) - n, fmt, ap);
	va_end(ap);
}

static void print_effect(struct play *p, const struct agent_effect *e)
{
	if (*p->out)
		put(p, ", ");
	switch (e->kind) {
	case AGENT_SEND_REGISTER:
		put(p, "REGISTER[");
		for (size_t i = 0; i < e->reg.n_runs; i++)
			put(p, "%s%s=%s", i ? " " : "", id_text(e->reg.runs[i].run),
			        report_names[e->reg.runs[i].state]);
		put(p, "]");
		break;
	case AGENT_SEND_REPORT:
		put(p, "report %s=%s", id_text(e->report.run), report_names[e->report.state]);
		if (e->report.checkpoint_time)
			put(p, "@%lld", (long long)e->report.checkpoint_time);
		if (e->report.state == REPORT_ENDED && e->report.cause != END_LOST)
			assert_int_equal(e->report.exit_code, e->report.run.job % 100);
		break;
	case AGENT_SEND_HEARTBEAT:
		put(p, "beat");
		break;
	case AGENT_CLOSE_SESSION:
		put(p, "close");
		break;
	case AGENT_TELL_START:
		assert_ptr_equal(e->start.order, p);
		put(p, "tell start %s", id_text(e->start.run));
		break;
	case AGENT_TELL_END:
		put(p, "tell end %s", id_text(e->end.run));
		break;
	case AGENT_TELL_SIGNAL:
		put(p, "tell sig %s", id_text(e->signal.run));
		break;
	case AGENT_TELL_SUSPEND:
		put(p, "tell %s %s", e->suspend.suspend ? "stop" : "cont", id_text(e->suspend.run));
		break;
	case AGENT_TELL_FORGET:
		put(p, "tell forget %s", id_text(e->forget));
		break;
	case AGENT_TELL_EPOCH:
		put(p, "epoch %llu", (unsigned long long)e->epoch);
		if (e->signature_age_s)
			put(p, " age %llu", (unsigned long long)e->signature_age_s);
		break;
	case AGENT_NOTE:
		assert_non_null(e->text);
		put(p, "note");
		break;
	default:
		fail();
	}
}

static void apply(struct play *p, const struct agent_event *event)
{
	const struct agent_effect *effects;
	struct error err;
	size_t n;

	agent_apply(p->agent, event, (struct clocks){ .wall = 1, .mono = p->mono });
	p->out[0] = '\0';
	effects = agent_effects(p->agent, &n);
	for (size_t i = 0; i < n; i++)
		print_effect(p, &effects[i]);
	agent_effects_clear(p->agent);
	if (agent_check(p->agent, &err) < 0)
		fail_msg("%s", err.text);
}

/* One event in words. The lists are static: borrowed for the call only. */
static struct agent_event parse(struct play *p, char *line)
{
	static struct run_report reports[16];
	static struct run_id ids[16];
	char *save = NULL, *end, *verb = strtok_r(line, " ", &save), *words[16];
	struct agent_event e = { .kind = AGENT_CLOCK };
	size_t n = 0;

	while ((words[n] = strtok_r(NULL, " ", &save)) && n < 15)
		n++;
	if (n && strspn(words[0], "0123456789") == strlen(words[0]))
		e.session = strtoull(words[0], NULL, 10);
	if (strcmp(verb, "hello") == 0) {
		for (size_t i = 0; i < n; i++)
			reports[i] = parse_report(words[i]);
		e.kind = AGENT_LAUNCHER_HELLO;
		e.hello.incarnation = INC;
		e.hello.boot_id = "boot";
		e.hello.containment = "subreaper";
		e.hello.max_epoch = EPOCH;
		e.hello.runs = reports;
		e.hello.n_runs = n;
	} else if (strcmp(verb, "lost") == 0) {
		e.kind = AGENT_LAUNCHER_GONE;
	} else if (strcmp(verb, "says") == 0) {
		e.kind = AGENT_LAUNCHER_RUN;
		e.report = parse_report(words[0]);
	} else if (strcmp(verb, "up") == 0) {
		e.kind = AGENT_SESSION_UP;
	} else if (strcmp(verb, "gone") == 0) {
		e.kind = AGENT_SESSION_GONE;
	} else if (strcmp(verb, "reg") == 0) {
		for (size_t i = 2; i < n; i++)
			ids[i - 2] = parse_id(words[i]);
		e.kind = AGENT_REGISTERED;
		e.registered.epoch = strtoull(words[1], &end, 10);
		if (*end == '/')
			e.registered.signature_age_s = strtoull(end + 1, NULL, 10);
		e.registered.wanted = ids;
		e.registered.n_wanted = n - 2;
		e.registered.heartbeat_ms = 10000;
	} else if (strcmp(verb, "start") == 0) {
		e.kind = AGENT_START;
		e.start.run = parse_id(words[1]);
		e.start.epoch = n > 2 ? strtoull(words[2], NULL, 10) : EPOCH;
		e.start.incarnation = n > 3 ? words[3] : INC;
		e.start.order = p;
	} else if (strcmp(verb, "end") == 0) {
		e.kind = AGENT_END;
		e.end = (struct agent_end){ .run = parse_id(words[1]),
			.epoch = n > 2 ? strtoull(words[2], NULL, 10) : EPOCH,
			.cause = END_CANCEL,
			.by_user = "ana",
			.by_account = "",
			.by_qos = "" };
	} else if (strcmp(verb, "sig") == 0) {
		e.kind = AGENT_SIGNAL;
		e.signal.run = parse_id(words[1]);
		e.signal.epoch = n > 2 ? strtoull(words[2], NULL, 10) : EPOCH;
		e.signal.signal = 10;
	} else if (strcmp(verb, "stop") == 0 || strcmp(verb, "cont") == 0) {
		e.kind = AGENT_SUSPEND;
		e.suspend.run = parse_id(words[1]);
		e.suspend.epoch = n > 2 ? strtoull(words[2], NULL, 10) : EPOCH;
		e.suspend.suspend = strcmp(verb, "stop") == 0;
	} else if (strcmp(verb, "forget") == 0) {
		for (size_t i = 1; i < n; i++)
			ids[i - 1] = parse_id(words[i]);
		e.kind = AGENT_FORGET;
		e.forget.runs = ids;
		e.forget.n = n - 1;
	} else if (strcmp(verb, "clock") == 0) {
		e.session = 0;
		p->mono += (usec_t)strtoull(words[0], NULL, 10) * 1000000;
	} else {
		fail_msg("no such event: %s", verb);
	}
	return e;
}

struct step {
	const char *event, *effects;
};

static void play(const struct step *steps)
{
	struct play p = { .agent = agent_new() };

	for (size_t i = 0; steps[i].event; i++) {
		char line[256];
		struct agent_event e;

		snprintf(line, sizeof(line), "%s", steps[i].event);
		e = parse(&p, line);
		apply(&p, &e);
		if (strcmp(p.out, steps[i].effects) != 0)
			fail_msg("step %zu: %s\n  wanted: %s\n  got:    %s", i, steps[i].event,
			        steps[i].effects, p.out);
	}
	agent_free(p.agent);
}

#define PLAY(name, ...)                                                             \
	static void name(void **state)                                              \
	{                                                                           \
		static const struct step steps[] = { __VA_ARGS__, { NULL, NULL } }; \
		(void)state;                                                        \
		play(steps);                                                        \
	}

PLAY(life_of_a_run, { "hello", "" }, { "up 1", "REGISTER[]" }, { "reg 1 5", "" },
        { "start 1 100", "tell start 100" }, { "says 100=STARTING", "report 100=STARTING" },
        { "says 100=RUNNING", "report 100=RUNNING" }, { "sig 1 100", "tell sig 100" },
        { "end 1 100", "tell end 100" }, { "says 100=ENDED", "report 100=ENDED" },
        { "forget 1 100", "tell forget 100" }, { "forget 1 100", "" })

PLAY(nothing_is_sent_before_both_are_up, { "up 1", "" },
        { "hello 7=RUNNING 8=ENDED", "REGISTER[7=RUNNING 8=ENDED]" },
        { "says 7=ENDED", "" }, /* Registered first */
        { "reg 1 5", "report 7=ENDED" }, { "forget 1 7 8", "tell forget 7, tell forget 8" })

PLAY(orders_before_registered_are_nothing, { "hello 7=ENDED", "" }, { "up 1", "REGISTER[7=ENDED]" },
        { "start 1 100", "" }, { "end 1 100", "" }, { "forget 1 7", "" }, { "reg 1 5", "" },
        { "start 1 100", "tell start 100" })

PLAY(orders_of_another_session_are_nothing, { "hello 7=ENDED 9=RUNNING", "" },
        { "up 1", "REGISTER[9=RUNNING 7=ENDED]" }, { "reg 1 5", "" }, { "gone 1", "" },
        { "up 2", "REGISTER[9=RUNNING 7=ENDED]" }, { "reg 1 5 99", "" }, { "reg 2 5", "" },
        { "start 1 100", "" }, { "end 1 9", "" }, { "sig 1 9", "" }, { "forget 1 7", "" },
        { "gone 1", "" }, { "forget 2 7", "tell forget 7" })

PLAY(wanted_run_that_is_not_here_never_was, { "hello 9=RUNNING", "" },
        { "up 1", "REGISTER[9=RUNNING]" }, { "reg 1 5 9 100", "tell end 100" },
        { "start 1 100", "" }, /* doomed */
        { "end 1 100", "" }, { "says 100=NEVER", "report 100=NEVER" },
        { "start 1 100", "report 100=NEVER" }, { "end 1 100", "report 100=NEVER" },
        { "start 1 100.2", "tell start 100.2" }, { "forget 1 100", "tell forget 100" },
        { "start 1 100", "" })

PLAY(wanted_run_that_was_forgotten_has_ended, /* a restored backup */
        { "hello 100=ENDED", "" }, { "up 1", "REGISTER[100=ENDED]" }, { "reg 1 5", "" },
        { "forget 1 100", "tell forget 100" }, { "gone 1", "" }, { "up 2", "REGISTER[]" },
        { "reg 2 6 100", "epoch 6, report 100=ENDED" }, { "start 2 100 6", "report 100=ENDED" },
        { "forget 2 100", "tell forget 100" }, { "start 2 100 6", "" })

PLAY(end_of_an_unknown_run_never_was, { "hello", "" }, { "up 1", "REGISTER[]" }, { "reg 1 5", "" },
        { "end 1 100", "tell end 100" }, { "start 1 100", "" },
        { "says 100=NEVER", "report 100=NEVER" }, { "start 1 100", "report 100=NEVER" })

PLAY(launcher_knew_it_after_all, { "hello", "" }, { "up 1", "REGISTER[]" }, { "reg 1 5", "" },
        { "end 1 100", "tell end 100" }, { "says 100=ENDED", "report 100=ENDED" })

PLAY(tombstone_outlives_the_agent, { "hello 100=NEVER", "" }, { "up 1", "REGISTER[100=NEVER]" },
        { "reg 1 5", "" }, { "start 1 100", "report 100=NEVER" })

PLAY(unwanted_run_is_left_alone, { "hello 9=RUNNING", "" }, { "up 1", "REGISTER[9=RUNNING]" },
        { "reg 1 5", "" }, { "clock 10", "beat" }, { "says 9=ENDED", "report 9=ENDED" })

PLAY(lower_epoch_is_not_obeyed, { "hello 9=RUNNING 8=ENDED", "" },
        { "up 1", "REGISTER[9=RUNNING 8=ENDED]" },
        { "reg 1 4 100", "note" }, /* stale: not even NEVER for what it wants */
        { "start 1 101 4", "" }, { "start 1 101 6", "" }, { "end 1 9 4", "" }, { "forget 1 8", "" },
        { "says 9=ENDED", "report 9=ENDED" }, { "gone 1", "" },
        { "up 2", "REGISTER[9=ENDED 8=ENDED]" }, { "reg 2 6", "epoch 6" },
        { "start 2 101 5", "note" }, { "end 2 9 5", "note" }, { "sig 2 9 5", "note" },
        { "start 2 101 6", "tell start 101" }, { "forget 2 8", "tell forget 8" })

/* Each Registered says it, a launcher that was started anew hears it again; a stale one says
 * nothing. */
PLAY(signature_age_is_passed_on, { "hello", "" }, { "up 1", "REGISTER[]" },
        { "reg 1 6/3600", "epoch 6 age 3600" }, { "gone 1", "" }, { "up 2", "REGISTER[]" },
        { "reg 2 6/3600", "epoch 6 age 3600" }, { "start 2 100 7", "epoch 7, tell start 100" },
        { "gone 2", "" }, { "up 3", "REGISTER[]" }, { "reg 3 6/60", "note" })

PLAY(higher_epoch_is_kept, { "hello", "" }, { "up 1", "REGISTER[]" }, { "reg 1 6", "epoch 6" },
        { "start 1 100 7", "epoch 7, tell start 100" }, { "lost", "close" },
        { "hello", "epoch 7" }, /* it died before it wrote it down */
        { "up 2", "REGISTER[]" }, { "reg 2 6", "note" })

PLAY(other_incarnation_never, { "hello", "" }, { "up 1", "REGISTER[]" }, { "reg 1 5", "" },
        { "start 1 100 5 boot-0", "tell end 100" }, { "says 100=NEVER", "report 100=NEVER" },
        { "start 1 101", "tell start 101" })

PLAY(copies_of_orders_are_harmless, { "hello", "" }, { "up 1", "REGISTER[]" }, { "reg 1 5", "" },
        { "start 1 100", "tell start 100" }, { "start 1 100", "" },
        { "says 100=STARTING", "report 100=STARTING" }, { "says 100=STARTING", "" },
        { "start 1 100", "" }, { "says 100=RUNNING", "report 100=RUNNING" },
        { "says 100=STARTING", "" }, { "reg 1 5 200", "" }, /* once a session */
        { "says 100=ENDED", "report 100=ENDED" }, { "says 100=RUNNING", "" },
        { "says 100=ENDED", "" }, { "start 1 100", "report 100=ENDED" },
        { "forget 1 100 100", "tell forget 100" }, { "says 100=ENDED", "" }, { "start 1 100", "" },
        { "end 1 100", "" })

PLAY(what_it_says_while_it_runs_goes_on, { "hello", "" }, { "up 1", "REGISTER[]" },
        { "reg 1 5", "" }, { "start 1 100", "tell start 100" },
        { "says 100=RUNNING", "report 100=RUNNING" }, { "says 100=RUNNING", "" },
        { "says 100=RUNNING@7", "report 100=RUNNING@7" }, { "says 100=RUNNING@7", "" },
        { "gone 1", "" }, { "says 100=RUNNING@9", "" }, { "up 2", "REGISTER[100=RUNNING]" },
        { "reg 2 5 100", "" }, { "says 100=ENDED@9", "report 100=ENDED@9" },
        { "says 100=RUNNING@11", "" })

PLAY(suspended_by_order, { "hello", "" }, { "up 1", "REGISTER[]" }, { "stop 1 100", "" },
        { "reg 1 5", "" }, { "stop 1 100", "" }, /* nothing is known of it: it never was */
        { "start 1 100", "tell start 100" }, { "stop 1 100", "tell stop 100" },
        { "cont 1 100", "tell cont 100" }, { "says 100=RUNNING", "report 100=RUNNING" },
        { "stop 1 100 4", "note" }, { "stop 2 100", "" },
        { "stop 1 100 6", "epoch 6, tell stop 100" }, { "stop 1 0 6", "note" },
        { "says 100=ENDED", "report 100=ENDED" }, { "cont 1 100 6", "" },
        { "forget 1 100", "tell forget 100" }, { "stop 1 100 6", "" })

PLAY(what_lives_cannot_be_forgotten, { "hello 9=RUNNING", "" }, { "up 1", "REGISTER[9=RUNNING]" },
        { "reg 1 5", "" }, { "forget 1 9", "note" }, { "forget 1 12345", "" },
        { "end 1 9", "tell end 9" })

PLAY(ends_are_repeated_until_forgotten, { "hello 8=ENDED", "" }, { "up 1", "REGISTER[8=ENDED]" },
        { "reg 1 5", "" }, { "clock 4", "" }, { "clock 1", "report 8=ENDED" }, /* 5 s */
        { "clock 9", "beat" }, { "clock 1", "report 8=ENDED" },                /* 10 s later */
        { "forget 1 8", "tell forget 8" }, { "clock 60", "beat" }, { "clock 1", "" })

PLAY(repeats_wait_longer_and_longer, { "hello 8=NEVER", "" }, { "up 1", "REGISTER[8=NEVER]" },
        { "reg 1 5", "" }, { "clock 5", "report 8=NEVER" }, { "clock 10", "beat, report 8=NEVER" },
        { "clock 20", "beat, report 8=NEVER" }, { "clock 40", "beat, report 8=NEVER" },
        { "clock 60", "beat, report 8=NEVER" }, { "clock 59", "beat" },
        { "clock 1", "report 8=NEVER" })

PLAY(registration_must_be_answered, { "hello", "" }, { "up 1", "REGISTER[]" }, { "clock 29", "" },
        { "clock 1", "close" }, { "reg 1 5", "" }, { "start 1 100", "" }, { "up 2", "REGISTER[]" },
        { "reg 2 5", "" }, { "clock 9", "" }, { "clock 1", "beat" })

PLAY(launcher_gone_closes_the_session, { "hello 9=RUNNING", "" }, { "up 1", "REGISTER[9=RUNNING]" },
        { "reg 1 5", "" }, { "start 1 100", "tell start 100" }, { "lost", "close" },
        { "says 9=ENDED", "" }, { "start 1 101", "" }, { "up 2", "" },
        { "hello 9=ENDED", "REGISTER[9=ENDED]" }, { "reg 2 5 9 100", "tell end 100" })

PLAY(second_hello_replaces_the_first, { "hello 9=RUNNING", "" }, { "up 1", "REGISTER[9=RUNNING]" },
        { "reg 1 5", "" }, { "hello 10=RUNNING", "close" }, { "up 2", "REGISTER[10=RUNNING]" })

PLAY(newer_session_takes_over, { "hello", "" }, { "up 1", "REGISTER[]" }, { "reg 1 5", "" },
        { "up 2", "close, REGISTER[]" }, { "start 1 100", "" }, { "up 2", "" }, { "reg 2 5", "" },
        { "start 2 100", "tell start 100" })

PLAY(refused_start, { "hello", "" }, { "up 1", "REGISTER[]" }, { "reg 1 5", "" },
        { "start 1 100", "tell start 100" },
        { "end 1 100", "tell end 100" }, /* follows the start on the same pair */
        { "says 100=NEVER", "report 100=NEVER" }, { "start 1 101", "tell start 101" },
        { "gone 1", "" }, { "up 2", "REGISTER[100=NEVER]" }, /* 101: not yet known which way */
        { "reg 2 5 101", "" },                               /* it is here, so not NEVER */
        { "says 101=STARTING", "report 101=STARTING" }, { "says 101=NEVER", "report 101=NEVER" })

PLAY(nonsense_is_noted, { "hello", "" }, { "up 1", "REGISTER[]" }, { "reg 1 5 0 5.0", "" },
        { "start 1 0", "note" }, { "start 1 5.0", "note" }, { "end 1 0", "note" },
        { "says 0=RUNNING", "note" }, { "says 7=WHAT", "note" })

/* How long it has run is told as of now, whenever the launcher said it. */
static void elapsed_goes_on(void **state)
{
	struct play p = { .agent = agent_new() };
	struct run_report r = parse_report("100=RUNNING");
	struct agent_event e = { .kind = AGENT_LAUNCHER_RUN };
	const struct agent_effect *effects;
	size_t n;

	(void)state;
	agent_apply(p.agent, &(struct agent_event){ .kind = AGENT_LAUNCHER_HELLO },
	        (struct clocks){ .mono = 0 });
	agent_effects_clear(p.agent);
	r.elapsed_us = 3000000;
	r.suspended = true;
	r.suspended_us = 1000000;
	r.progress = "step 1";
	e.report = r;
	agent_apply(p.agent, &e, (struct clocks){ .mono = 10000000 });
	agent_effects_clear(p.agent);
	for (usec_t s = 1; s <= 2; s++) {
		agent_apply(p.agent,
		        &(struct agent_event){ .kind = AGENT_SESSION_UP, .session = (uint64_t)s },
		        (struct clocks){ .mono = 10000000 + s * 5000000 });
		effects = agent_effects(p.agent, &n);
		assert_int_equal(effects[n - 1].kind, AGENT_SEND_REGISTER);
		assert_int_equal(effects[n - 1].reg.runs[0].elapsed_us, 3000000 + s * 5000000);
		assert_int_equal(effects[n - 1].reg.runs[0].suspended_us, 1000000 + s * 5000000);
		assert_string_equal(effects[n - 1].reg.runs[0].progress, "step 1");
		agent_effects_clear(p.agent);
	}
	agent_free(p.agent);
}

/* Each change of its health is passed on, and nothing else of it; the time READY goes on. */
static void health_is_passed_on(void **state)
{
	struct agent *agent = agent_new();
	struct agent_event e = { .kind = AGENT_LAUNCHER_RUN,
		.report = parse_report("100=RUNNING") };
	struct replica_report *replica = &e.report.replica;
	const struct agent_effect *effects;
	size_t n;

	(void)state;
	e.report.progress = "";
	agent_apply(agent, &(struct agent_event){ .kind = AGENT_LAUNCHER_HELLO },
	        (struct clocks){ .mono = 0 });
	*replica = (struct replica_report){
		.health = HEALTH_LOADING, .ports = { 7000 }, .n_ports = 1
	};
	agent_apply(agent, &e, (struct clocks){ .mono = 1 });
	agent_apply(agent, &(struct agent_event){ .kind = AGENT_SESSION_UP, .session = 1 },
	        (struct clocks){ .mono = 1 });
	agent_effects_clear(agent);
	agent_apply(agent,
	        &(struct agent_event){
	                .kind = AGENT_REGISTERED, .session = 1, .registered = { .epoch = EPOCH } },
	        (struct clocks){ .mono = 1 });
	agent_effects_clear(agent);
	replica->health = HEALTH_READY;
	replica->ready_time = 77;
	replica->ready_us = 5;
	for (int again = 0; again <= 1; again++) {
		agent_apply(agent, &e, (struct clocks){ .mono = 10 });
		effects = agent_effects(agent, &n);
		assert_int_equal(n, !again);
		if (n) {
			assert_int_equal(effects[0].kind, AGENT_SEND_REPORT);
			assert_int_equal(effects[0].report.replica.health, HEALTH_READY);
			assert_int_equal(effects[0].report.replica.ports[0], 7000);
		}
		agent_effects_clear(agent);
		replica->requests = 9; /* which its load says */
	}
	replica->text = "503";
	replica->health = HEALTH_UNREADY;
	agent_apply(agent, &e, (struct clocks){ .mono = 20 });
	agent_effects(agent, &n);
	assert_int_equal(n, 1);
	agent_effects_clear(agent);
	replica->text = "";
	replica->health = HEALTH_READY;
	agent_apply(agent, &e, (struct clocks){ .mono = 30 });
	agent_effects_clear(agent);
	agent_apply(agent, &(struct agent_event){ .kind = AGENT_SESSION_UP, .session = 2 },
	        (struct clocks){ .mono = 100 });
	effects = agent_effects(agent, &n);
	assert_int_equal(effects[n - 1].reg.runs[0].replica.ready_us, 75);
	assert_int_equal(effects[n - 1].reg.runs[0].replica.ready_time, 77);
	agent_free(agent);
}

static void forgotten_runs_are_limited(void **state)
{
	struct play p = { .agent = agent_new() };
	struct agent_event e;
	struct agent_stats stats;
	char line[64];

	(void)state;
	for (const char *const *s = (const char *const[]){ "hello", "up 1", "reg 1 5", NULL }; *s;
	        s++) {
		snprintf(line, sizeof(line), "%s", *s);
		e = parse(&p, line);
		apply(&p, &e);
	}
	for (int job = 1; job <= 3 * AGENT_REMEMBER; job++) {
		static const char *const verbs[] = { "start 1 %d", "says %d=ENDED", "forget 1 %d" };

		for (int v = 0; v < 3; v++) {
			char text[16];

			snprintf(text, sizeof(text), "%d", job);
			snprintf(line, sizeof(line), "%.*s%s%s", (int)strcspn(verbs[v], "%"),
			        verbs[v], text, strchr(verbs[v], '%') + 2);
			e = parse(&p, line);
			apply(&p, &e);
		}
	}
	agent_stats(p.agent, &stats);
	assert_int_equal(stats.runs[AGENT_RUN_FORGOTTEN], AGENT_REMEMBER);
	assert_int_equal(stats.max_job, 3 * AGENT_REMEMBER);
	/* The newest are those still known. */
	assert_int_equal(agent_run_state(p.agent, (struct run_id){ 3 * AGENT_REMEMBER, 0, 1, 0 }),
	        AGENT_RUN_FORGOTTEN);
	assert_int_equal(agent_run_state(p.agent, (struct run_id){ 1, 0, 1, 0 }), AGENT_RUN_NONE);
	agent_free(p.agent);
}

static void registration_fits_one_message(void **state)
{
	enum { RUNS = 10000 };
	struct run_report *runs = calloc(RUNS, sizeof(*runs));
	struct agent *agent = agent_new();
	struct agent_event hello = { .kind = AGENT_LAUNCHER_HELLO };
	struct agent_event up = { .kind = AGENT_SESSION_UP, .session = 1 };
	struct agent_event reg = { .kind = AGENT_REGISTERED, .session = 1 };
	const struct agent_effect *effects;
	struct clocks now = { 1, 1 };
	size_t n, told;
	struct error err;

	(void)state;
	assert_non_null(runs);
	for (uint64_t i = 0; i < RUNS; i++) {
		char line[64];

		snprintf(line, sizeof(line), "%llu=%s", (unsigned long long)i + 1,
		        i == RUNS - 1 ? "RUNNING" : "ENDED");
		runs[i] = parse_report(line);
	}
	hello.hello.incarnation = INC;
	hello.hello.runs = runs;
	hello.hello.n_runs = RUNS;
	reg.registered.epoch = EPOCH;
	agent_apply(agent, &hello, now);
	agent_effects_clear(agent);
	agent_apply(agent, &up, now);
	effects = agent_effects(agent, &n);
	assert_int_equal(n, 1);
	told = effects[0].reg.n_runs;
	assert_in_range(told, 2000, RUNS - 1);
	assert_int_equal(effects[0].reg.runs[0].run.job, RUNS); /* the living first */
	agent_effects_clear(agent);
	assert_int_equal(agent_check(agent, &err), 0);
	agent_apply(agent, &reg, now);
	agent_effects(agent, &n);
	assert_int_equal(told + n, RUNS); /* the rest follows */
	agent_effects_clear(agent);
	assert_int_equal(agent_check(agent, &err), 0);
	agent_free(agent);
	free(runs);
}

static void refusals_say_why(void **state)
{
	struct play p = { .agent = agent_new() };
	const struct agent_effect *effects;
	struct agent_event e;
	size_t n;

	(void)state;
	for (const char *const *s = (const char *const[]){ "hello", "up 1", "reg 1 5",
	             "start 1 100 5 boot-0", NULL };
	        *s; s++) {
		char line[64];

		snprintf(line, sizeof(line), "%s", *s);
		e = parse(&p, line);
		apply(&p, &e);
	}
	e = (struct agent_event){ .kind = AGENT_LAUNCHER_RUN };
	e.report = parse_report("100=NEVER");
	agent_apply(p.agent, &e, (struct clocks){ 1, 1 });
	effects = agent_effects(p.agent, &n);
	assert_int_equal(n, 1);
	assert_string_equal(
	        effects[0].report.detail, "the start names incarnation boot-0, the node is boot-1");
	agent_free(p.agent);
}

static void equal_histories_are_equal(void **state)
{
	static const char *const events[] = { "hello 1=RUNNING", "up 1", "reg 1 5", "start 1 2",
		"says 2=ENDED", "clock 7", "forget 1 2" };
	struct play a = { .agent = agent_new() }, b = { .agent = agent_new() };

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		char line[64];
		struct agent_event e;

		snprintf(line, sizeof(line), "%s", events[i]);
		e = parse(&a, line);
		apply(&a, &e);
		snprintf(line, sizeof(line), "%s", events[i]);
		e = parse(&b, line);
		apply(&b, &e);
		assert_string_equal(a.out, b.out);
	}
	agent_free(a.agent);
	agent_free(b.agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(life_of_a_run),
		cmocka_unit_test(nothing_is_sent_before_both_are_up),
		cmocka_unit_test(orders_before_registered_are_nothing),
		cmocka_unit_test(orders_of_another_session_are_nothing),
		cmocka_unit_test(wanted_run_that_is_not_here_never_was),
		cmocka_unit_test(wanted_run_that_was_forgotten_has_ended),
		cmocka_unit_test(end_of_an_unknown_run_never_was),
		cmocka_unit_test(launcher_knew_it_after_all),
		cmocka_unit_test(tombstone_outlives_the_agent),
		cmocka_unit_test(unwanted_run_is_left_alone),
		cmocka_unit_test(lower_epoch_is_not_obeyed),
		cmocka_unit_test(signature_age_is_passed_on),
		cmocka_unit_test(higher_epoch_is_kept),
		cmocka_unit_test(other_incarnation_never),
		cmocka_unit_test(copies_of_orders_are_harmless),
		cmocka_unit_test(what_it_says_while_it_runs_goes_on),
		cmocka_unit_test(suspended_by_order),
		cmocka_unit_test(what_lives_cannot_be_forgotten),
		cmocka_unit_test(ends_are_repeated_until_forgotten),
		cmocka_unit_test(repeats_wait_longer_and_longer),
		cmocka_unit_test(registration_must_be_answered),
		cmocka_unit_test(launcher_gone_closes_the_session),
		cmocka_unit_test(second_hello_replaces_the_first),
		cmocka_unit_test(newer_session_takes_over),
		cmocka_unit_test(refused_start),
		cmocka_unit_test(nonsense_is_noted),
		cmocka_unit_test(elapsed_goes_on),
		cmocka_unit_test(health_is_passed_on),
		cmocka_unit_test(forgotten_runs_are_limited),
		cmocka_unit_test(registration_fits_one_message),
		cmocka_unit_test(refusals_say_why),
		cmocka_unit_test(equal_histories_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
