/* listen_at.h - where a program listens, as its options name it */
#ifndef GPUSCHED_LISTEN_AT_H
#define GPUSCHED_LISTEN_AT_H

#include <stdint.h>

#include "common/base/error.h"

struct addrinfo;

/* The address of "[ADDRESS:]PORT": "7001", "127.0.0.1:7001", "[::1]:7001". ADDRESS is numbers, and
 * loopback if it is left out; PORT is `least` or more, 0 being any that is free. The caller frees
 * it with freeaddrinfo(). NULL: ERR_USAGE, which says what was expected and does not repeat the
 * text. */
struct addrinfo *listen_at(const char *text, uint16_t least, struct error *err);

#endif
