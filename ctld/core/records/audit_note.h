/* audit_note.h - a change in the audit trail, with the job it is about */
#ifndef CTLD_CORE_AUDIT_NOTE_H
#define CTLD_CORE_AUDIT_NOTE_H

#include <stdint.h>

struct caller;
struct core;

void audit_note(struct core *core, const char *kind, const struct caller *caller, uint64_t ref,
        const char *node, const char *text);

#endif
