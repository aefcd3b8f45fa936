/* explain_typed.h - options of gctl update, as they are typed */
#ifndef TESTSUITE_UNIT_EXPLAIN_TYPED_H
#define TESTSUITE_UNIT_EXPLAIN_TYPED_H

#include "ctld/core/core.h"

/* Texts that a parsed option points into. */
struct typed {
	struct submit_job change;
	uint64_t fields;
	char words[160];
};

/* "--partition=small --gpus=l40s:2"; what is not understood fails the test. */
void type_in(struct typed *t, const char *options);

#endif
