/* page_checksums.h - a sum in each page of a database file
 *
 * A VFS of SQLite's that stands before another one. The last 8 bytes of each page of the main file
 * are reserved (SQLITE_FCNTL_RESERVE_BYTES) and hold the SipHash-2-4 of the bytes before them,
 * keyed with the page's number: a bit that has fallen over is found, and so is a page in another
 * one's place. A page is summed when it is written to the main file, so at a checkpoint, and
 * checked each time it is read from there: a damaged one is SQLITE_IOERR_DATA and never reaches
 * SQLite's cache. Every page has been written once, except the one that SQLite keeps for its
 * locks: a page of zeros is damaged too.
 *
 * The log is not touched: SQLite sums its frames itself, and wal_check.h looks at them before
 * SQLite does.
 *
 * The head of a file says whether it has sums: byte 20 is 8, or 0 in a file that an older version
 * made without them. That byte is believed only together with the sum of the first page, which is
 * tried with an 8 in that place whatever is there.
 *
 * One of these serves one connection, by its thread.
 */
#ifndef CTLD_STORE_PAGE_CHECKSUMS_H
#define CTLD_STORE_PAGE_CHECKSUMS_H

#include <stdbool.h>
#include <stdint.h>

#define PAGES_RESERVE 8

struct pages;

/* Before the VFS of that name (NULL: the usual one); NULL: there is none. */
struct pages *pages_new(const char *vfs);
/* After the connection was closed. NULL is fine. */
void pages_free(struct pages *pages);
const char *pages_vfs(const struct pages *pages); /* the name to open a file with */

/* UNKNOWN: until the first page is read from the main file, or it is told. Meanwhile no other page
 * can be read. */
enum pages_sums { PAGES_UNKNOWN, PAGES_PLAIN, PAGES_SUMMED };
enum pages_sums pages_sums(const struct pages *pages); /* of NULL: PLAIN */
void pages_set_sums(struct pages *pages, enum pages_sums sums);

/* The main file; also where there is none: SQLite makes a temporary one of the path "". */
bool pages_is_empty(const struct pages *pages);

/* The page that was found damaged last; 0: none was, or NULL. */
uint32_t pages_damaged(const struct pages *pages);
void pages_forget_damaged(struct pages *pages);

/* Read up to `n` pages of the main file from *next (1: the first) on, past SQLite's cache, and move
 * *next behind them. 1: there is more; 0: that was all, or the file has no sums; -1: page *next is
 * damaged, or cannot be read. */
int pages_scan(struct pages *pages, uint32_t *next, unsigned n);

#endif
