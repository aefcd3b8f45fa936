/* main.c - replay inputs through a fuzz harness, and change them, where libFuzzer is not linked
 *
 * usage: fuzz_NAME FILE...   Each file is one input; a crash names itself by the last line printed.
 * FUZZ_MUTATIONS=N also tries N changed ones of each file (those before FUZZ_FIRST left out),
 * always the same ones: number K is made of K and all files that were named. FUZZ_ONLY=K tries but
 * that one. With --enable-fuzz the harnesses have libFuzzer's own main instead, which takes the
 * same files.
 */
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/splitmix.h"
#include "testsuite/fuzz/fuzz.h"

#define GROWS_BY 4096 /* what changes may add to an input */

struct input {
	const char *path;
	uint8_t *bytes;
	size_t len;
};

/* The one under way, for whoever dies of it. */
static const char *path_now = "";
static unsigned long mutation_now;

static void say_which(void)
{
	char line[512];
	int n = snprintf(
	        line, sizeof(line), "\nthis was %s, FUZZ_ONLY=%lu\n", path_now, mutation_now);

	if (n > 0)
		(void)!write(STDERR_FILENO, line, (size_t)n);
}

static void on_signal(int sig)
{
	say_which();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The sanitizers end a process in their own way. */
void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static int read_file(const char *path, struct input *in)
{
	FILE *f = fopen(path, "rb");
	size_t cap = 0, got;

	*in = (struct input){ .path = path };
	if (!f) {
		perror(path);
		return -1;
	}
	do {
		if (in->len == cap)
			in->bytes = realloc(in->bytes, cap = cap ? cap * 2 : 4096);
		if (!in->bytes)
			abort();
		got = fread(in->bytes + in->len, 1, cap - in->len, f);
		in->len += got;
	} while (got);
	fclose(f);
	return 0;
}

/* In a block of its own size, so that a sanitizer sees the first byte too far. */
static void run(const uint8_t *bytes, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);

	if (!exact)
		abort();
	if (len)
		memcpy(exact, bytes, len);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
}

/* --- changes ------------------------------------------------------------------------------- */

static size_t below(uint64_t *state, size_t n)
{
	return n ? splitmix_next(state) % n : 0;
}

/* Room of GROWS_BY behind the longest input. */
struct change {
	uint8_t *b;
	size_t len, room;
	uint64_t state;
};

static void cut(struct change *c, size_t at, size_t n)
{
	memmove(c->b + at, c->b + at + n, c->len - at - n);
	c->len -= n;
}

static void insert(struct change *c, size_t at, const void *bytes, size_t n)
{
	if (n > c->room - c->len)
		return;
	memmove(c->b + at + n, c->b + at, c->len - at);
	memcpy(c->b + at, bytes, n);
	c->len += n;
}

static void insert_word(struct change *c, size_t at)
{
	static const char *const words[] = { "0", "-1", "%0", "4294967295", "4294967296",
		"18446744073709551616", "99999999999999999999999", "[", "]", "[1-",
		"[0-4294967295]", ",", "-", ":", "\"", "\\", "\n", "\r\n", "\x1b[31m",
		"\xff\xff\xff\xff", "%s%n", "(", "{", "&", "|", "\xe2\x80\xae", "\xc0\x80" };
	const char *w = words[below(&c->state, sizeof(words) / sizeof(words[0]))];

	insert(c, at, w, strlen(w));
}

static void change_once(struct change *c, const struct input *all, size_t n_all)
{
	static const uint8_t extremes[] = { 0, 1, 0x7f, 0x80, 0xff, 0xfe, '\n', '"', ' ' };
	size_t at = below(&c->state, c->len + 1), n = below(&c->state, 64);
	const struct input *other = &all[below(&c->state, n_all)];

	if (at == c->len && at > 0)
		at--;
	if (n > c->len - at)
		n = c->len - at;
	switch (below(&c->state, 8)) {
	case 0:
		if (c->len)
			c->b[at] ^= (uint8_t)(1u << below(&c->state, 8));
		break;
	case 1:
		if (c->len)
			c->b[at] = extremes[below(&c->state, sizeof(extremes))];
		break;
	case 2:
		cut(c, at, n);
		break;
	case 3:
		c->len = at;
		break;
	case 4: /* twice */
		if (n <= c->room - c->len) {
			memmove(c->b + at + n, c->b + at, c->len - at);
			c->len += n;
		}
		break;
	case 5: /* a piece of another one */
		if (other->len) {
			size_t from = below(&c->state, other->len), len = other->len - from;

			insert(c, at, other->bytes + from, len < 64 ? len : 64);
		}
		break;
	case 6:
		for (size_t i = 0; i < n && i < 8; i++)
			c->b[at + i] = (uint8_t)splitmix_next(&c->state);
		break;
	default:
		insert_word(c, at);
	}
}

static void mutate(
        struct change *c, const struct input *all, size_t n_all, size_t which, unsigned long k)
{
	size_t changes;

	path_now = all[which].path;
	mutation_now = k;
	c->state = k * 1000003 + which;
	c->len = all[which].len;
	if (c->len)
		memcpy(c->b, all[which].bytes, c->len);
	for (changes = 1 + below(&c->state, 6); changes > 0; changes--)
		change_once(c, all, n_all);
	run(c->b, c->len);
}

static unsigned long from_environment(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 10) : 0;
}

static void replay(const struct input *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		printf("%s\n", all[i].path);
		fflush(stdout);
		path_now = all[i].path;
		run(all[i].bytes, all[i].len);
	}
}

static void mutate_all(const struct input *all, size_t n)
{
	unsigned long first = from_environment("FUZZ_FIRST"),
	              last = from_environment("FUZZ_MUTATIONS");
	struct change c = { .room = GROWS_BY };

	if (from_environment("FUZZ_ONLY"))
		first = last = from_environment("FUZZ_ONLY");
	first = first ? first : 1; /* 0 would be none: as the file is */
	for (size_t i = 0; i < n; i++)
		c.room = c.room > all[i].len + GROWS_BY ? c.room : all[i].len + GROWS_BY;
	c.b = malloc(c.room);
	if (!c.b)
		abort();
	for (size_t i = 0; i < n; i++)
		for (unsigned long k = first; k <= last; k++)
			mutate(&c, all, n, i, k);
	free(c.b);
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? (size_t)argc - 1 : 0;
	struct input *all = calloc(n + 1, sizeof(*all));
	int failed = argc < 2;

	if (failed)
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
	if (!all)
		abort();
	signal(SIGABRT, on_signal);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(say_which);
	else
		signal(SIGSEGV, on_signal);
	for (size_t i = 0; i < n; i++)
		failed |= read_file(argv[i + 1], &all[i]) < 0;
	if (!failed) {
		replay(all, n);
		mutate_all(all, n);
	}
	for (size_t i = 0; i < n; i++)
		free(all[i].bytes);
	free(all);
	return failed;
}
