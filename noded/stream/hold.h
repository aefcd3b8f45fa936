/* hold.h - ghold: has the other ends of an interactive run's input and output, as its owner
 *
 *      grun == stream == gtap -- socket -- ghold ==== pipes, or a terminal ==== the program
 *                                            |
 *                                        gshepherd: signals, and "its client is lost"
 *
 * One process for each interactive run, started by the launcher before the shepherd; it outlives
 * launcher and agent. First it becomes the run's owner (grant.h); then it makes the pipes or the
 * terminal and hands the program's ends to the shepherd. It belongs to no cgroup of the run, and
 * ends when the run is over and all of its output has been taken, or nobody came for that.
 *
 * What the program writes is kept until a client says that it has arrived: HOLD_RING bytes of each
 * kind, and when there are no more free the program waits in write(2). So a program can begin
 * before its client has come, and a client whose connection broke goes on where it was. One client
 * at a time: who comes later takes over.
 *
 * Without a client for longer than the owner's patience (Interactive.patience_s) the shepherd is
 * told to end the run; not while the last client has said CHANNEL_DETACH.
 */
#ifndef NODED_HOLD_H
#define NODED_HOLD_H

#include <stdint.h>

#define HOLD_SHEPHERD_FD 3 /* SOCK_SEQPACKET, to the shepherd */
#define HOLD_LISTEN_FD   4 /* where gtap's connections come in (holdio.h) */
#define HOLD_GRANT_FD    5 /* HoldGrant */

#define HOLD_RING     (256 * 1024)
#define HOLD_LINGER_S 60 /* after the run is over, for a client that has not taken all */

/* ghold to the shepherd: one datagram each. The first carries the program's ends as descriptors:
 * input, output, error; of a terminal one for all three. */
enum hold_news { HOLD_ENDS = 1, HOLD_SIGNAL, HOLD_LOST };
struct hold_note {
	uint8_t news;   /* enum hold_news */
	uint8_t signal; /* HOLD_SIGNAL */
};
#define HOLD_ENDS_MAX 3
#define HOLD_ENDS_MS  10000 /* that the shepherd waits for them */

#endif
