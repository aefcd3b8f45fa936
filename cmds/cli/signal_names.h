/* signal_names.h - signals as people write them
 *
 * A name with or without SIG before it, in any case ("TERM", "sigusr1"), or a number. The numbers
 * are those of this host, which are Linux's on every architecture that nodes have.
 */
#ifndef CMDS_SIGNAL_NAMES_H
#define CMDS_SIGNAL_NAMES_H

#include <stdint.h>

#include "common/base/error.h"

#define SIG_NUMBER_MAX    64
#define SIG_WARN_BEFORE_S 60    /* of "--signal=USR1": as in sbatch */
#define SIG_WARN_MAX_S    65535 /* likewise */

/* ERR_USAGE; the text says what would be right, the caller puts the value before it. */
int sig_parse(const char *text, uint32_t *sig, struct error *err);

/* "[B:]SIG[@SECONDS]": the warning before the time limit. It goes to every process of the job that
 * awaits it, the script among them, so sbatch's "B:" ("to the script too") says nothing new. */
int sig_parse_warning(const char *text, uint32_t *sig, uint32_t *before_s, struct error *err);

/* "TERM", or NULL for a number without a name. */
const char *sig_name(uint32_t sig);

#endif
