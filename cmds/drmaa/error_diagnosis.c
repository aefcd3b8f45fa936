/* error_diagnosis.c - see error_diagnosis.h; drmaa_strerror() */
#include "cmds/drmaa/error_diagnosis.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const texts[] = {
	[DRMAA_ERRNO_SUCCESS] = "Success",
	[DRMAA_ERRNO_INTERNAL_ERROR] = "Internal error",
	[DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE] = "The controller cannot be reached",
	[DRMAA_ERRNO_AUTH_FAILURE] = "Not permitted",
	[DRMAA_ERRNO_INVALID_ARGUMENT] = "Invalid argument",
	[DRMAA_ERRNO_NO_ACTIVE_SESSION] = "There is no active session",
	[DRMAA_ERRNO_NO_MEMORY] = "Out of memory",
	[DRMAA_ERRNO_INVALID_CONTACT_STRING] = "Invalid contact string",
	[DRMAA_ERRNO_DEFAULT_CONTACT_STRING_ERROR] = "The default contact string cannot be used",
	[DRMAA_ERRNO_NO_DEFAULT_CONTACT_STRING_SELECTED] = "There is no default contact string",
	[DRMAA_ERRNO_DRMS_INIT_FAILED] = "The session could not be opened",
	[DRMAA_ERRNO_ALREADY_ACTIVE_SESSION] = "A session is active already",
	[DRMAA_ERRNO_DRMS_EXIT_ERROR] = "The session could not be closed",
	[DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT] = "Invalid format of an attribute's value",
	[DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE] = "Invalid value of an attribute",
	[DRMAA_ERRNO_CONFLICTING_ATTRIBUTE_VALUES] = "Values of attributes contradict each other",
	[DRMAA_ERRNO_TRY_LATER] = "Not possible now; try again later",
	[DRMAA_ERRNO_DENIED_BY_DRM] = "The job was refused",
	[DRMAA_ERRNO_INVALID_JOB] = "There is no such job",
	[DRMAA_ERRNO_RESUME_INCONSISTENT_STATE] = "The job is not suspended",
	[DRMAA_ERRNO_SUSPEND_INCONSISTENT_STATE] = "The job does not run",
	[DRMAA_ERRNO_HOLD_INCONSISTENT_STATE] = "The job does not wait",
	[DRMAA_ERRNO_RELEASE_INCONSISTENT_STATE] = "The job is not held",
	[DRMAA_ERRNO_EXIT_TIMEOUT] = "The time is over and the job has not ended",
	[DRMAA_ERRNO_NO_RUSAGE] = "What the job used is not known",
	[DRMAA_ERRNO_NO_MORE_ELEMENTS] = "There are no more elements",
};
#define N_TEXTS ((int)(sizeof(texts) / sizeof(texts[0])))

const char *drmaa_strerror(int drmaa_errno)
{
	return drmaa_errno >= 0 && drmaa_errno < N_TEXTS ? texts[drmaa_errno] : "Unknown error";
}

int fail_with(struct diagnosis d, int code, const char *fmt, ...)
{
	va_list ap;

	if (!d.text || !d.size)
		return code;
	va_start(ap, fmt);
	vsnprintf(d.text, d.size, fmt, ap);
	va_end(ap);
	return code;
}

/* Those that are not as their exit status says. */
static const struct {
	int error, code;
} codes[] = {
	{ ERR_INTERNAL, DRMAA_ERRNO_INTERNAL_ERROR },
	{ ERR_NO_JOB, DRMAA_ERRNO_INVALID_JOB },
	{ ERR_BUSY, DRMAA_ERRNO_TRY_LATER },
	{ ERR_SESSIONS, DRMAA_ERRNO_TRY_LATER },
	{ ERR_NO_SPACE, DRMAA_ERRNO_TRY_LATER },
	{ ERR_LIMIT_JOBS, DRMAA_ERRNO_TRY_LATER },
};

static int code_of(int error, int refused)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].error == error)
			return codes[i].code;
	switch (error_exit_status(error)) {
	case EXIT_NO_CONTROLLER:
		return DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE;
	case EXIT_NOT_PERMITTED:
		return DRMAA_ERRNO_AUTH_FAILURE;
	default:
		return refused;
	}
}

int fail_as(struct diagnosis d, const struct error *err, int refused)
{
	return fail_with(d, code_of(err->code, refused), "%s%s%s", err->text,
	        *err->hint ? "; " : "", err->hint);
}

void fail_copy(char *to, size_t size, const char *from)
{
	if (to && size)
		snprintf(to, size, "%s", from);
}
