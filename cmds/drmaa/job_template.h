/* job_template.h - job templates: the attributes of a job to be, as texts
 *
 * Values are checked when they are set, as far as they can be without the others and the cluster.
 */
#ifndef CMDS_DRMAA_JOB_TEMPLATE_H
#define CMDS_DRMAA_JOB_TEMPLATE_H

#include "cmds/drmaa/string_vectors.h"

enum attribute {
	ATTRIBUTE_REMOTE_COMMAND,
	ATTRIBUTE_JS_STATE,
	ATTRIBUTE_WD,
	ATTRIBUTE_JOB_CATEGORY,
	ATTRIBUTE_NATIVE_SPECIFICATION,
	ATTRIBUTE_BLOCK_EMAIL,
	ATTRIBUTE_START_TIME,
	ATTRIBUTE_JOB_NAME,
	ATTRIBUTE_INPUT_PATH,
	ATTRIBUTE_OUTPUT_PATH,
	ATTRIBUTE_ERROR_PATH,
	ATTRIBUTE_JOIN_FILES,
	ATTRIBUTE_DEADLINE_TIME,
	ATTRIBUTE_WCT_HLIMIT,
	ATTRIBUTE_WCT_SLIMIT,
	ATTRIBUTE_DURATION_HLIMIT,
	ATTRIBUTE_DURATION_SLIMIT,
	ATTRIBUTE_SCALARS,
	ATTRIBUTE_V_ARGV = ATTRIBUTE_SCALARS,
	ATTRIBUTE_V_ENV,
	ATTRIBUTE_V_EMAIL,
	ATTRIBUTES,
};

struct drmaa_job_template_s {
	struct text_list values[ATTRIBUTES]; /* of a scalar one at most */
};

const char *attribute_name(enum attribute a);
const char *template_text(const drmaa_job_template_t *jt, enum attribute a); /* NULL: not set */

#endif
