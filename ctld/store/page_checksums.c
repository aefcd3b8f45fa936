/* page_checksums.c - see page_checksums.h */
#include "config.h"

#include "ctld/store/page_checksums.h"

#include <assert.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define HEAD          100 /* bytes that SQLite reads by themselves */
#define HEAD_SIZE     16  /* of a page, 2 bytes; 1 means 65536 */
#define HEAD_RESERVE  20
#define PAGE_MIN      512
#define PAGE_MAX      65536
#define LOCK_BYTE     0x40000000 /* the page that has it is never written */
#define VFS_NAME_SIZE 40
#define SCAN_TRIES    3

#ifndef SQLITE_IOCAP_SUBPAGE_READ
#define SQLITE_IOCAP_SUBPAGE_READ 0x00008000
#endif

static_assert(PAGES_RESERVE == crypto_shorthash_BYTES, "a sum fills what is reserved");

struct pages {
	sqlite3_vfs vfs; /* first: SQLite's pointer is ours */
	char name[VFS_NAME_SIZE];
	struct page_file *main; /* NULL: not open */
	enum pages_sums sums;
	unsigned page_size; /* 0: not known yet */
	uint32_t damaged;
	uint8_t *room; /* for one page */
};

struct page_file {
	sqlite3_file base; /* first */
	struct pages *pages;
	bool is_main;
	sqlite3_file below[]; /* what the VFS behind has */
};

