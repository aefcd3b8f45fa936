/* job_parts.h - what the page of a job is made of */
#ifndef CMDS_WEB_JOB_PARTS_H
#define CMDS_WEB_JOB_PARTS_H

#include "cmds/web/pages/page.h"
#include "common/gpusched.pb-c.h"

/* Which job or task a path means: "4812", "4812_7". */
struct job_name {
	uint64_t id;
	const char *tasks; /* "" none */
};
/* False: it is no such name. */
bool job_name_parse(const char *text, struct job_name *out);

/* The answers of the controller about one job; each NULL where there is none. */
struct job_answers {
	Gpusched__WhyResult *why;
	Gpusched__Acct *past; /* with its runs */
	char *currency;
	struct error why_error, past_error; /* code 0: none */
};
void job_ask_why(struct page *p, const struct job_name *name, struct job_answers *out);
/* `waits`: it is PENDING now. */
void job_ask_past(
        struct page *p, const struct job_name *name, bool waits, struct job_answers *out);
void job_answers_clear(struct job_answers *a);

/* What holds it, when it is planned, what would start it now. */
void put_why(struct page *p, const Gpusched__WhyResult *why);

/* From submit to end, with each attempt. */
void put_timeline(struct page *p, const Gpusched__Acct *past);
void put_attempts(struct page *p, const Gpusched__Acct *past);
void put_job_use(struct page *p, const Gpusched__Acct *past, const char *currency);

#endif
