/* test_only.h - --test-only: would the first of these jobs start now, and if not, why and when? */
#ifndef CTLD_CORE_TEST_ONLY_H
#define CTLD_CORE_TEST_ONLY_H

struct core;
struct core_event;

void test_only_apply(struct core *core, const struct core_event *event);

#endif
