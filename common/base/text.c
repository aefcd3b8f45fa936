/* text.c - see text.h */
#include "common/base/text.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/xalloc.h"

/* Characters that are valid UTF-8 and yet not plain. */
static const struct {
	uint32_t first, last;
} not_plain[] = {
	{ 0x0000, 0x001f }, /* C0 */
	{ 0x007f, 0x009f }, /* DEL, C1 */
	{ 0x2028, 0x2029 }, /* line and paragraph separator */
	{ 0x202a, 0x202e }, /* bidirectional embeddings and overrides */
	{ 0x2066, 0x2069 }, /* bidirectional isolates */
};

/* The character at `s` in *c and its length, or 0 if no valid one starts there (RFC 3629: shortest
 * form, no surrogates, up to U+10FFFF). */
static size_t utf8_read(const unsigned char *s, size_t n, uint32_t *c)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = {
		{ 0x80, 0x00, 0 },
		{ 0xe0, 0xc0, 0x80 },
		{ 0xf0, 0xe0, 0x800 },
		{ 0xf8, 0xf0, 0x10000 },
	};

	for (size_t len = 1; len <= sizeof(forms) / sizeof(forms[0]); len++) {
		if ((s[0] & forms[len - 1].mask) != forms[len - 1].lead)
			continue;
		if (len > n)
			return 0;
		*c = s[0] & (unsigned char)~forms[len - 1].mask;
		for (size_t i = 1; i < len; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			*c = *c << 6 | (s[i] & 0x3f);
		}
		if (*c < forms[len - 1].least || *c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
			return 0;
		return len;
	}
	return 0;
}

/* The length of the plain character at `s`, 0 if there is none. n > 0. */
static size_t plain_char(const char *s, size_t n)
{
	uint32_t c;
	size_t len = utf8_read((const unsigned char *)s, n, &c);

	for (size_t i = 0; len && i < sizeof(not_plain) / sizeof(not_plain[0]); i++) {
		if (c >= not_plain[i].first && c <= not_plain[i].last)
			return 0;
	}
	return len;
}

/* How many bytes from `s` on are printable ASCII, as nearly all of all texts are: eight at a time.
 * In a word without high bits a byte below 0x20 borrows, and 0x7f carries, into its own. */
static size_t ascii_prefix(const char *s, size_t n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	size_t at = 0;

	for (; n - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
		uint64_t x;

		memcpy(&x, s + at, sizeof(x));
		if ((x | (x - ones * 0x20) | (x + ones)) & high)
			break;
	}
	while (at < n && s[at] >= 0x20 && s[at] < 0x7f)
		at++;
	return at;
}

size_t text_plain_prefix(const char *s, size_t n)
{
	size_t at = ascii_prefix(s, n), len;

	while (at < n && (len = plain_char(s + at, n - at)) > 0) {
		at += len;
		at += ascii_prefix(s + at, n - at);
	}
	return at;
}

int text_check(const char *what, const char *s, size_t max, struct error *err)
{
	size_t n = strlen(s);
	char shown[160];

	if (n > max) {
		text_escape(shown, sizeof(shown), s, n);
		return error_set(
		        err, ERR_USAGE, "%s '%s': %zu bytes; at most %zu", what, shown, n, max);
	}
	if (text_plain_prefix(s, n) != n) {
		text_escape(shown, sizeof(shown), s, n);
		return error_set(err, ERR_USAGE,
		        "%s '%s': must be UTF-8 text without control characters", what, shown);
	}
	return 0;
}

size_t text_escape(char *buf, size_t size, const char *s, size_t n)
{
	static const char cut[] = "...";
	size_t out = 0, fits = 0; /* fits: where the text can end if "..." has to follow */

	if (n < size && ascii_prefix(s, n) == n) {
		memcpy(buf, s, n);
		buf[n] = '\0';
		return n;
	}
	for (size_t at = 0; at < n;) {
		char piece[8];
		size_t len = plain_char(s + at, n - at), plen = len;

		if (len) {
			memcpy(piece, s + at, len);
		} else {
			len = 1;
			plen = (size_t)snprintf(
			        piece, sizeof(piece), "\\x%02X", (unsigned char)s[at]);
		}
		if (out + plen >= size) {
			memcpy(buf + fits, cut, sizeof(cut));
			return fits + sizeof(cut) - 1;
		}
		memcpy(buf + out, piece, plen);
		out += plen;
		at += len;
		if (out + sizeof(cut) <= size)
			fits = out;
	}
	buf[out] = '\0';
	return out;
}

char *text_escape_dup(const char *s)
{
	size_t n = strlen(s), size = n * 4 + 8; /* each byte is at most \xNN */
	char *buf = xcalloc(size, 1);

	text_escape(buf, size, s, n);
	return buf;
}

char *text_trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	s[n] = '\0';
	return s;
}

/* Letters to change, add, drop or swap with their neighbour (optimal string alignment). Words
 * longer than the tables here are no one's typing mistake. */
#define WORD_MAX 48
static unsigned distance(const char *a, const char *b)
{
	unsigned d[WORD_MAX + 1][WORD_MAX + 1];
	size_t na = strlen(a), nb = strlen(b);

	if (na > WORD_MAX || nb > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= na; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= nb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			        d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[na][nb];
}

const char *text_nearest(const char *word, const char *const *names)
{
	const char *best = NULL;
	unsigned least = (unsigned)strlen(word) / 3 + 1;

	for (; *names; names++) {
		unsigned d = distance(word, *names);

		if (d < least) {
			least = d;
			best = *names;
		}
	}
	return best;
}

bool text_like(const char *pattern, const char *s)
{
	const char *star = NULL,
	           *from = NULL; /* behind the last "*", and what it stands for ends */

	while (*s) {
		if (*pattern == '*') {
			star = ++pattern;
			from = s;
		} else if (*pattern == '?' || *pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool text_among(const char *s, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s, v[i]))
			return true;
	return false;
}
