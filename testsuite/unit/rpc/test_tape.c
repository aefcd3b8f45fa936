/* test_tape.c - ctld/tape: files whole, cut short and damaged, a core once more; ctld/loop/recorder.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/loop/recorder.h"
#include "ctld/tape/event_codec.h"
#include "ctld/tape/player.h"
#include "ctld/tape/tape.h"

static const char conf_text[] =
        "cluster = \"test\"; controller = { host = \"h\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n";

static struct conf *make_conf(void)
{
	struct conf_problems problems = { NULL, 0 };
	struct conf *conf = conf_parse(conf_text, "test", &problems);

	assert_non_null(conf);
	conf_problems_clear(&problems);
	return conf;
}

static void what_cannot_be_is_refused(void **state)
{
	const uint32_t nodes[] = { 0, 2 };
	const struct submit_job nameless = { .array = "", .cwd = "", .output = "", .error = "" };
	struct task_range back = { 5, 3, 1 };
	const struct taskset set = { .v = &back, .n = 1, .count = 1 }, *sets[] = { &set };
	const struct core_event wrong[] = {
		{ .kind = EV_SUBMIT, .submit = { .jobs = &nameless, .n = 1 } },
		{ .kind = EV_BULK, .bulk = { .step = BULK_CHECK, .n = 1 } },
		{ .kind = EV_BULK, .bulk = { .step = (enum bulk_step)4 } },
		{ .kind = EV_JOB_CONTROL, .job = { .verb = (enum job_verb)(JOB_VERB_LAST + 1) } },
		{ .kind = EV_JOB_CONTROL, .job = { .verb = JOB_UPDATE } },
		{ .kind = EV_JOB_CONTROL, .job = { .verb = JOB_HOLD, .tasks = sets, .n = 1 } },
		{ .kind = EV_NODE_CONTROL, .node = { .verb = NODE_DRAIN, .nodes = nodes, .n = 2 } },
		{ .kind = EV_NODE_CONTROL, .node = { .verb = (enum node_verb)0 } },
		{ .kind = EV_PARTITION_CONTROL, .partition = { .partition = 1 } },
		{ .kind = EV_AGENT_UP, .agent_up = { .node = 0, .session = 0 } },
		{ .kind = EV_AGENT_UP, .agent_up = { .node = 2, .session = 1 } },
		{ .kind = EV_AGENT_GONE, .agent = { .node = 2, .session = 1 } },
		{ .kind = EV_HEARTBEAT, .agent = { .node = UINT32_MAX, .session = 1 } },
		{ .kind = EV_RUN_REPORT,
		        .run = { .node = 2, .report = { .state = REPORT_RUNNING } } },
		{ .kind = EV_RUN_REPORT, .run = { .node = 0 } },
		{ .kind = EV_FENCED, .fenced = { .node = 7 } },
		{ .kind = EV_WAIT_JOB, .caller = { .role = (enum role)9 } },
	};
	struct conf *conf = make_conf();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error err = { .code = ERR_NONE };

		assert_int_equal(event_check(&wrong[i], conf, &err), -1);
		assert_int_equal(err.code, ERR_CONFIG);
	}
	conf_free(conf);
}

/* --- files ----------------------------------------------------------------------------------- */

/* A tape in memory, and where its frames begin. */
struct tape {
	struct bytes b;
	size_t frames[256], n;
	struct tape_writer w;
};

static void out(void *arg, const void *frame, size_t n)
{
	struct tape *t = arg;

	if (t->n < 256)
		t->frames[t->n++] = t->b.n;
	bytes_raw(&t->b, frame, n);
}

static void tape_begin(struct tape *t)
{
	*t = (struct tape){ .w = { .out = out, .arg = t } };
	bytes_raw(&t->b, TAPE_MAGIC, TAPE_MAGIC_LEN);
}

static void tape_clear(struct tape *t)
{
	bytes_free(&t->b);
	tape_writer_clear(&t->w);
}

/* Read to the end: records that were read; -1 with err. */
static int read_all(const void *bytes, size_t n, uint64_t *torn, struct error *err)
{
	FILE *f = n ? fmemopen((void *)(uintptr_t)bytes, n, "r") : fopen("/dev/null", "r");
	struct tape_reader r;
	struct tape_record record;
	int rc, count = 0;

	assert_non_null(f);
	rc = tape_read_begin(&r, f, "t", err);
	while (rc == 0 && (rc = tape_read(&r, &record, err)) > 0) {
		count++;
		rc = 0;
	}
	if (rc == 0 && torn)
		*torn = r.torn;
	tape_reader_clear(&r);
	fclose(f);
	return rc < 0 ? -1 : count;
}