static sqlite3_vfs *below_vfs(const sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

/* ---- sums ---- */

static void sum_page(uint8_t sum[PAGES_RESERVE], const uint8_t *page, unsigned size, uint32_t number)
{
	uint8_t key[crypto_shorthash_KEYBYTES] = "gpusched page";

	for (unsigned i = 0; i < 4; i++)
		key[sizeof(key) - 4 + i] ^= (uint8_t)(number >> (8 * i));
	crypto_shorthash(sum, page, size - PAGES_RESERVE, key);
}

static bool has_sum(const uint8_t *page, unsigned size, uint32_t number)
{
	uint8_t sum[PAGES_RESERVE];

	sum_page(sum, page, size, number);
	return !memcmp(sum, page + size - PAGES_RESERVE, PAGES_RESERVE);
}

static bool is_page_size(unsigned n)
{
	return n >= PAGE_MIN && n <= PAGE_MAX && (n & (n - 1)) == 0;
}

/* The size of pages that a head tells of; 0: none that could be. */
static unsigned size_in_head(const uint8_t *head)
{
	unsigned n = (unsigned)head[HEAD_SIZE] << 8 | head[HEAD_SIZE + 1];

	if (n == 1)
		n = PAGE_MAX;
	return is_page_size(n) ? n : 0;
}

static uint8_t *scratch_page(struct pages *pages)
{
	if (!pages->room)
		pages->room = xcalloc(1, PAGE_MAX);
	return pages->room;
}

/* What does the first page say of sums? False: it is damaged. */
static bool decide(struct pages *pages, const uint8_t *page, unsigned size)
{
	uint8_t *copy = scratch_page(pages);

	memcpy(copy, page, size);
	copy[HEAD_RESERVE] = PAGES_RESERVE;
	if (has_sum(copy, size, 1)) {
		pages->sums = PAGES_SUMMED;
		return page[HEAD_RESERVE] == PAGES_RESERVE;
	}
	if (page[HEAD_RESERVE])
		return false;
	pages->sums = PAGES_PLAIN;
	return true;
}

static bool is_good(struct pages *pages, const uint8_t *page, unsigned size, uint32_t number)
{
	if (number == 1 && pages->sums == PAGES_UNKNOWN)
		return decide(pages, page, size);
	return pages->sums == PAGES_PLAIN || has_sum(page, size, number);
}

/* ---- a file ---- */

static int report(struct pages *pages, uint32_t number)
{
	pages->damaged = number;
	return SQLITE_IOERR_DATA;
}

/* A page that is not there whole was never written, or was cut off. */
static int read_page(struct page_file *file, uint8_t *page, unsigned size, uint32_t number)
{
	sqlite3_int64 at = (sqlite3_int64)size * (number - 1);
	int rc = file->below->pMethods->xRead(file->below, page, (int)size, at);

	if (rc == SQLITE_IOERR_SHORT_READ && file->pages->sums == PAGES_SUMMED)
		return report(file->pages, number);
	if (rc == SQLITE_OK && !is_good(file->pages, page, size, number))
		return report(file->pages, number);
	return rc;
}

static int read_part(struct page_file *file, void *to, int n, sqlite3_int64 at)
{
	struct pages *pages = file->pages;
	sqlite3_int64 inside;
	int rc;

	if (at + n <= HEAD) {
		rc = file->below->pMethods->xRead(file->below, to, n, at);
		if (rc == SQLITE_OK && at == 0 && n > HEAD_RESERVE)
			pages->page_size = size_in_head(to);
		return rc;
	}
	if (pages->sums == PAGES_PLAIN)
		return file->below->pMethods->xRead(file->below, to, n, at);
	inside = pages->page_size ? at % pages->page_size : 0;
	if (pages->sums == PAGES_UNKNOWN || !pages->page_size || inside + n > pages->page_size)
		return SQLITE_IOERR_READ;
	rc = read_page(file, scratch_page(pages), pages->page_size,
	        (uint32_t)(at / pages->page_size) + 1);
	if (rc == SQLITE_OK)
		memcpy(to, pages->room + inside, (size_t)n);
	return rc;
}

static int on_read(sqlite3_file *base, void *to, int n, sqlite3_int64 at)
{
	struct page_file *file = (struct page_file *)base;

	if (!file->is_main)
		return file->below->pMethods->xRead(file->below, to, n, at);
	if (!is_page_size((unsigned)n) || at % n)
		return read_part(file, to, n, at);
	file->pages->page_size = (unsigned)n;
	return read_page(file, to, (unsigned)n, (uint32_t)(at / n) + 1);
}

static int on_write(sqlite3_file *base, const void *from, int n, sqlite3_int64 at)
{
	struct page_file *file = (struct page_file *)base;
	struct pages *pages = file->pages;

	if (file->is_main && pages->sums == PAGES_SUMMED) {
		uint8_t *page = scratch_page(pages);

		if (!is_page_size((unsigned)n) || at % n)
			return SQLITE_IOERR_WRITE; /* SQLite writes whole pages */
		pages->page_size = (unsigned)n;
		memcpy(page, from, (size_t)n);
		sum_page(page + n - PAGES_RESERVE, page, (unsigned)n, (uint32_t)(at / n) + 1);
		from = page;
	}
	return file->below->pMethods->xWrite(file->below, from, n, at);
}

static int on_close(sqlite3_file *base)
{
	struct page_file *file = (struct page_file *)base;

	if (file->is_main)
		file->pages->main = NULL;
	return file->below->pMethods->xClose(file->below);
}

/* SQLite reads less than a page only where that is said to be cheap. */
static int on_device_characteristics(sqlite3_file *base)
{
	sqlite3_file *below = ((struct page_file *)base)->below;

	return below->pMethods->xDeviceCharacteristics(below) & ~SQLITE_IOCAP_SUBPAGE_READ;
}

/* What goes through as it is. */
#define PASS_ON(call, params, ...)                                          \
	static int on_##call params                                         \
	{                                                                   \
		sqlite3_file *below = ((struct page_file *)base)->below;    \
                                                                            \
		return below->pMethods->x##call(below, ##__VA_ARGS__);      \
	}
PASS_ON(Truncate, (sqlite3_file * base, sqlite3_int64 size), size)
PASS_ON(Sync, (sqlite3_file * base, int flags), flags)
PASS_ON(FileSize, (sqlite3_file * base, sqlite3_int64 *size), size)
PASS_ON(Lock, (sqlite3_file * base, int lock), lock)
PASS_ON(Unlock, (sqlite3_file * base, int lock), lock)
PASS_ON(CheckReservedLock, (sqlite3_file * base, int *out), out)
PASS_ON(FileControl, (sqlite3_file * base, int op, void *arg), op, arg)
PASS_ON(SectorSize, (sqlite3_file * base))
PASS_ON(ShmMap, (sqlite3_file * base, int region, int size, int extend, void volatile **out),
        region, size, extend, out)
PASS_ON(ShmLock, (sqlite3_file * base, int offset, int n, int flags), offset, n, flags)
PASS_ON(ShmUnmap, (sqlite3_file * base, int remove), remove)

static void on_ShmBarrier(sqlite3_file *base)
{
	sqlite3_file *below = ((struct page_file *)base)->below;

	below->pMethods->xShmBarrier(below);
}

/* Without xFetch() no page is read past us. Version 1 has no log in shared memory. */
#define METHODS(version)                                             \
	{                                                            \
		.iVersion = version,                                 \
		.xClose = on_close,                                  \
		.xRead = on_read,                                    \
		.xWrite = on_write,                                  \
		.xTruncate = on_Truncate,                            \
		.xSync = on_Sync,                                    \
		.xFileSize = on_FileSize,                            \
		.xLock = on_Lock,                                    \
		.xUnlock = on_Unlock,                                \
		.xCheckReservedLock = on_CheckReservedLock,          \
		.xFileControl = on_FileControl,                      \
		.xSectorSize = on_SectorSize,                        \
		.xDeviceCharacteristics = on_device_characteristics, \
		.xShmMap = on_ShmMap,                                \
		.xShmLock = on_ShmLock,                              \
		.xShmBarrier = on_ShmBarrier,                        \
		.xShmUnmap = on_ShmUnmap,                            \
	}
static const sqlite3_io_methods methods_1 = METHODS(1), methods_2 = METHODS(2);

static int on_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out)
{
	struct pages *pages = (struct pages *)vfs;
	struct page_file *file = (struct page_file *)base;
	sqlite3_vfs *below = below_vfs(vfs);
	int rc;

	*file = (struct page_file){ .pages = pages, .is_main = flags & SQLITE_OPEN_MAIN_DB };
	rc = below->xOpen(below, path, file->below, flags, out);
	if (!file->below->pMethods)
		return rc;
	file->base.pMethods = file->below->pMethods->iVersion > 1 ? &methods_2 : &methods_1;
	if (rc == SQLITE_OK && file->is_main)
		pages->main = file;
	return rc;
}

