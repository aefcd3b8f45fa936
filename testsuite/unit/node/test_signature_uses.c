/* test_signature_uses.c - noded/runs/signature_uses.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "noded/runs/signature_uses.h"
#include "testsuite/unit/lib/place.h"

#define ROW 40

static const uint8_t a[SIGNATURE_NONCE_LEN] = "nonce a", b[SIGNATURE_NONCE_LEN] = "nonce b";

static struct signature_uses *open_uses(const struct place *p, int64_t oldest)
{
	struct error err;
	struct signature_uses *u = signature_uses_new(p->fd, oldest, &err);

	assert_non_null(u);
	return u;
}

static off_t file_size(const struct place *p)
{
	struct stat st;

	assert_int_equal(fstatat(p->fd, SIGNATURE_FILE, &st, 0), 0);
	return st.st_size;
}

static void counts_by_user_and_nonce(void **state)
{
	struct signature_uses *u = open_uses(*state, 0);

	assert_int_equal(signature_uses_of(u, 1000, a, 0), 0);
	assert_int_equal(signature_uses_add(u, 1000, a, 0, 50, 1, NULL), 0);
	assert_int_equal(signature_uses_add(u, 1000, a, 0, 50, 1, NULL), 0);
	assert_int_equal(signature_uses_add(u, 1001, a, 0, 50, 1, NULL), 0);
	assert_int_equal(signature_uses_add(u, 1000, b, 0, 50, 1, NULL), 0);
	assert_int_equal(signature_uses_of(u, 1000, a, 0), 2);
	assert_int_equal(signature_uses_of(u, 1001, a, 0), 1);
	assert_int_equal(signature_uses_of(u, 1000, b, 0), 1);
	assert_int_equal(signature_uses_add(u, 1000, a, 0, 50, -1, NULL), 0);
	assert_int_equal(signature_uses_of(u, 1000, a, 0), 1);
	assert_int_equal(signature_uses_entries(u), 3);
	signature_uses_free(u);
}

/* Each task of an array has its own count, also after the file was read and written again. */
static void counts_by_task(void **state)
{
	static const uint32_t tasks[] = { 0, 1, 63, 64, 65, 4000000 };
	struct signature_uses *u = open_uses(*state, 0);
	size_t i, k;

	for (i = 0; i < 6; i++) {
		for (k = 0; k <= i; k++)
			signature_uses_add(u, 1000, a, tasks[i], 50, 1, NULL);
	}
	assert_int_equal(signature_uses_entries(u), 3);
	for (i = 0; i < 5000; i++) {
		signature_uses_add(u, 1000, a, 7, 50, 1, NULL);
		signature_uses_add(u, 1000, a, 7, 50, -1, NULL);
	}
	assert_int_equal(signature_uses_prune(u, 50, NULL), 0);
	assert_int_equal(file_size(*state), 6 * ROW);
	signature_uses_free(u);
	u = open_uses(*state, 50);
	for (i = 0; i < 6; i++)
		assert_int_equal(signature_uses_of(u, 1000, a, tasks[i]), i + 1);
	assert_int_equal(signature_uses_of(u, 1000, a, 7), 0);
	assert_int_equal(signature_uses_of(u, 1000, a, 2), 0);
	signature_uses_free(u);
}

/* The starts of a service count by the day, and those of past days are dropped. */
static void counts_by_day(void **state)
{
	const int64_t day = 20000 * (int64_t)SIGNATURE_DAY_S, now = day + 3600;
	struct signature_uses *u = open_uses(*state, 0);

	assert_int_equal(signature_uses_day(now), 20000);
	assert_int_equal(signature_uses_day(day - 1), 19999);
	assert_int_equal(signature_uses_day_began(now), day);
	assert_int_equal(signature_uses_day_began(-5), 0);
	for (int i = 0; i < 3; i++)
		signature_uses_add(u, 1000, a, signature_uses_day(now),
		        signature_uses_day_began(now), 1, NULL);
	assert_int_equal(signature_uses_of(u, 1000, a, signature_uses_day(now)), 3);
	assert_int_equal(
	        signature_uses_of(u, 1000, a, signature_uses_day(now + SIGNATURE_DAY_S)), 0);
	signature_uses_free(u);
	/* The same day still counts. */
	u = open_uses(*state, signature_uses_oldest(now + 40000, 60));
	assert_int_equal(signature_uses_of(u, 1000, a, 20000), 3);
	signature_uses_free(u);
	u = open_uses(*state, signature_uses_oldest(now + 3 * SIGNATURE_DAY_S, 60));
	assert_int_equal(signature_uses_entries(u), 0);
	signature_uses_free(u);
}

