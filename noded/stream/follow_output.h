/* follow_output.h - a job's output file, sent to a client: its end or all of it, and what is added
 *
 * The process is the job's owner, so a file that the owner cannot read is not sent.
 */
#ifndef NODED_FOLLOW_OUTPUT_H
#define NODED_FOLLOW_OUTPUT_H

#include "common/net/channel.h"
#include "noded/stream/tap_channel.h"

/* CHANNEL_LOG. If asked to, what is added is sent as it comes, until the client's next message,
 * which is CHANNEL_FINISH; then the rest. Ends the process. */
_Noreturn void follow_output_log(struct tap *t, const struct channel_log *log);

/* CHANNEL_TAIL: the last lines as they are now, at most TAIL_BYTES_MAX. Ends the process. */
_Noreturn void follow_output_tail(struct tap *t, const struct channel_tail *tail);

#endif
