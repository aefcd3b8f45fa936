/* event_end.h - the end of a libevent event that may never have been made */
#ifndef COMMON_EVENT_END_H
#define COMMON_EVENT_END_H

#include <event2/event.h>

/* NULL is fine, which event_free() does not allow. A pending event is cancelled first. */
static inline void event_end(struct event *e)
{
	if (e)
		event_free(e);
}

#endif