/* ---- the VFS ---- */

#define BELOW(call, params, ...)                                     \
	static int vfs_##call params                                 \
	{                                                            \
		sqlite3_vfs *below = below_vfs(vfs);                 \
                                                                     \
		return below->x##call(below, ##__VA_ARGS__);         \
	}
BELOW(Delete, (sqlite3_vfs * vfs, const char *path, int sync), path, sync)
BELOW(Access, (sqlite3_vfs * vfs, const char *path, int flags, int *out), path, flags, out)
BELOW(FullPathname, (sqlite3_vfs * vfs, const char *path, int n, char *out), path, n, out)
BELOW(Randomness, (sqlite3_vfs * vfs, int n, char *out), n, out)
BELOW(Sleep, (sqlite3_vfs * vfs, int us), us)
BELOW(CurrentTime, (sqlite3_vfs * vfs, double *out), out)
BELOW(GetLastError, (sqlite3_vfs * vfs, int n, char *out), n, out)
BELOW(CurrentTimeInt64, (sqlite3_vfs * vfs, sqlite3_int64 *out), out)

struct pages *pages_new(const char *vfs)
{
	sqlite3_vfs *below = sqlite3_vfs_find(vfs);
	struct pages *pages;

	if (!below)
		return NULL;
	pages = xcalloc(1, sizeof(*pages));
	sqlite3_snprintf(sizeof(pages->name), pages->name, "gpusched-pages-%p", (void *)pages);
	pages->vfs = (sqlite3_vfs){
		.iVersion = below->iVersion > 1 ? 2 : 1,
		.szOsFile = (int)sizeof(struct page_file) + below->szOsFile,
		.mxPathname = below->mxPathname,
		.zName = pages->name,
		.pAppData = below,
		.xOpen = on_open,
		.xDelete = vfs_Delete,
		.xAccess = vfs_Access,
		.xFullPathname = vfs_FullPathname,
		.xRandomness = vfs_Randomness,
		.xSleep = vfs_Sleep,
		.xCurrentTime = vfs_CurrentTime,
		.xGetLastError = vfs_GetLastError,
		.xCurrentTimeInt64 = vfs_CurrentTimeInt64,
	};
	sqlite3_vfs_register(&pages->vfs, 0);
	return pages;
}

