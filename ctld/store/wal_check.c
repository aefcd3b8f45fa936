/* wal_check.c - see wal_check.h
 *
 * The format is SQLite's (https://www.sqlite.org/fileformat2.html#walformat): a head of 32 bytes,
 * {magic, version, page size, checkpoints, salt 1, salt 2, sum 1, sum 2}, then frames: a head of 24
 * bytes, {page, size of the database behind a commit or 0, salt 1, salt 2, sum 1, sum 2}, and a
 * page. A sum goes on from the one before it, over the first 8 bytes of the frame's head and the
 * page, as pairs of words (a, b): s1 += a + s2; s2 += b + s1. The words are big-endian in it or
 * little-endian, as the magic says.
 */
#include "config.h"

#include "ctld/store/wal_check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define HEAD          32
#define HEAD_SUMMED   24
#define FRAME_HEAD    24
#define FRAME_SUMMED  8
#define SALTS_AT      8
#define SUMS_AT       16
#define MAGIC         0x377f0682u /* +1: sums of big-endian words */
#define PAGE_MIN      512
#define PAGE_MAX      65536
#define LOOKS         3 /* at a log that is damaged */

struct sums {
	uint32_t s1, s2;
};

struct wal {
	sqlite3_file *file;
	sqlite3_int64 size;
	bool big_endian;
	unsigned page_size;
	uint8_t salts[8];
	struct sums head; /* where the first frame's go on from */
	uint8_t *frame, *next;
	uint32_t number; /* the frame that is looked at; 0: the head */
};

enum verdict { WAL_GOOD, WAL_EMPTY, WAL_BIT, WAL_DAMAGED, WAL_UNREADABLE };

