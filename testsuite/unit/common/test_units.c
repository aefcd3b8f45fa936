/* test_units.c - common/base/units.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/units.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define K      UINT64_C(1024)
#define FAILS  UINT64_C(0xdeadbeef) /* what the output holds before, and after a failure */

struct row {
	const char *text;
	int bare;
	uint64_t value; /* FAILS: refused with `error` */
	const char *error;
};

typedef int parse_fn(const char *text, int bare, uint64_t *value, struct error *err);

static void run(const struct row *rows, size_t n, parse_fn *parse)
{
	for (size_t i = 0; i < n; i++) {
		struct error err = { .code = ERR_NONE };
		uint64_t value = FAILS;
		int rc = parse(rows[i].text, rows[i].bare, &value, &err);

		if (rows[i].error) {
			assert_string_equal(err.text, rows[i].error);
			assert_int_equal(rc, -1);
			assert_int_equal(err.code, ERR_USAGE);
		} else {
			assert_string_equal(err.text, "");
			assert_int_equal(rc, 0);
		}
		assert_int_equal(value, rows[i].value);
	}
}

static int size_fn(const char *text, int bare, uint64_t *value, struct error *err)
{
	return size_parse(text, (enum size_bare)bare, value, err);
}

static int size_mb_fn(const char *text, int bare, uint64_t *value, struct error *err)
{
	return size_parse_mb(text, (enum size_bare)bare, value, err);
}

static int duration_fn(const char *text, int bare, uint64_t *value, struct error *err)
{
	return duration_parse(text, (enum duration_bare)bare, value, err);
}

static int duration_ms_fn(const char *text, int bare, uint64_t *value, struct error *err)
{
	return duration_parse_ms(text, (enum duration_bare)bare, value, err);
}

static int percent_fn(const char *text, int bare, uint64_t *value, struct error *err)
{
	uint32_t percent = 0;

	(void)bare;
	if (percent_parse(text, &percent, err) < 0)
		return -1;
	*value = percent;
	return 0;
}

static int count_fn(const char *text, int bare, uint64_t *value, struct error *err)
{
	(void)bare;
	return count_parse(text, 1, 64, value, err);
}

static void sizes(void **state)
{
	static const struct row rows[] = {
		{ "0", 0, 0, NULL },
		{ "1K", 0, K, NULL },
		{ "512M", 0, 512 * K * K, NULL },
		{ "80G", 0, 80 * K * K * K, NULL },
		{ "80g", 0, 80 * K * K * K, NULL },
		{ "80GB", 0, 80 * K * K * K, NULL },
		{ "80GiB", 0, 80 * K * K * K, NULL },
		{ "2T", 0, 2 * K * K * K * K, NULL },
		{ "16777215T", 0, UINT64_C(16777215) << 40, NULL },
		{ "512", 'M', 512 * K * K, NULL },
		{ "1G", 'M', K * K * K, NULL },
		{ "80", 0, FAILS, "needs a unit, as in \"80M\" or \"80G\"" },
		{ "", 0, FAILS, "must start with a number" },
		{ "G", 0, FAILS, "must start with a number" },
		{ " 1G", 0, FAILS, "must start with a number" },
		{ "+1G", 0, FAILS, "must start with a number" },
		{ "-1G", 0, FAILS, "must not be negative" },
		{ "1P", 0, FAILS, "the units of sizes are K, M, G and T, as in \"80G\"" },
		{ "1G ", 0, FAILS, "the units of sizes are K, M, G and T, as in \"80G\"" },
		{ "1Gb/s", 0, FAILS, "the units of sizes are K, M, G and T, as in \"80G\"" },
		{ "1.5G", 0, FAILS, "must be a whole number; \"1536M\" is one and a half G" },
		{ "16777216T", 0, FAILS, "too large a size" },
		{ "18446744073709551616", 0, FAILS, "too large a number" },
		{ "99999999999999999999T", 0, FAILS, "too large a number" },
		{ "1\n", 0, FAILS, "the units of sizes are K, M, G and T, as in \"80G\"" },
	};
	static const struct row mb[] = {
		{ "80G", 0, 80 * K, NULL },
		{ "1K", 0, 1, NULL },
		{ "1025K", 0, 2, NULL },
		{ "1024K", 0, 1, NULL },
		{ "100", 'M', 100, NULL },
		{ "0", 0, 0, NULL },
		{ "x", 0, FAILS, "must start with a number" },
	};

	(void)state;
	run(rows, LEN(rows), size_fn);
	run(mb, LEN(mb), size_mb_fn);
}

