/* update.h - gctl update: changes what a job asks for, with the options of gsubmit */
#ifndef CMDS_UPDATE_H
#define CMDS_UPDATE_H

/* All of it: argv[0] is the word "update". Returns the exit status. */
int update_main(int argc, char **argv);

#endif