static uint32_t word(const uint8_t *p, bool big_endian)
{
	return big_endian ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
	                  : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static struct sums stored_sums(const uint8_t *p)
{
	return (struct sums){ word(p, true), word(p + 4, true) };
}

static bool same(struct sums a, struct sums b)
{
	return a.s1 == b.s1 && a.s2 == b.s2;
}

static struct sums sum_on(struct sums s, const uint8_t *p, size_t n, bool big_endian)
{
	for (size_t i = 0; i < n; i += 8) {
		s.s1 += word(p + i, big_endian) + s.s2;
		s.s2 += word(p + i + 4, big_endian) + s.s1;
	}
	return s;
}

/* ---- frames ---- */

static bool is_commit(const uint8_t *frame)
{
	return word(frame + 4, true) != 0;
}

static bool has_salts(const struct wal *wal, const uint8_t *frame)
{
	return !memcmp(frame + SALTS_AT, wal->salts, sizeof(wal->salts));
}

static struct sums sum_frame(const struct wal *wal, struct sums before, const uint8_t *frame)
{
	struct sums s = sum_on(before, frame, FRAME_SUMMED, wal->big_endian);

	return sum_on(s, frame + FRAME_HEAD, wal->page_size, wal->big_endian);
}

static bool fits(const struct wal *wal, struct sums before, const uint8_t *frame)
{
	return has_salts(wal, frame) && word(frame, true) != 0 &&
	       same(sum_frame(wal, before, frame), stored_sums(frame + SUMS_AT));
}

/* ---- one wrong bit ---- */

static bool is_bit(uint64_t x)
{
	return x && (x & (x - 1)) == 0;
}

/* Could one bit of these words be that by which the sums are off? A word that is more by d makes the
 * sums more by d times its weight: (0, 1) for the last word, and (y, x + y) for the one before a
 * word of weight (x, y). The weight goes on to the word before these. Which bit it is does not
 * follow: bits high in their words have the same effect in many places. */
static bool could_be_bit_of(const struct wal *wal, struct sums off, const uint8_t *p, size_t n,
        struct sums *weight)
{
	for (; n; n -= 4) {
		uint32_t w = word(p + n - 4, wal->big_endian);

		for (unsigned bit = 0; bit < 32; bit++) {
			uint32_t d = w >> bit & 1 ? -(1u << bit) : 1u << bit;

			if (off.s1 == d * weight->s1 && off.s2 == d * weight->s2)
				return true;
		}
		*weight = (struct sums){ weight->s2, weight->s1 + weight->s2 };
	}
	return false;
}

/* Of a frame that does not fit: would it with one bit changed? */
static bool fits_but_one_bit(const struct wal *wal, struct sums before, const uint8_t *frame)
{
	struct sums is = stored_sums(frame + SUMS_AT), should = sum_frame(wal, before, frame);
	struct sums off = { is.s1 - should.s1, is.s2 - should.s2 }, weight = { 0, 1 };
	uint64_t salts, other;

	if (!has_salts(wal, frame)) {
		memcpy(&salts, wal->salts, sizeof(salts));
		memcpy(&other, frame + SALTS_AT, sizeof(other));
		return same(is, should) && is_bit(salts ^ other);
	}
	if (is_bit((uint64_t)(is.s1 ^ should.s1) << 32 | (is.s2 ^ should.s2)))
		return true;
	return could_be_bit_of(wal, off, frame + FRAME_HEAD, wal->page_size, &weight) ||
	       could_be_bit_of(wal, off, frame, FRAME_SUMMED, &weight);
}

/* ---- the log ---- */

static sqlite3_int64 frame_at(const struct wal *wal, uint32_t number)
{
	return HEAD + (sqlite3_int64)(number - 1) * (FRAME_HEAD + wal->page_size);
}

static int read_at(const struct wal *wal, void *to, int n, sqlite3_int64 at)
{
	return wal->file->pMethods->xRead(wal->file, to, n, at);
}

/* 1: there it is; 0: the log ends before its end; -1. */
static int read_frame(const struct wal *wal, uint8_t *frame, uint32_t number)
{
	sqlite3_int64 at = frame_at(wal, number);
	int n = FRAME_HEAD + (int)wal->page_size;

	if (at + n > wal->size)
		return 0;
	return read_at(wal, frame, n, at) == SQLITE_OK ? 1 : -1;
}

/* A commit may be repeated up to the end of a sector: that is no transaction of its own. */
static bool is_repeated(const struct wal *wal, const uint8_t *frame, const uint8_t *next)
{
	return !memcmp(frame, next, FRAME_SUMMED) &&
	       !memcmp(frame + FRAME_HEAD, next + FRAME_HEAD, wal->page_size);
}

/* Of a frame that does not fit: would it, with one bit changed, and end a transaction? */
static bool commits_but_one_bit(const struct wal *wal, struct sums before, uint8_t *frame)
{
	for (unsigned bit = 0; bit < 32; bit++) {
		uint8_t *byte = frame + 4 + bit / 8;
		bool does, commits;

		*byte ^= (uint8_t)(1u << bit % 8);
		does = fits(wal, before, frame);
		commits = is_commit(frame);
		*byte ^= (uint8_t)(1u << bit % 8);
		if (does)
			return commits;
	}
	return is_commit(frame) && fits_but_one_bit(wal, before, frame);
}

/* Does a transaction end in this frame, which does not fit, or behind it, with one more after it?
 * That a frame ends one is believed only where the frame fits: a power cut may have torn its head,
 * so that it has the size from an older log and the rest from this one. */
static int has_later_transaction(struct wal *wal, struct sums before, uint32_t number)
{
	struct sums stored, right;
	bool commits, next_fits;
	int rc = read_frame(wal, wal->frame, number);

	if (rc <= 0)
		return rc;
	commits = commits_but_one_bit(wal, before, wal->frame);
	right = sum_frame(wal, before, wal->frame); /* its own may be what is wrong */
	while ((rc = read_frame(wal, wal->next, ++number)) > 0) {
		uint8_t *swap = wal->frame;

		stored = stored_sums(wal->frame + SUMS_AT);
		next_fits = fits(wal, stored, wal->next) || fits(wal, right, wal->next);
		if (commits && next_fits && !is_repeated(wal, wal->frame, wal->next))
			return 1;
		commits = next_fits && is_commit(wal->next);
		wal->frame = wal->next;
		wal->next = swap;
		right = stored_sums(wal->frame + SUMS_AT);
	}
	return rc;
}

static enum verdict check_frames(struct wal *wal)
{
	struct sums sums = wal->head;
	bool one_bit;
	int rc;

	for (wal->number = 1; (rc = read_frame(wal, wal->frame, wal->number)) > 0; wal->number++) {
		if (!fits(wal, sums, wal->frame))
			break;
		sums = stored_sums(wal->frame + SUMS_AT);
	}
	if (rc == 0)
		return WAL_GOOD;
	one_bit = rc > 0 && fits_but_one_bit(wal, sums, wal->frame);
	if (rc > 0)
		rc = has_later_transaction(wal, sums, wal->number);
	return rc < 0 ? WAL_UNREADABLE : rc ? WAL_DAMAGED : one_bit ? WAL_BIT : WAL_GOOD;
}

static bool take_head(struct wal *wal, const uint8_t head[HEAD])
{
	static const struct sums none;
	uint32_t magic = word(head, true);

	wal->big_endian = magic & 1;
	wal->page_size = word(head + 8, true);
	memcpy(wal->salts, head + 16, sizeof(wal->salts));
	wal->head = sum_on(none, head, HEAD_SUMMED, wal->big_endian);
	return (magic & ~1u) == MAGIC && wal->page_size >= PAGE_MIN && wal->page_size <= PAGE_MAX &&
	       (wal->page_size & (wal->page_size - 1)) == 0 &&
	       same(wal->head, stored_sums(head + HEAD_SUMMED));
}

static enum verdict check_head(struct wal *wal)
{
	static const uint8_t zeros[HEAD];
	uint8_t head[HEAD];

	wal->number = 0;
	if (read_at(wal, head, HEAD, 0) != SQLITE_OK)
		return WAL_UNREADABLE;
	if (take_head(wal, head))
		return WAL_GOOD;
	return memcmp(head, zeros, HEAD) ? WAL_DAMAGED : WAL_EMPTY;
}

static enum verdict check(struct wal *wal)
{
	enum verdict verdict;

	if (wal->file->pMethods->xFileSize(wal->file, &wal->size) != SQLITE_OK)
		return WAL_UNREADABLE;
	if (wal->size < HEAD + FRAME_HEAD + PAGE_MIN)
		return WAL_EMPTY;
	verdict = check_head(wal);
	if (verdict != WAL_GOOD)
		return verdict;
	wal->frame = xcalloc(1, FRAME_HEAD + wal->page_size);
	wal->next = xcalloc(1, FRAME_HEAD + wal->page_size);
	verdict = check_frames(wal);
	free(wal->frame);
	free(wal->next);
	return verdict;
}

static int damaged(const struct wal *wal, enum verdict verdict, struct error *err)
{
	if (verdict == WAL_UNREADABLE)
		return error_set(err, ERR_SYSTEM, "the log cannot be read");
	if (verdict == WAL_BIT) {
		error_set(err, ERR_SYSTEM,
		        "the log is damaged in its last transaction: frame %u (byte %lld on) has "
		        "one wrong bit",
		        (unsigned)wal->number, (long long)frame_at(wal, wal->number));
		return error_hint(err, "a start goes on without that transaction");
	}
	if (wal->number)
		error_set(err, ERR_SYSTEM,
		        "the log is damaged in frame %u (byte %lld on), and commits follow",
		        (unsigned)wal->number, (long long)frame_at(wal, wal->number));
	else
		error_set(err, ERR_SYSTEM, "the log is damaged in its head");
	return error_hint(err, "it is left as it is; restore a backup, then start with --takeover");
}

/* What another process is writing looks damaged now and then: what is damaged stays so. */
static enum verdict check_open(struct wal *wal)
{
	enum verdict verdict = WAL_DAMAGED;

	for (int i = 0; i < LOOKS && (verdict == WAL_DAMAGED || verdict == WAL_BIT); i++)
		verdict = check(wal);
	return verdict;
}

int wal_check(sqlite3_vfs *vfs, const char *path, bool *cut_short, struct error *err)
{
	/* SQLite's own names are followed by zeros: there are no parameters. */
	char *name = xasprintf("%s-wal%c%c%c", path, 0, 0, 0);
	struct wal wal = { .file = xcalloc(1, (size_t)vfs->szOsFile) };
	int flags = SQLITE_OPEN_WAL | SQLITE_OPEN_READONLY, exists = 0;
	enum verdict verdict = WAL_EMPTY;

	if (vfs->xAccess(vfs, name, SQLITE_ACCESS_EXISTS, &exists) == SQLITE_OK && exists)
		verdict = vfs->xOpen(vfs, name, wal.file, flags, &flags) == SQLITE_OK
		                  ? check_open(&wal)
		                  : WAL_UNREADABLE;
	if (wal.file->pMethods)
		wal.file->pMethods->xClose(wal.file);
	if (cut_short && verdict == WAL_BIT) {
		*cut_short = true;
		verdict = WAL_GOOD;
	}
	if (verdict != WAL_GOOD && verdict != WAL_EMPTY) {
		damaged(&wal, verdict, err);
		error_wrap(err, "%s", name);
	}
	free(wal.file);
	free(name);
	return verdict == WAL_GOOD || verdict == WAL_EMPTY ? 0 : -1;
}