static void some_records(struct tape *t)
{
	struct core_event disk = { .kind = EV_DISK_FREE, .disk_free_mb = 12345 };
	struct core_event beat = { .kind = EV_HEARTBEAT, .agent = { 1, 77 } };
	struct clocks now = { .wall = 1800000000000000, .mono = 5000000 };
	struct row row;

	tape_begin(t);
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_START,
	                          .start = { TAPE_VERSION, 1, "1.0", 42, "conf" } });
	row_begin(&row, TABLE_META, ROW_PUT);
	row.v[0] = value_text("epoch");
	row.v[1] = value_text("7");
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_ROW, .row = &row });
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_STARTED, .now = now });
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_EVENT, .now = now, .event = &disk });
	now.wall -= 3600000000; /* the wall clock is put back */
	now.mono += 10;
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_EVENT, .now = now, .event = &beat });
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_SLICE, .now = now, .budget = 500 });
	tape_write(&t->w,
	        &(struct tape_record){ .kind = TAPE_RECONFIGURE, .now = now, .conf = "other" });
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_WHY, .now = now, .ref = 9 });
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_SEAL, .seal = { 3, 999 } });
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_TAKEOVER, .takeover = { 5, 6 } });
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_MARK, .hash = UINT64_MAX });
	tape_write(&t->w, &(struct tape_record){ .kind = TAPE_END });
}

#define SOME_RECORDS 12

static void records_there_and_back(void **state)
{
	struct tape_reader r;
	struct tape_record v;
	struct tape t;
	FILE *f;

	(void)state;
	some_records(&t);
	f = fmemopen(t.b.v, t.b.n, "r");
	assert_int_equal(tape_read_begin(&r, f, "t", NULL), 0);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.kind, TAPE_START);
	assert_int_equal(v.start.seed, 42);
	assert_string_equal(v.start.gpusched, "1.0");
	assert_string_equal(v.start.conf, "conf");
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.row->table, TABLE_META);
	assert_memory_equal(v.row->v[0].p, "epoch", 5);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.now.wall, 1800000000000000);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.event->disk_free_mb, 12345);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.event->agent.session, 77);
	assert_int_equal(v.now.wall, 1800000000000000 - 3600000000);
	assert_int_equal(v.now.mono, 5000010);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.budget, 500);
	assert_int_equal(v.now.mono, 5000010);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_string_equal(v.conf, "other");
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.ref, 9);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.seal.rows, 3);
	assert_int_equal(v.seal.sum, 999);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.takeover.job, 6);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_true(v.hash == UINT64_MAX);
	assert_int_equal(tape_read(&r, &v, NULL), 1);
	assert_int_equal(v.kind, TAPE_END);
	assert_int_equal(tape_read(&r, &v, NULL), 0);
	assert_int_equal(r.number, SOME_RECORDS);
	tape_reader_clear(&r);
	fclose(f);
	tape_clear(&t);
}

/* A record of many frames: texts of megabytes. */
static void a_long_record(void **state)
{
	char *text = xcalloc(5000000, 1);
	struct tape t;
	uint64_t torn = 0;

	(void)state;
	memset(text, 'x', 4999999);
	tape_begin(&t);
	tape_write(&t.w, &(struct tape_record){ .kind = TAPE_RECONFIGURE, .conf = text });
	assert_true(t.w.frames > 150);
	assert_int_equal(t.w.records, 1);
	assert_int_equal(read_all(t.b.v, t.b.n, NULL, NULL), 1);
	/* Its last frame is not there: all of it is cut short. */
	assert_int_equal(read_all(t.b.v, t.frames[t.n - 1], &torn, NULL), 0);
	assert_int_equal(torn, t.frames[t.n - 1] - TAPE_MAGIC_LEN);
	tape_clear(&t);
	free(text);
}

