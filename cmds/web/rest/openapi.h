/* openapi.h - the description of /v1/ as an OpenAPI 3.0 document
 *
 * Made of the table of resources (rest.h) and the descriptors of gpusched.proto, by the same rules
 * by which common/net/msgjson.h makes JSON of a message; so it cannot say anything else than the
 * answers.
 */
#ifndef CMDS_OPENAPI_H
#define CMDS_OPENAPI_H

/* The caller frees it. */
char *openapi_text(void);

#endif
