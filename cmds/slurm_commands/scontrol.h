/* scontrol.h - what the files of scontrol share */
#ifndef CMDS_SCONTROL_H
#define CMDS_SCONTROL_H

#include "cmds/api/client.h"
#include "cmds/slurm_commands/scontrol_records.h"

struct scontrol {
	struct record_style style;
	const char *clusters;
	bool quiet;
	char **words; /* behind the verb */
	size_t n;
	struct client *client; /* NULL before scontrol_client() */
};

/* Connect, once. NULL with a message. */
struct client *scontrol_client(struct scontrol *s);

/* Each returns the exit status. */
int scontrol_show(struct scontrol *s);
int scontrol_update(struct scontrol *s);
int scontrol_write(struct scontrol *s);

/* "Invalid job id specified for job 12". */
void scontrol_blame_job(uint64_t job, int code, const char *text);

#endif
