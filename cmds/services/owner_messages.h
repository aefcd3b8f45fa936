/* owner_messages.h - lines for the owner of the service, in the run's error output */
#ifndef CMDS_SERVICES_OWNER_MESSAGES_H
#define CMDS_SERVICES_OWNER_MESSAGES_H

/* "gprobe: ..." with its LF, escaped and cut. Thrown away where stderr is a pipe without room: what
 * is said must not stop what is done. */
void owner_message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
