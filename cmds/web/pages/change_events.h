/* change_events.h - GET /changes: server-sent events: something has changed, and no more
 *
 *	event: changed
 *	data: 4711
 *
 * with the serial of the snapshot; where nothing changes, "beat" every HTTP_BEAT_S, since times go
 * on, and a controller that is gone makes no snapshot. The stream ends after HTTP_STREAM_LIFE_S,
 * and the browser comes back by itself. The script of the pages then asks for its page
 * again, which shows only what its viewer may see; programs that want the changes themselves watch
 * /v1/watch.
 */
#ifndef CMDS_WEB_CHANGE_EVENTS_H
#define CMDS_WEB_CHANGE_EVENTS_H

#include "cmds/web/http.h"

void changes_get(const struct http_request *r, struct http_answer *a);

#endif
