/* loop.h - the one loop of gstepd: descriptors with their callbacks
 *
 * A watch belongs to its owner, which drops it before it closes the descriptor. A callback may drop
 * any watch, its own too.
 */
#ifndef CMDS_STEPS_LOOP_H
#define CMDS_STEPS_LOOP_H

#include <stdint.h>

struct loop;
struct loop_watch;

typedef void loop_fn(uint32_t events, void *arg); /* EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR */

struct loop *loop_new(void);

struct loop_watch *loop_watch(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *arg);
void loop_want(struct loop_watch *w, uint32_t events);
void loop_drop(struct loop_watch **w);           /* NULL afterwards; may be NULL already */
void loop_close(struct loop_watch **w, int *fd); /* the descriptor too: -1 afterwards */

/* Wait for at most so many ms (-1: for ever), call what is ready. */
void loop_run(struct loop *l, int timeout_ms);

int64_t loop_now_ms(void); /* of the monotonic clock */

#endif
