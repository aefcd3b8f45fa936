/* gprobe_messages.c - see gprobe_messages.h */
#include "noded/shepherd/gprobe_messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/each.h"
#include "common/base/text.h"

#define REQUESTS_MAX 1e9 /* in flight */
#define KV_MILLI_MAX 1000
#define DIGITS_MAX   24 /* of a number */

void replica_init(struct replica *r, int fd)
{
	*r = (struct replica){ .fd = fd, .health = HEALTH_LOADING, .told = HEALTH_LOADING };
}

/* What is passed on. */
static enum replica_health shown(const struct replica *r)
{
	return r->health == HEALTH_READY && r->hidden ? HEALTH_UNREADY : r->health;
}

static const char *shown_text(const struct replica *r)
{
	return r->health == HEALTH_READY && r->hidden ? r->hidden : r->text;
}

/* Something that shown() depends on has changed. */
static void count_ready(struct replica *r, struct clocks now)
{
	if (shown(r) == HEALTH_READY) {
		if (!r->ready_time)
			r->ready_time = now.wall;
		if (!r->ready_since)
			r->ready_since = now.mono;
	} else if (r->ready_since) {
		r->ready_us += now.mono - r->ready_since;
		r->ready_since = 0;
	}
}

void replica_hide(struct replica *r, const char *why, struct clocks now)
{
	if (r->hidden == why)
		return;
	r->hidden = why;
	count_ready(r, now);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The next word of the line, at most `size` - 1 bytes; false: there is none, or a longer one. */
static bool take_word(const char **at, const char *end, char *word, size_t size)
{
	const char *stop = memchr(*at, ' ', (size_t)(end - *at));
	size_t len = (size_t)((stop ? stop : end) - *at);

	if (len == 0 || len >= size)
		return false;
	memcpy(word, *at, len);
	word[len] = '\0';
	*at = stop ? stop + 1 : end;
	return true;
}

static void take_text(const char *at, const char *end, char text[REPLICA_TEXT_MAX + 1])
{
	text_escape(text, REPLICA_TEXT_MAX + 1, at, (size_t)(end - at));
}

static bool take_health(struct replica *r, const char *at, const char *end, struct clocks now)
{
	static const char *const words[] = {
		[HEALTH_LOADING] = "loading", [HEALTH_READY] = "ready", [HEALTH_UNREADY] = "unready"
	};
	char word[16];

	if (!take_word(&at, end, word, sizeof(word)))
		return false;
	for (int h = HEALTH_LOADING; h <= HEALTH_LAST; h++) {
		if (strcmp(word, words[h]) != 0)
			continue;
		if (h == HEALTH_LOADING && r->health != HEALTH_LOADING)
			return false; /* it was READY already */
		r->health = (enum replica_health)h;
		take_text(at, end, r->text);
		if (h == HEALTH_READY)
			r->text[0] = '\0';
		count_ready(r, now);
		return true;
	}
	return false;
}

/* A number that may have a fraction, in thousandths. */
static bool take_milli(const char **at, const char *end, double most, uint64_t *out)
{
	char word[DIGITS_MAX], *stop;
	double n;

	if (!take_word(at, end, word, sizeof(word)) || word[strspn(word, "0123456789.")] != '\0')
		return false;
	n = strtod(word, &stop);
	if (*stop != '\0' || !(n <= most))
		return false;
	*out = (uint64_t)(n * 1000 + 0.5);
	return true;
}

static bool take_number(const char **at, const char *end, uint64_t most, uint64_t *out)
{
	char word[DIGITS_MAX];

	if (!take_word(at, end, word, sizeof(word)) || word[strspn(word, "0123456789")] != '\0')
		return false;
	errno = 0;
	*out = strtoull(word, NULL, 10);
	return errno == 0 && *out <= most;
}

static bool take_load(struct replica *r, const char *at, const char *end, struct clocks now)
{
	struct run_load load = { .known = true };
	uint64_t kv = 0;

	if (end - at == 7 && memcmp(at, "unknown", 7) == 0) {
		load = (struct run_load){ .requests = r->load.requests, .tokens = r->load.tokens };
	} else if (!take_milli(&at, end, REQUESTS_MAX, &load.running_milli) ||
	           !take_milli(&at, end, REQUESTS_MAX, &load.waiting_milli) ||
	           !take_number(&at, end, KV_MILLI_MAX, &kv) ||
	           !take_number(&at, end, INT64_MAX, &load.requests) ||
	           !take_number(&at, end, INT64_MAX, &load.tokens) || at != end) {
		return false;
	} else {
		load.kv_milli = (uint32_t)kv;
	}
	r->load_new = r->load_new || !r->load_time || !run_load_equal(&load, &r->load) ||
	              now.mono - r->load_told_at >= REPLICA_AGAIN;
	r->load = load;
	r->load_time = now.wall;
	return true;
}

bool replica_line(struct replica *r, const char *line, size_t len, struct clocks now)
{
	const char *at = line, *end = line + len;
	char word[8];

	if (!take_word(&at, end, word, sizeof(word)))
		return false;
	if (strcmp(word, "health") == 0)
		return take_health(r, at, end, now);
	if (strcmp(word, "load") == 0)
		return take_load(r, at, end, now);
	if (strcmp(word, "end") != 0 || at == end)
		return false;
	take_text(at, end, r->end);
	return true;
}

static void take_bytes(struct replica *r, const char *b, size_t n, struct clocks now)
{
	for (size_t i = 0; i < n; i++) {
		if (b[i] == '\n') {
			if (!r->overlong)
				replica_line(r, r->line, r->len, now);
			r->len = 0;
			r->overlong = false;
		} else if (r->len < sizeof(r->line) - 1) {
			r->line[r->len++] = b[i];
		} else {
			r->overlong = true;
		}
	}
}

void replica_read(struct replica *r, struct clocks now)
{
	char b[REPLICA_READ];
	ssize_t n;

	if (r->fd < 0 || now.mono < r->read_next)
		return;
	n = read(r->fd, b, sizeof(b));
	if (n > 0) {
		r->read_next = now.mono + REPLICA_READ_PAUSE;
		take_bytes(r, b, (size_t)n, now);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(r->fd);
		r->fd = -1;
	}
}

int replica_poll_fd(const struct replica *r, usec_t mono)
{
	return mono >= r->read_next ? r->fd : -1;
}

/* --- passing it on ---------------------------------------------------------------------------- */

/* When what is new may be passed on; INT64_MAX: nothing is new. */
static usec_t tell_at(const struct replica *r)
{
	usec_t at = INT64_MAX, load = r->load_told_at + REPLICA_PAUSE;

	if (!replica_is(r))
		return INT64_MAX;
	if (shown(r) != r->told)
		at = r->changes_until - (REPLICA_BURST - 1) * REPLICA_PAUSE;
	else if (strcmp(shown_text(r), r->told_text) != 0)
		at = r->told_at + REPLICA_TEXT_PAUSE;
	return r->load_new && load < at ? load : at;
}

bool replica_due(const struct replica *r, usec_t mono)
{
	return mono >= tell_at(r);
}

void replica_told(struct replica *r, usec_t mono)
{
	const char *text = shown_text(r);

	if (shown(r) != r->told)
		r->changes_until =
		        (r->changes_until > mono ? r->changes_until : mono) + REPLICA_PAUSE;
	if (shown(r) != r->told || strcmp(text, r->told_text) != 0)
		r->told_at = mono;
	r->told = shown(r);
	memcpy(r->told_text, text, strlen(text) + 1);
	if (r->load_new)
		r->load_told_at = mono;
	r->load_new = false;
}

usec_t replica_next(const struct replica *r, usec_t mono)
{
	usec_t at = tell_at(r);

	if (r->fd >= 0 && r->read_next > mono && r->read_next < at)
		return r->read_next;
	return at;
}

void replica_fill(const struct replica *r, Gpusched__Replica *m)
{
	gpusched__replica__init(m);
	m->health = (Gpusched__Replica__Health)shown(r);
	m->text = (char *)(uintptr_t)shown_text(r);
	m->ready_time = r->ready_time;
	m->ready_us = (uint64_t)r->ready_us;
	m->requests = r->load.requests;
	m->tokens = r->load.tokens;
}

bool replica_fill_load(const struct replica *r, Gpusched__RunLoad *load)
{
	if (!r->load_time)
		return false;
	gpusched__run_load__init(load);
	load->known = r->load.known;
	load->running = (double)r->load.running_milli / 1000;
	load->waiting = (double)r->load.waiting_milli / 1000;
	COPY_FIELDS(load, &r->load, kv_milli, requests, tokens);
	load->time = r->load_time;
	return true;
}

void replica_fill_end(const struct replica *r, usec_t mono, Gpusched__Replica *m)
{
	replica_fill(r, m);
	m->health = (Gpusched__Replica__Health)r->health;
	m->text = (char *)(uintptr_t)r->end;
	if (r->ready_since)
		m->ready_us += (uint64_t)(mono - r->ready_since);
}
