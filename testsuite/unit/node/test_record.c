/* test_record.c - noded/record/record.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/gpusched.pb-c.h"
#include "noded/record/record.h"
#include "testsuite/unit/lib/place.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void ids_both_ways(void **state)
{
	static const struct {
		const char *name;
		int ok;
		struct run_id run;
	} rows[] = {
		{ "4812_0_1", 1, { 4812, 0, 1, 0 } },
		{ "4812_0_1_3", 1, { 4812, 0, 1, 3 } },
		{ "18446744073709551615_4294967295_4294967295_4294967295", 1,
		        { UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX } },
		{ "4812_0_1_0", 0, { 0 } },
		{ "4812_0_1_", 0, { 0 } },
		{ "4812_0", 0, { 0 } },
		{ "4812_0_1.tmp", 0, { 0 } },
		{ "04812_0_1", 0, { 0 } },
		{ "+1_0_1", 0, { 0 } },
		{ " 1_0_1", 0, { 0 } },
		{ "-1_0_1", 0, { 0 } },
		{ "18446744073709551616_0_1", 0, { 0 } },
		{ "..", 0, { 0 } },
		{ "", 0, { 0 } },
	};
	struct run_id run;
	char name[RECORD_ID_MAX];

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		assert_int_equal(record_id_parse(rows[i].name, &run), rows[i].ok ? 0 : -1);
		if (!rows[i].ok)
			continue;
		assert_true(run_id_equal(&run, &rows[i].run));
		record_id_format(run, name);
		assert_string_equal(name, rows[i].name);
	}
}

static void write_started(int dirfd, uint32_t pid, unsigned flags, int *fd)
{
	Gpusched__StartedRecord r = GPUSCHED__STARTED_RECORD__INIT;
	int got;

	r.shepherd = pid;
	r.start_time = 1795255320000000;
	got = record_write(dirfd, RECORD_STARTED, &r.base, flags, NULL);
	assert_true(got >= 0);
	if (fd)
		*fd = got;
}

static int read_started(int dirfd, uint32_t *pid, struct error *err)
{
	ProtobufCMessage *m;
	int r = record_read(dirfd, RECORD_STARTED, &gpusched__started_record__descriptor, &m, err);

	if (r == 1) {
		*pid = ((Gpusched__StartedRecord *)m)->shepherd;
		protobuf_c_message_free_unpacked(m, NULL);
	}
	return r;
}

static void what_was_written_is_read(void **state)
{
	const struct place *p = *state;
	uint32_t pid;

	assert_int_equal(read_started(p->fd, &pid, NULL), 0);
	write_started(p->fd, 77, 0, NULL);
	assert_int_equal(read_started(p->fd, &pid, NULL), 1);
	assert_int_equal(pid, 77);
	write_started(p->fd, 78, RECORD_SYNC, NULL);
	assert_int_equal(read_started(p->fd, &pid, NULL), 1);
	assert_int_equal(pid, 78);
}

/* The lock goes with the descriptor, through rename and fork, until the last copy is closed. */
static void a_locked_record_stays_locked(void **state)
{
	const struct place *p = *state;
	int fd, copy, other;

	write_started(p->fd, 1, RECORD_LOCK, &fd);
	copy = dup(fd);
	close(fd);
	other = openat(p->fd, RECORD_STARTED, O_RDONLY);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	close(copy);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
}

/* Every prefix of a record, every flipped bit and a longer one: torn, never read as another. */
static void torn_records_are_found(void **state)
{
	const struct place *p = *state;
	uint8_t whole[256], b[257];
	struct error err;
	uint32_t pid;
	ssize_t len;
	int fd;

	write_started(p->fd, 4711, 0, NULL);
	fd = openat(p->fd, RECORD_STARTED, O_RDWR);
	len = read(fd, whole, sizeof(whole));
	assert_true(len > 24 && len < (ssize_t)sizeof(whole));
	for (ssize_t cut = 0; cut < len; cut++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, whole, (size_t)cut, 0), cut);
		assert_int_equal(read_started(p->fd, &pid, &err), -1);
		assert_int_equal(err.code, ERR_PROTOCOL);
	}
	for (ssize_t bit = 0; bit < len * 8; bit++) {
		memcpy(b, whole, (size_t)len);
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(pwrite(fd, b, (size_t)len, 0), len);
		assert_int_equal(read_started(p->fd, &pid, &err), -1);
	}
	memcpy(b, whole, (size_t)len);
	b[len] = 0;
	assert_int_equal(pwrite(fd, b, (size_t)len + 1, 0), len + 1);
	assert_int_equal(read_started(p->fd, &pid, &err), -1);
	close(fd);
}

