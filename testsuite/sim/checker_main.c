/* checker_main.c - judge a journal of facts: checker [FILE]. Exit 1 when a promise was broken. */
#include <stdio.h>
#include <string.h>

#include "testsuite/sim/checker.h"

int main(int argc, char **argv)
{
	FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
	struct checker *c = checker_new();
	char line[1024];
	struct error err;
	size_t n = 0, bad;

	if (!in) {
		perror(argv[1]);
		return 2;
	}
	while (fgets(line, sizeof(line), in)) {
		n++;
		if (checker_fact(c, line, &err) < 0) {
			fprintf(stderr, "checker: line %zu: %s\n", n, err.text);
			return 2;
		}
	}
	bad = checker_violations(c);
	checker_print(c, stdout);
	printf("%zu facts, %zu violations\n", checker_facts(c), bad);
	checker_free(c);
	if (in != stdin)
		fclose(in);
	return bad ? 1 : 0;
}
