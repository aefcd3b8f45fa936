/* events.h - gctl events: the audit trail */
#ifndef CMDS_EVENTS_H
#define CMDS_EVENTS_H

int events_main(int argc, char **argv);

#endif
