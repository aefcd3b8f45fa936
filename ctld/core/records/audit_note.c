/* audit_note.c - see audit_note.h
 *
 * A task or a part has no column of its own in the row of an event, which has the id of the job:
 * its label goes before the text.
 */
#include "ctld/core/records/audit_note.h"

#include <stdio.h>

#include "ctld/core/records/job.h"
#include "ctld/core/rows/audit.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/rows/epoch_and_ids.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/state.h"

void audit_note(struct core *core, const char *kind, const struct caller *caller, uint64_t ref,
        const char *node, const char *text)
{
	char label[JOB_LABEL], with_task[1100];
	struct audit_entry entry = {
		.kind = kind,
		.uid = caller ? (int64_t)caller->uid : AUDIT_NOBODY,
		.host = caller ? caller->host : "",
		.job = job_ref_id(ref),
		.node = node,
		.text = text,
	};

	if (job_ref_part(ref)) {
		const struct job *job = jobs_find(core->jobs, ref);

		snprintf(with_task, sizeof(with_task), "%s%s%.1000s",
		        job ? job_label(job, label) : job_ref_label(ref, label), *text ? ": " : "",
		        text);
		entry.text = with_task;
	}
	audit_add(core->audit, meta_take_event(core->meta, core->now.mono), core->now.wall, &entry);
	dirty_touch(core->dirty);
}