static void durations(void **state)
{
#define CLOCK                                                              \
	"a time is \"20m\", \"2h\", \"30d\", or a clock as in \"20:00\", " \
	"\"4:00:00\" or \"2-00:00:00\""
#define UNITS "the units of time are ms, s, m, h, d and w, as in \"90s\" or \"20m\""
	static const struct row rows[] = {
		{ "0", 0, 0, NULL },
		{ "0s", 0, 0, NULL },
		{ "90s", 0, 90, NULL },
		{ "20m", 0, 1200, NULL },
		{ "2h", 0, 7200, NULL },
		{ "30d", 0, 30 * 86400, NULL },
		{ "2w", 0, 14 * 86400, NULL },
		{ "2000ms", 0, 2, NULL },
		{ "0:41", 0, 41, NULL },
		{ "20:00", 0, 1200, NULL },
		{ "90:00", 0, 5400, NULL },
		{ "4:00:00", 0, 14400, NULL },
		{ "72:00:00", 0, 72 * 3600, NULL },
		{ "2-0", 0, 2 * 86400, NULL },
		{ "1-12:30", 0, 86400 + 12 * 3600 + 1800, NULL },
		{ "2-00:00:00", 0, 2 * 86400, NULL },
		{ "infinite", 0, DURATION_FOREVER, NULL },
		{ "UNLIMITED", 0, DURATION_FOREVER, NULL },
		{ "45", DURATION_BARE_MINUTES, 45 * 60, NULL },
		{ "45", DURATION_BARE_S, 45, NULL },
		{ "45s", DURATION_BARE_MINUTES, 45, NULL },
		{ "2:30", DURATION_BARE_MINUTES, 150, NULL },
		{ "120", 0, FAILS, "needs a unit, as in \"120s\" or \"2m\"" },
		{ "45", 0, FAILS, "needs a unit, as in \"45s\" or \"45m\"" },
		{ "", 0, FAILS, "must start with a number" },
		{ "forever", 0, FAILS, "must start with a number" },
		{ "-5m", 0, FAILS, "must not be negative" },
		{ "5x", 0, FAILS, UNITS },
		{ "5 m", 0, FAILS, UNITS },
		{ "1.5h", 0, FAILS, UNITS },
		{ "1500ms", 0, FAILS, "must be whole seconds" },
		{ "1:60", 0, FAILS, "the seconds of a clock go up to 59" },
		{ "1:60:00", 0, FAILS, "the minutes of a clock go up to 59" },
		{ "1-24:00:00", 0, FAILS, "the hours after days go up to 23" },
		{ "1:", 0, FAILS, CLOCK },
		{ "1-", 0, FAILS, CLOCK },
		{ "1:2:3:4", 0, FAILS, CLOCK },
		{ "1-2:3:4:5", 0, FAILS, CLOCK },
		{ "1:2-3", 0, FAILS, CLOCK },
		{ "1-2-3", 0, FAILS, CLOCK },
		{ "1--2", 0, FAILS, CLOCK },
		{ "1:30m", 0, FAILS, CLOCK },
		{ "213503982334602-00:00:00", 0, FAILS, "too long a time" },
		{ "18446744073709551615s", 0, FAILS, "too long a time" },
		{ "18446744073709551616s", 0, FAILS, "too large a number" },
	};
	static const struct row ms[] = {
		{ "250ms", 0, 250, NULL },
		{ "5s", 0, 5000, NULL },
		{ "1:00", 0, 60000, NULL },
		{ "18446744073709551615ms", 0, FAILS, "too long a time" },
	};

	(void)state;
	run(rows, LEN(rows), duration_fn);
	run(ms, LEN(ms), duration_ms_fn);
}

static void percents_and_counts(void **state)
{
	static const struct row percents[] = {
		{ "25%", 0, 25, NULL },
		{ "0%", 0, 0, NULL },
		{ "100%", 0, 100, NULL },
		{ "101%", 0, FAILS, "must be \"0%\" to \"100%\"" },
		{ "4294967321%", 0, FAILS, "must be \"0%\" to \"100%\"" },
		{ "25", 0, FAILS, "must be whole per cent, as in \"25%\"" },
		{ "2.5%", 0, FAILS, "must be whole per cent, as in \"25%\"" },
		{ "-1%", 0, FAILS, "must not be negative" },
		{ "%", 0, FAILS, "must start with a number" },
	};
	static const struct row counts[] = {
		{ "1", 0, 1, NULL },
		{ "064", 0, 64, NULL },
		{ "0", 0, FAILS, "must be 1 to 64" },
		{ "65", 0, FAILS, "must be 1 to 64" },
		{ "1x", 0, FAILS, "must be a whole number" },
		{ "-1", 0, FAILS, "must not be negative" },
		{ "18446744073709551617", 0, FAILS, "too large a number" },
	};

	(void)state;
	run(percents, LEN(percents), percent_fn);
	run(counts, LEN(counts), count_fn);
}