void pages_free(struct pages *pages)
{
	if (!pages)
		return;
	assert(!pages->main);
	sqlite3_vfs_unregister(&pages->vfs);
	free(pages->room);
	free(pages);
}

const char *pages_vfs(const struct pages *pages)
{
	return pages->name;
}

enum pages_sums pages_sums(const struct pages *pages)
{
	return pages ? pages->sums : PAGES_PLAIN;
}

void pages_set_sums(struct pages *pages, enum pages_sums sums)
{
	pages->sums = sums;
}

bool pages_is_empty(const struct pages *pages)
{
	sqlite3_int64 size;
	sqlite3_file *below;

	if (!pages->main)
		return true;
	below = pages->main->below;
	return below->pMethods->xFileSize(below, &size) == SQLITE_OK && size == 0;
}

uint32_t pages_damaged(const struct pages *pages)
{
	return pages ? pages->damaged : 0;
}

void pages_forget_damaged(struct pages *pages)
{
	pages->damaged = 0;
}

/* ---- a look at all of it ---- */

/* How many pages the file has, an incomplete last one among them. */
static int count_pages(struct pages *pages, uint32_t *n)
{
	sqlite3_file *below = pages->main->below;
	sqlite3_int64 size;
	uint8_t head[HEAD];
	int rc = below->pMethods->xFileSize(below, &size);

	if (rc == SQLITE_OK && size >= HEAD && !pages->page_size) {
		rc = below->pMethods->xRead(below, head, HEAD, 0);
		pages->page_size = rc == SQLITE_OK ? size_in_head(head) : 0;
	}
	*n = 0;
	if (rc == SQLITE_OK && size && !pages->page_size)
		rc = report(pages, 1);
	else if (rc == SQLITE_OK && size)
		*n = (uint32_t)((size + pages->page_size - 1) / pages->page_size);
	return rc;
}

/* Another process may be writing the page just now: a damaged one stays damaged. */
static int scan_page(struct pages *pages, uint32_t number)
{
	int rc = SQLITE_IOERR_DATA;

	for (int i = 0; i < SCAN_TRIES && rc == SQLITE_IOERR_DATA; i++)
		rc = read_page(pages->main, scratch_page(pages), pages->page_size, number);
	return rc;
}

int pages_scan(struct pages *pages, uint32_t *next, unsigned n)
{
	uint32_t count;

	if (pages_sums(pages) != PAGES_SUMMED || !pages->main)
		return 0;
	if (count_pages(pages, &count) != SQLITE_OK)
		return -1;
	for (; n && *next <= count; n--, ++*next) {
		if (*next == LOCK_BYTE / pages->page_size + 1)
			continue;
		if (scan_page(pages, *next) != SQLITE_OK)
			return -1;
	}
	return *next <= count;
}
