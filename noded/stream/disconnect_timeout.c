/* disconnect_timeout.c - see disconnect_timeout.h */
#include "noded/stream/disconnect_timeout.h"

#include <time.h>

#include "common/base/clock.h"

static int64_t now_ms(void)
{
	return clock_us(CLOCK_MONOTONIC) / 1000;
}

void disconnect_init(struct disconnect_timeout *d, uint32_t patience_s)
{
	*d = (struct disconnect_timeout){ .patience_s = patience_s };
	disconnect_lost(d);
}

void disconnect_attached(struct disconnect_timeout *d)
{
	d->at = DISCONNECT_NEVER;
}

void disconnect_lost(struct disconnect_timeout *d)
{
	uint32_t s = d->over ? DISCONNECT_LINGER_S : d->patience_s;

	d->at = s == DISCONNECT_FOREVER ? DISCONNECT_NEVER : now_ms() + (int64_t)s * 1000;
}

void disconnect_detached(struct disconnect_timeout *d)
{
	d->at = d->over ? now_ms() + DISCONNECT_LINGER_S * 1000 : DISCONNECT_NEVER;
}

void disconnect_over(struct disconnect_timeout *d)
{
	d->over = true;
}

int64_t disconnect_at(const struct disconnect_timeout *d)
{
	return d->at;
}

bool disconnect_due(struct disconnect_timeout *d)
{
	if (d->at == DISCONNECT_NEVER || now_ms() < d->at)
		return false;
	if (!d->over)
		d->at = DISCONNECT_NEVER;
	return true;
}