static void cut_anywhere(void **state)
{
	struct tape t;
	size_t n;
	int last = 0;

	(void)state;
	some_records(&t);
	for (n = 0; n < TAPE_MAGIC_LEN; n++)
		assert_int_equal(read_all(t.b.v, n, NULL, NULL), -1);
	for (; n <= t.b.n; n++) {
		uint8_t *zeros = xcalloc(n + 5000, 1);
		uint64_t torn = 0;
		int count = read_all(t.b.v, n, &torn, NULL);

		assert_true(count == last || (count == last + 1 && !torn));
		last = count;
		/* as a power cut may leave it; the zeros may be what is missing */
		memcpy(zeros, t.b.v, n);
		assert_in_range(read_all(zeros, n + 5000, NULL, NULL), count, count + 1);
		free(zeros);
	}
	assert_int_equal(last, SOME_RECORDS);
	tape_clear(&t);
}

static void each_flipped_bit_is_found(void **state)
{
	struct tape t;
	size_t i, frame = 0;
	int bit;

	(void)state;
	some_records(&t);
	for (i = 0; i < t.b.n; i++) {
		char where[80];

		while (frame + 1 < t.n && t.frames[frame + 1] <= i)
			frame++;
		snprintf(where, sizeof(where), "t: record %zu at byte %zu: ", frame + 1,
		        t.frames[frame]);
		for (bit = 0; bit < 8; bit++) {
			struct error err;

			t.b.v[i] ^= (uint8_t)(1 << bit);
			assert_int_equal(read_all(t.b.v, t.b.n, NULL, &err), -1);
			assert_int_equal(err.code, ERR_CONFIG);
			if (i >= TAPE_MAGIC_LEN)
				assert_memory_equal(err.text, where, strlen(where));
			t.b.v[i] ^= (uint8_t)(1 << bit);
		}
	}
	tape_clear(&t);
}

/* Frames that are whole, but not where they were. */
static void moved_frames_are_found(void **state)
{
	struct bytes b = { .v = NULL };
	struct error err;
	struct tape t;

	(void)state;
	some_records(&t);
	/* one is missing */
	bytes_raw(&b, t.b.v, t.frames[4]);
	bytes_raw(&b, t.b.v + t.frames[5], t.b.n - t.frames[5]);
	assert_int_equal(read_all(b.v, b.n, NULL, &err), -1);
	assert_non_null(strstr(err.text, "record 5 at byte"));
	/* one is there twice */
	b.n = 0;
	bytes_raw(&b, t.b.v, t.frames[5]);
	bytes_raw(&b, t.b.v + t.frames[4], t.b.n - t.frames[4]);
	assert_int_equal(read_all(b.v, b.n, NULL, &err), -1);
	assert_non_null(strstr(err.text, "record 6 at byte"));
	bytes_free(&b);
	tape_clear(&t);
}

static void something_else(void **state)
{
	static const char *const texts[] = { "", "g", "job_id,submit_s,duration_s,gpus\n",
		"SQLite format 3", "gpusched Record\n0123456789" };
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(read_all(texts[i], strlen(texts[i]), NULL, &err), -1);
		assert_non_null(strstr(err.text, "not a record"));
	}
}

/* --- a core once more ------------------------------------------------------------------------ */

struct story {
	struct tape t;
	struct core *core;
	struct conf *conf;
	struct clocks now;
	uint32_t cpus; /* that the job asks for; recorded is 1 */
	uint64_t format;
	const char *conf_text;
};

static void sum_row(void *arg, const struct row *row)
{
	*(uint64_t *)arg += row_hash(row);
}

/* The event as it happened; another in the file. */
static void happen(struct story *s, const struct core_event *e, const struct core_event *told)
{
	s->now.mono += 1000;
	s->now.wall += 1000;
	tape_write(
	        &s->t.w, &(struct tape_record){ .kind = TAPE_EVENT, .now = s->now, .event = told });
	core_apply(s->core, e, s->now);
	tape_write(
	        &s->t.w, &(struct tape_record){ .kind = TAPE_SLICE, .now = s->now, .budget = 100 });
	core_schedule(s->core, s->now, 100);
}

static void seal(struct story *s)
{
	uint64_t sum = 0, rows = core_seal(s->core, sum_row, &sum);

	core_effects_clear(s->core);
	tape_write(&s->t.w, &(struct tape_record){ .kind = TAPE_SEAL, .seal = { rows, sum } });
}

