/* events.h - /v1/watch: what changes, as server-sent events
 *
 *	id: 812
 *	event: jobs
 *	data: {"version":1,"cluster":"atlas","cursor":812,"jobs":[...],"gone":[...]}
 *
 * Events are:
 *
 *	hello      the first: the cursor from which on all is told
 *	jobs       jobs that have changed, as they are now, and own ids of records that are no more
 *	           "more":true: so many waiting jobs differ, in their place or why they wait, that only new
 *	           ones are told: list them again if they are shown
 *	changed    {"lists":["nodes","shares",...]}: these lists differ, ask for them again
 *	fresh      more has changed than is known one by one: ask for everything again
 *
 * An id is the controller's cursor, so a client that comes back with Last-Event-ID goes on where it
 * was, also when the controller was restarted in between; where that is too long ago it gets
 * `fresh`. A stream ends after HTTP_STREAM_LIFE_S, so that a logout and a lost role take effect;
 * browsers come back by themselves. An event that is being sent then is finished within
 * HTTP_ANSWER_S, or broken off.
 *
 * An event is made once for all streams of the same filter whose viewers see the same; each stream
 * only has a place in it. All of this is for the server's loop alone.
 */
#ifndef CMDS_EVENTS_H
#define CMDS_EVENTS_H

#define EVENTS_CHANNELS        512  /* filters at a time; then 503 */
#define EVENTS_CHANNELS_A_USER 128  /* of them, begun by one user */
#define EVENT_MAX              1000 /* jobs in one event; with more it has `more`, or is `fresh` */
#define EVENTS_BYTES           (8 * 1024 * 1024) /* of all events; the user with most makes room */

struct events;

struct events *events_new(void);
void events_free(struct events *e); /* after all streams; NULL is fine */

#endif