static void outlives_the_process(void **state)
{
	struct signature_uses *u = open_uses(*state, 0);

	signature_uses_add(u, 1000, a, 0, 50, 1, NULL);
	signature_uses_add(u, 1000, a, 0, 50, 1, NULL);
	signature_uses_add(u, 1000, a, 0, 50, -1, NULL);
	signature_uses_free(u);
	u = open_uses(*state, 50);
	assert_int_equal(signature_uses_of(u, 1000, a, 0), 1);
	signature_uses_free(u);
	u = open_uses(*state, 51); /* too old to be used: forgotten */
	assert_int_equal(signature_uses_of(u, 1000, a, 0), 0);
	assert_int_equal(signature_uses_entries(u), 0);
	signature_uses_free(u);
}

/* A younger signature of the same job is the same job's: what was used stays used. */
static void signed_anew(void **state)
{
	struct signature_uses *u = open_uses(*state, 0);

	signature_uses_add(u, 1000, a, 0, 50, 1, NULL);
	signature_uses_add(u, 1000, a, 0, 90, 1, NULL);
	signature_uses_add(u, 1000, a, 0, 50, 1, NULL);
	assert_int_equal(signature_uses_prune(u, 60, NULL), 0);
	assert_int_equal(signature_uses_of(u, 1000, a, 0), 3);
	assert_int_equal(signature_uses_prune(u, 91, NULL), 0);
	assert_int_equal(signature_uses_entries(u), 0);
	signature_uses_free(u);
}

/* A torn tail, rubbish in the middle: the rest counts, and rows that follow stay in step. */
static void damage_is_skipped(void **state)
{
	const struct place *p = *state;
	struct signature_uses *u = open_uses(p, 0);
	int fd;

	for (int i = 0; i < 3; i++)
		signature_uses_add(u, 1000, i == 1 ? b : a, 0, 50, 1, NULL);
	signature_uses_free(u);
	fd = openat(p->fd, SIGNATURE_FILE, O_RDWR);
	assert_int_equal(pwrite(fd, "\xff", 1, ROW + 20), 1); /* in b's count */
	assert_int_equal(pwrite(fd, "half a row", 10, 3 * ROW), 10);
	close(fd);
	u = open_uses(p, 0);
	assert_int_equal(signature_uses_of(u, 1000, a, 0), 2);
	assert_int_equal(signature_uses_of(u, 1000, b, 0), 0);
	assert_int_equal(signature_uses_add(u, 1000, b, 0, 50, 1, NULL), 0);
	signature_uses_free(u);
	u = open_uses(p, 0);
	assert_int_equal(signature_uses_of(u, 1000, b, 0), 1);
	signature_uses_free(u);
}

static void a_grown_file_is_written_anew(void **state)
{
	const struct place *p = *state;
	struct signature_uses *u = open_uses(p, 0);
	uint8_t nonce[SIGNATURE_NONCE_LEN] = "";

	for (int i = 0; i < 20000; i++) {
		nonce[0] = (uint8_t)i;
		nonce[1] = (uint8_t)(i >> 8);
		assert_int_equal(
		        signature_uses_add(u, 1000, nonce, 0, i < 19990 ? 10 : 99, 1, NULL), 0);
	}
	assert_int_equal(file_size(p), 20000 * ROW);
	assert_int_equal(signature_uses_prune(u, 50, NULL), 0);
	assert_int_equal(signature_uses_entries(u), 10);
	assert_int_equal(file_size(p), 10 * ROW);
	assert_int_equal(signature_uses_add(u, 1000, a, 0, 99, 1, NULL), 0);
	signature_uses_free(u);
	u = open_uses(p, 0);
	assert_int_equal(signature_uses_entries(u), 11);
	assert_int_equal(signature_uses_of(u, 1000, nonce, 0), 1);
	signature_uses_free(u);
}

static void a_directory_that_cannot_be_used_is_an_error(void **state)
{
	const struct place *p = *state;
	struct error err;

	assert_int_equal(mkdirat(p->fd, SIGNATURE_FILE, 0700), 0);
	assert_null(signature_uses_new(p->fd, 0, &err));
	assert_int_equal(err.code, ERR_SYSTEM);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_by_user_and_nonce),
		TEST(counts_by_task),
		TEST(counts_by_day),
		TEST(outlives_the_process),
		TEST(signed_anew),
		TEST(damage_is_skipped),
		TEST(a_grown_file_is_written_anew),
		TEST(a_directory_that_cannot_be_used_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