static void submit(struct story *s, uint32_t told_cpus)
{
	struct submit_job job = { .name = "job",
		.partition = "",
		.account = "",
		.submit_host = "login",
		.array = "",
		.cwd = "/",
		.output = "",
		.error = "",
		.qos = "",
		.gid = 100,
		.cpus = 1,
		.gpus = { { "h100", 2 } },
		.n_gpus = 1,
		.max_attempts = 1,
		.sign_time = s->now.wall };
	struct submit_job told = job;
	struct core_event e = { .kind = EV_SUBMIT,
		.caller = { .reply = 1, .uid = 1000, .user = "ana", .host = "login" },
		.submit = { .jobs = &job, .n = 1 } };
	struct core_event as_told = e;

	told.cpus = told_cpus;
	as_told.submit.jobs = &told;
	happen(s, &e, &as_told);
}

static void tell(struct story *s, uint32_t told_cpus)
{
	struct core_event up = { .kind = EV_AGENT_UP,
		.agent_up = { .node = 0,
		        .session = 5,
		        .boot_id = "b",
		        .incarnation = "i",
		        .version = "1",
		        .containment = "none",
		        .cpus = 8,
		        .mem_mb = 65536 } };
	struct core_event clock = { .kind = EV_CLOCK };

	s->now = (struct clocks){ 1800000000000000, 1000000 };
	s->conf = make_conf();
	s->core = core_new(s->conf, 3);
	tape_begin(&s->t);
	tape_write(&s->t.w, &(struct tape_record){ .kind = TAPE_START,
	                            .start = { TAPE_VERSION, s->format ? s->format : tape_format(),
	                                    "9.9", 3, s->conf_text ? s->conf_text : conf_text } });
	assert_int_equal(core_start(s->core, s->now, NULL), 0);
	tape_write(&s->t.w, &(struct tape_record){ .kind = TAPE_STARTED, .now = s->now });
	happen(s, &up, &up);
	seal(s);
	submit(s, told_cpus);
	seal(s);
	happen(s, &clock, &clock);
	tape_write(&s->t.w, &(struct tape_record){ .kind = TAPE_MARK, .hash = core_hash(s->core) });
	tape_write(&s->t.w, &(struct tape_record){ .kind = TAPE_END });
}

static void story_clear(struct story *s)
{
	core_free(s->core);
	conf_free(s->conf);
	tape_clear(&s->t);
}

static int play(const struct story *s, struct player_stats *stats, struct error *err)
{
	FILE *f = fmemopen(s->t.b.v, s->t.b.n, "r");
	struct player *p = player_new(f, "t", err);
	int rc;

	assert_non_null(p);
	while ((rc = player_next(p, err)) > 0)
		;
	player_stats(p, stats);
	player_free(p);
	fclose(f);
	return rc;
}

static void the_same_again(void **state)
{
	struct story s = { .format = 0 };
	struct player_stats stats;

	(void)state;
	tell(&s, 1);
	assert_int_equal(play(&s, &stats, NULL), 0);
	assert_int_equal(stats.events, 3);
	assert_int_equal(stats.slices, 3);
	assert_int_equal(stats.seals, 2);
	assert_true(stats.rows > 2);
	assert_int_equal(stats.marks, 1);
	assert_true(stats.ended);
	assert_int_equal(stats.proved, s.t.w.records - 1);
	assert_string_equal(stats.version, "9.9");
	story_clear(&s);
}

/* Its frames are whole, and it is not what happened. */
static void a_changed_event_is_found(void **state)
{
	struct story s = { .format = 0 };
	struct player_stats stats;
	struct error err;

	(void)state;
	tell(&s, 2);
	assert_int_equal(play(&s, &stats, &err), -1);
	assert_int_equal(err.code, ERR_INTERNAL);
	/* 1 start, 2 started, 3-4 the node, 5 seal, 6-7 the submit, 8 the seal that differs */
	assert_memory_equal(err.text, "t: record 8 at byte ", 20);
	assert_non_null(strstr(err.text, "seal: what has changed is not the same"));
	assert_non_null(strstr(err.hint, "up to record 5 all is the same; gpusched 9.9"));
	story_clear(&s);
}

static void other_versions_and_orders(void **state)
{
	struct story other = { .format = 77 }, broken = { .conf_text = "cluster = 5;" };
	struct tape_record mark = { .kind = TAPE_MARK };
	struct story bare = { .format = 0 };
	struct player_stats stats;
	struct error err;

	(void)state;
	tell(&other, 1);
	assert_int_equal(play(&other, &stats, &err), -1);
	assert_non_null(strstr(err.text, "written by gpusched 9.9, whose events are others"));
	tell(&broken, 1);
	assert_int_equal(play(&broken, &stats, &err), -1);
	assert_memory_equal(err.text, "t: record 1 at byte 16: start: its configuration:", 49);
	tape_begin(&bare.t);
	tape_write(&bare.t.w, &mark);
	assert_int_equal(play(&bare, &stats, &err), -1);
	assert_non_null(strstr(err.text, "out of place"));
	story_clear(&other);
	story_clear(&broken);
	tape_clear(&bare.t);
}

