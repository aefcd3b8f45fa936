/* wire_arena.h - the arena of messages that a test of ctld/wire/convert.h makes, from setup to teardown */
#ifndef TESTSUITE_UNIT_WIRE_ARENA_H
#define TESTSUITE_UNIT_WIRE_ARENA_H

#include "ctld/wire/convert.h"

/* A text of ours where protobuf-c has char *. */
#define S(text) ((char *)(uintptr_t)(text))

static struct arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_new(WIRE_ARENA_CAP);
	return arena ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

#endif