static void another_kind_is_torn_too(void **state)
{
	const struct place *p = *state;
	ProtobufCMessage *m;
	struct error err;

	write_started(p->fd, 1, 0, NULL);
	assert_int_equal(
	        record_read(p->fd, RECORD_STARTED, &gpusched__run_report__descriptor, &m, &err),
	        -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
}

/* A writer that was killed leaves its temporary file: not in the way, and not a record. */
static void leftovers_do_not_matter(void **state)
{
	const struct place *p = *state;
	uint32_t pid;
	int fd = openat(p->fd, RECORD_STARTED ".tmp", O_WRONLY | O_CREAT, 0600);

	assert_int_equal(write(fd, "half", 4), 4);
	close(fd);
	assert_int_equal(read_started(p->fd, &pid, NULL), 0);
	write_started(p->fd, 5, 0, NULL);
	assert_int_equal(read_started(p->fd, &pid, NULL), 1);
	assert_int_equal(faccessat(p->fd, RECORD_STARTED ".tmp", F_OK, 0), -1);
}

/* A link in the place of the record is not followed. */
static void links_are_not_followed(void **state)
{
	const struct place *p = *state;
	struct error err;
	uint32_t pid;

	assert_int_equal(symlinkat("/etc/passwd", p->fd, RECORD_STARTED), 0);
	assert_int_equal(read_started(p->fd, &pid, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	write_started(p->fd, 6, 0, NULL);
	assert_int_equal(read_started(p->fd, &pid, NULL), 1);
}

static void a_failed_write_leaves_the_old(void **state)
{
	const struct place *p = *state;
	Gpusched__StartedRecord r = GPUSCHED__STARTED_RECORD__INIT;
	struct error err;
	uint32_t pid;

	write_started(p->fd, 9, 0, NULL);
	/* Something that cannot be unlinked is where the temporary file would be. */
	assert_int_equal(mkdirat(p->fd, RECORD_STARTED ".tmp", 0700), 0);
	assert_int_equal(record_write(p->fd, RECORD_STARTED, &r.base, 0, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(read_started(p->fd, &pid, NULL), 1);
	assert_int_equal(pid, 9);
}

struct seen {
	struct run_id v[8];
	size_t n;
	int stop_at;
};

static int see(struct run_id run, const char *name, void *arg)
{
	struct seen *s = arg;
	char id[RECORD_ID_MAX];

	record_id_format(run, id);
	assert_string_equal(name, id);
	s->v[s->n++] = run;
	return (int)s->n == s->stop_at ? 42 : 0;
}

static void scan_is_in_order(void **state)
{
	const struct place *p = *state;
	static const char *const names[] = { "10_0_1", "9_1_1", "9_0_2", "9_0_1", "9_0_2_10",
		"9_0_2_2", "notes", "9_0", "1_0_1.tmp" };
	struct seen s = { 0 }, t = { .stop_at = 2 };

	for (size_t i = 0; i < LEN(names); i++)
		assert_int_equal(mkdirat(p->fd, names[i], 0700), 0);
	assert_int_equal(record_scan(p->fd, see, &s, NULL), 0);
	assert_int_equal(s.n, 6);
	assert_true(s.v[0].job == 9 && s.v[0].attempt == 1 && s.v[1].attempt == 2);
	assert_true(s.v[1].rank == 0 && s.v[2].rank == 2 && s.v[3].rank == 10);
	assert_true(s.v[4].task == 1 && s.v[5].job == 10);
	assert_int_equal(record_scan(p->fd, see, &t, NULL), 42);
	assert_int_equal(t.n, 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_both_ways),
		TEST(what_was_written_is_read),
		TEST(a_locked_record_stays_locked),
		TEST(torn_records_are_found),
		TEST(another_kind_is_torn_too),
		TEST(leftovers_do_not_matter),
		TEST(links_are_not_followed),
		TEST(a_failed_write_leaves_the_old),
		TEST(scan_is_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
