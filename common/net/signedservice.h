/* signedservice.h - what makes the ServiceSpec of a signed job acceptable (signedjob.h)
 *
 * Once, for client, controller and launcher. Names of presets of metrics are here too, since each
 * that is added has to be known on the nodes.
 */
#ifndef COMMON_SIGNEDSERVICE_H
#define COMMON_SIGNEDSERVICE_H

#include <stdbool.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

#define SIGNEDSERVICE_NAME_MAX     63
#define SIGNEDSERVICE_PORTS_MAX    8
#define SIGNEDSERVICE_PATH_MAX     1024 /* bytes of a path that is fetched */
#define SIGNEDSERVICE_EVERY_MIN_MS 100
#define SIGNEDSERVICE_EVERY_MAX_MS 3600000
#define SIGNEDSERVICE_FAILS_MAX    100
#define SIGNEDSERVICE_LOAD_MAX_S   (7 * 86400)
#define SIGNEDSERVICE_DRAIN_MAX_S  86400
#define SIGNEDSERVICE_STARTS_MAX   10000 /* a day */
#define SIGNEDSERVICE_DAYS_MAX     366

#define SIGNEDSERVICE_HTTP "http:" /* before the path of a probe */

/* -1 with ERR_JOB_SPEC naming the field. */
int signedservice_check(const Gpusched__ServiceSpec *spec, struct error *err);

/* Is it the name of a service? -1 with ERR_JOB_SPEC. */
int signedservice_name_check(const char *name, struct error *err);

/* Are these metrics fetched from the replica's server? False: "file", "", and unknown ones. */
bool signedservice_scrapes(const char *metrics);

#endif
