/* submit.h - EV_SUBMIT: accept jobs, or refuse them with the reason */
#ifndef CTLD_CORE_SUBMIT_H
#define CTLD_CORE_SUBMIT_H

#include <stddef.h>

struct core;
struct core_event;
struct effect;
struct error;
struct intake;

void submit_apply(struct core *core, const struct core_event *event);

/* Its parts, which a trial submission (explain/test_only.h) shares. `v` has one zeroed intake for each
 * job of the event. submit_clear() undoes what submit_check() has counted, and frees `v`. */
int submit_check(
        struct core *core, const struct core_event *event, struct intake *v, struct error *err);
struct effect *submit_answer(
        struct core *core, const struct core_event *event, const struct intake *v);
void submit_clear(struct core *core, struct intake *v, size_t n);

#endif
