/* main.c - replay inputs through a fuzz harness, where libFuzzer is not linked
 *
 * usage: fuzz_NAME FILE...   Each file is one input; a crash names itself by the last line printed.
 * With --enable-fuzz the harnesses have libFuzzer's own main instead, which takes the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "testsuite/fuzz/fuzz.h"

static int replay(const char *path)
{
	FILE *in = fopen(path, "rb");
	uint8_t *data = NULL, *exact;
	size_t n = 0, cap = 0, got;

	if (!in) {
		perror(path);
		return -1;
	}
	do {
		if (n == cap)
			data = realloc(data, cap = cap ? cap * 2 : 4096);
		if (!data)
			abort();
		got = fread(data + n, 1, cap - n, in);
		n += got;
	} while (got);
	fclose(in);
	/* In a block of its own size, so that a sanitizer sees the first byte too far. */
	exact = realloc(data, n ? n : 1);
	if (!exact)
		abort();
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	if (failed)
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]) < 0;
	return failed;
}
