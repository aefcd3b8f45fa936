/* fuzz.h - what every harness has: one reader of foreign bytes, called with any bytes at all
 *
 * A harness is fuzz_NAME.c; its inputs are the files in corpus/NAME/, replayed by `make check`. It
 * ends normally, whatever the bytes; what it asserts (FUZZ_CHECK) must hold for all of them. To add
 * one: the file, a folder with some inputs, `./bootstrap`. What a fuzzer found
 * goes into the folder with the commit that cures it.
 */
#ifndef TESTSUITE_FUZZ_FUZZ_H
#define TESTSUITE_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Like assert(), also with NDEBUG. */
#define FUZZ_CHECK(what)                                                           \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			abort();                                                   \
		}                                                                  \
	} while (0)

#endif