static void formats(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text, *exact;
	} sizes_out[] = {
		{ 0, "0", "0" },
		{ 1000, "1K", "1000" },
		{ 512 * K * K, "512M", "512M" },
		{ 80 * K * K * K, "80G", "80G" },
		{ 1536 * K * K, "1.5G", "1536M" },
		{ 1740 * K * K * K, "1.7T", "1740G" },
		{ 1023 * K * K, "1023M", "1023M" },
		{ 1024 * K * K - 1, "1G", "1073741823" },
		{ 9 * K * K * K + 1000 * K * K, "10G", "10216M" },
		{ 440 * K * K * K, "440G", "440G" },
		{ 2 * K * K * K * K, "2T", "2T" },
		{ 2048 * K * K * K * K, "2048T", "2048T" },
		{ UINT64_MAX, "16777216T", "18446744073709551615" },
	};
	static const struct {
		uint64_t s;
		const char *text, *exact;
	} times_out[] = {
		{ 0, "0:00", "0s" },
		{ 41, "0:41", "41s" },
		{ 60, "1:00", "60s" },
		{ 120, "2:00", "2m" },
		{ 150, "2:30", "150s" },
		{ 3599, "59:59", "3599s" },
		{ 3600, "1:00:00", "1:00:00" },
		{ 25610, "7:06:50", "7:06:50" },
		{ 86399, "23:59:59", "23:59:59" },
		{ 2 * 86400, "2-00:00:00", "2-00:00:00" },
		{ 100 * 86400 + 1, "100-00:00:01", "100-00:00:01" },
	};
	char buf[UNITS_TEXT], other[UNITS_TEXT];

	(void)state;
	for (size_t i = 0; i < LEN(sizes_out); i++) {
		uint64_t again;

		assert_string_equal(size_format(buf, sizes_out[i].bytes), sizes_out[i].text);
		assert_string_equal(size_format_exact(buf, sizes_out[i].bytes), sizes_out[i].exact);
		if (sizes_out[i].bytes % K == 0) {
			assert_int_equal(size_parse(buf, SIZE_BARE_REFUSED, &again, NULL), 0);
			assert_int_equal(again, sizes_out[i].bytes);
		}
	}
	assert_string_equal(size_format_mb(buf, 24 * K), "24G");
	assert_string_equal(size_format_mb(buf, UINT64_MAX), "16777216T");
	size_format_two(buf, other, 40961, 40960);
	assert_string_equal(buf, "40961M");
	assert_string_equal(other, "40960M");
	size_format_two(buf, other, 41984, 40960);
	assert_string_equal(buf, "41G");
	assert_string_equal(other, "40G");
	/* The most is never more than it is. */
	size_format_two(buf, other, 102400, 80535);
	assert_string_equal(buf, "100G");
	assert_string_equal(other, "78G");
	assert_string_equal(size_format_left(buf, 80535), "78G");
	assert_string_equal(size_format_left(buf, 80 * K), "80G");
	assert_string_equal(size_format_left(buf, 10 * K - 1), "9.9G");
	assert_string_equal(size_format_left(buf, 1023), "1023M");
	assert_string_equal(size_format_left(buf, 0), "0");
	size_format_two(buf, other, 40960, 40960);
	assert_string_equal(buf, "40G");
	assert_string_equal(share_format(buf, 0, 0), "");
	assert_string_equal(share_format(buf, 20480, 0), "20G");
	assert_string_equal(share_format(buf, 0, 250), "25%");
	assert_string_equal(share_format(buf, 20480, 125), "20G,12.5%");
	assert_string_equal(share_format(buf, UINT64_MAX, UINT32_MAX), "16777216T,429496729.5%");
	for (size_t i = 0; i < LEN(times_out); i++) {
		uint64_t again;

		assert_string_equal(duration_format(buf, times_out[i].s), times_out[i].text);
		assert_string_equal(
		        duration_format_exact(buf, times_out[i].s * 1000), times_out[i].exact);
		assert_int_equal(duration_parse(buf, DURATION_BARE_REFUSED, &again, NULL), 0);
		assert_int_equal(again, times_out[i].s);
	}
	assert_string_equal(duration_format(buf, DURATION_FOREVER), "UNLIMITED");
	assert_string_equal(duration_format_exact(buf, DURATION_FOREVER), "unlimited");
	assert_string_equal(duration_format_exact(buf, 250), "250ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(durations),
		cmocka_unit_test(percents_and_counts),
		cmocka_unit_test(formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
