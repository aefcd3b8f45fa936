/* submit.h - EV_SUBMIT, --test-only */
#ifndef CTLD_CORE_SUBMIT_H
#define CTLD_CORE_SUBMIT_H

struct core;
struct core_event;

void submit_apply(struct core *core, const struct core_event *event);

#endif
