/* program_main.h - tasks of gshepherd other than watching a run: programs of the site (program.h)
 *
 * Each task is a process of its own, so that what such a program starts can be told apart from
 * everything else and ends with it, and so that the launcher never waits.
 */
#ifndef NODED_PROGRAM_MAIN_H
#define NODED_PROGRAM_MAIN_H

/* For a run whose shepherd was killed and of which nothing is left: run the programs that come
 * after it, in the shepherd's place. Leaves RECORD_AFTER in the record directory. Returns an exit
 * status. */
int program_main_again(const char *record_dir);

/* The health check; argv: path, milliseconds, node, leaf. */
int program_main_check(int argc, char **argv);

#endif
