/* site_program_tasks.h - tasks of gshepherd other than watching a run: programs of the site
 * (site_program_allowed.h)
 *
 * Each task is a process of its own, so that what such a program starts can be told apart from
 * everything else and ends with it, and so that the launcher never waits.
 */
#ifndef NODED_SITE_PROGRAM_TASKS_H
#define NODED_SITE_PROGRAM_TASKS_H

/* For a run whose shepherd was killed and of which nothing is left: run the programs that come
 * after it, in the shepherd's place. Leaves RECORD_AFTER in the record directory. Returns an exit
 * status. */
int site_program_task_again(const char *record_dir);

/* The health check; argv: path, milliseconds, node, leaf. */
int site_program_task_check(int argc, char **argv);

#endif
