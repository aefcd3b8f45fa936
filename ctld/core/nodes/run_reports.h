/* run_reports.h - what agents report of runs */
#ifndef CTLD_CORE_RUN_REPORTS_H
#define CTLD_CORE_RUN_REPORTS_H

#include <stdbool.h>

struct core;
struct core_event;
struct node;
struct run_report;

void run_report_apply(struct core *core, const struct core_event *event);
void runs_used_apply(struct core *core, const struct core_event *event);
/* `whole`: the report is part of a registration, and is complete. */
void report_apply(
        struct core *core, struct node *node, const struct run_report *report, bool whole);

#endif
