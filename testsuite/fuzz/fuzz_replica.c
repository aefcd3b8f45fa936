/* fuzz_replica.c - any bytes in place of what gprobe says to its shepherd
 *
 * Byte by byte the time passes. Whatever is said, texts stay plain and short, numbers within their
 * bounds, and no more is passed on than may be.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "noded/shepherd/gprobe_messages.h"
#include "testsuite/fuzz/fuzz.h"

#define PIECE 700
#define STEP  ((usec_t)50000)

static void check_text(const char *text)
{
	size_t n = strlen(text);

	FUZZ_CHECK(n <= REPLICA_TEXT_MAX && text_plain_prefix(text, n) == n);
}

static void check(const struct replica *r, usec_t mono)
{
	Gpusched__Replica m;
	Gpusched__RunLoad load;

	FUZZ_CHECK(r->health >= HEALTH_LOADING && r->health <= HEALTH_LAST);
	check_text(r->text);
	check_text(r->end);
	FUZZ_CHECK(r->ready_us >= 0 && r->ready_us <= mono);
	FUZZ_CHECK(replica_due(r, mono) == (replica_next(r, mono) <= mono));
	replica_fill(r, &m);
	check_text(m.text);
	FUZZ_CHECK((m.health == GPUSCHED__REPLICA__HEALTH__READY) == (r->ready_since != 0));
	if (replica_fill_load(r, &load))
		FUZZ_CHECK(load.running >= 0 && load.running <= 1e9 && load.waiting >= 0 &&
		           load.waiting <= 1e9 && load.kv_milli <= 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct replica r;
	usec_t mono = 100000000, began = mono;
	unsigned told = 0;
	int ends[2];

	FUZZ_CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
	replica_init(&r, ends[0]);
	for (size_t at = 0; at < n; at += PIECE) {
		size_t piece = n - at < PIECE ? n - at : PIECE;
		ssize_t sent = write(ends[1], data + at, piece);

		FUZZ_CHECK(sent == (ssize_t)piece || sent < 0);
		mono += STEP;
		replica_hide(
		        &r, data[at] & 64 ? "it is to end" : NULL, (struct clocks){ mono, mono });
		replica_read(&r, (struct clocks){ mono, mono });
		check(&r, mono);
		if (replica_due(&r, mono)) {
			replica_told(&r, mono);
			told++;
		}
	}
	/* Health once a second, load as often, and what may come at once. */
	FUZZ_CHECK(told <= 2 * (unsigned)((mono - began) / REPLICA_PAUSE + 1) + REPLICA_BURST + 1);
	close(ends[1]);
	mono += REPLICA_READ_PAUSE;
	for (int i = 0; i < 100 && r.fd >= 0; i++, mono += REPLICA_READ_PAUSE)
		replica_read(&r, (struct clocks){ mono, mono });
	FUZZ_CHECK(r.fd < 0);
	return 0;
}
