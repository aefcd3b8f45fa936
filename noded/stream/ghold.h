/* ghold.h - ghold: holds the other ends of an interactive run's input and output, as its owner
 *
 *      grun == stream == gtap -- socket -- ghold ==== pipes, or a terminal ==== the program
 *                                            |
 *                                        gshepherd: signals, and "its client is lost"
 *
 * There is one process for each interactive run. The launcher starts it before the shepherd; it
 * outlives launcher and agent. First it becomes the run's owner (owner_grant.h); then it makes the
 * pipes or the terminal and hands the program's ends to the shepherd. It belongs to no cgroup of
 * the run. It ends when the run is over and all output has been taken, or no client came to take
 * it.
 *
 * The program's output is kept until a client acknowledges it: GHOLD_RING bytes of each kind. When
 * these are full the program waits in write(2). So a program can begin before its client has come,
 * and a client whose connection broke continues where it was. There is one client at a time: a
 * later client takes over.
 *
 * If no client was there for too long the shepherd is told to end the run: disconnect_timeout.h.
 */
#ifndef NODED_GHOLD_H
#define NODED_GHOLD_H

#include <stdint.h>

#define GHOLD_SHEPHERD_FD 3 /* SOCK_SEQPACKET, to the shepherd */
#define GHOLD_LISTEN_FD   4 /* where gtap's connections come in (local_channel.h) */
#define GHOLD_GRANT_FD    5 /* HoldGrant */

#define GHOLD_RING (256 * 1024)

/* ghold to the shepherd: one datagram each. The first carries the program's ends as descriptors:
 * input, output, error; a terminal is one descriptor for all three. */
enum ghold_news { GHOLD_ENDS = 1, GHOLD_SIGNAL, GHOLD_LOST };
struct ghold_note {
	uint8_t news;   /* enum ghold_news */
	uint8_t signal; /* GHOLD_SIGNAL */
};
#define GHOLD_ENDS_MAX 3
#define GHOLD_ENDS_MS  10000 /* how long the shepherd waits for them */

#endif