/* --- the recorder ---------------------------------------------------------------------------- */

struct folder {
	char dir[64], path[96];
};

static int make_folder(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/test-tape-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/record", f->dir);
	*state = f;
	return 0;
}

static int drop_folder(void **state)
{
	struct folder *f = *state;

	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static char *contents(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	char *b = xcalloc(4 << 20, 1);

	*n = fread(b, 1, 4 << 20, f);
	fclose(f);
	return b;
}

static int records_in(const char *path, struct error *err)
{
	size_t n;
	char *b = contents(path, &n);
	int rc = read_all(b, n, NULL, err);

	free(b);
	return rc;
}

static void put_marks(struct recorder *r, unsigned n)
{
	while (n--) {
		recorder_put(r, &(struct tape_record){ .kind = TAPE_MARK, .hash = n });
		if (n % 100 == 0)
			recorder_kick(r);
	}
}

static void recorded_in_a_file(void **state)
{
	const struct folder *f = *state;
	struct recorder *r = recorder_open(f->path, NULL), *second;
	struct error err;
	struct stat st;

	assert_non_null(r);
	put_marks(r, 20000);
	second = recorder_open(f->path, &err);
	assert_null(second);
	assert_non_null(strstr(err.text, "another controller?"));
	recorder_close(r);
	assert_int_equal(records_in(f->path, NULL), 20000);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void goes_on_after_a_cut(void **state)
{
	const struct folder *f = *state;
	struct recorder *r = recorder_open(f->path, NULL);
	struct stat st;

	put_marks(r, 10);
	recorder_close(r);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(truncate(f->path, st.st_size - 3), 0);
	r = recorder_open(f->path, NULL);
	assert_non_null(r);
	put_marks(r, 5);
	recorder_close(r);
	assert_int_equal(records_in(f->path, NULL), 14);
}

static void not_after_damage(void **state)
{
	const struct folder *f = *state;
	struct recorder *r = recorder_open(f->path, NULL);
	struct error err;
	int fd;

	put_marks(r, 10);
	recorder_close(r);
	fd = open(f->path, O_WRONLY);
	assert_int_equal(pwrite(fd, "x", 1, 60), 1);
	close(fd);
	assert_null(recorder_open(f->path, &err));
	assert_non_null(strstr(err.text, "damaged"));
	assert_non_null(strstr(err.hint, "move it away"));
	assert_null(recorder_open("/dev/null", &err));
	assert_non_null(strstr(err.text, "not a file"));
	assert_null(recorder_open("/nowhere/record", &err));
	assert_int_equal(err.code, ERR_SYSTEM);
}

/* The disk is full: it ends, and what is there is whole but for its last record. */
static void ends_when_the_disk_is_full(void **state)
{
	const struct folder *f = *state;
	struct rlimit old, less = { 100000, RLIM_INFINITY };
	struct recorder *r = recorder_open(f->path, NULL);
	struct error err = { .code = ERR_NONE };
	uint64_t before;
	unsigned i;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	less.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &less);
	put_marks(r, 20000);
	for (i = 0; i < 2000; i++) { /* until it is known */
		before = recorder_bytes(r);
		put_marks(r, 1);
		if (recorder_bytes(r) == before)
			break;
		usleep(1000);
	}
	assert_true(i < 2000);
	recorder_close(r);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_in_range(records_in(f->path, &err), 1000, 19999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(records_there_and_back),
		cmocka_unit_test(a_long_record),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(each_flipped_bit_is_found),
		cmocka_unit_test(moved_frames_are_found),
		cmocka_unit_test(something_else),
		cmocka_unit_test(the_same_again),
		cmocka_unit_test(a_changed_event_is_found),
		cmocka_unit_test(other_versions_and_orders),
		cmocka_unit_test_setup_teardown(recorded_in_a_file, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(goes_on_after_a_cut, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(not_after_damage, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(
		        ends_when_the_disk_is_full, make_folder, drop_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
