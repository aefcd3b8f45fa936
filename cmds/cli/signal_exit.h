/* signal_exit.h - what a command that runs until it is interrupted says then
 *
 * One line on stderr at SIGINT or SIGTERM, such as how to go on from here; then it ends as killed
 * by that signal would be shown by a shell (128 + number).
 */
#ifndef CMDS_SIGNAL_EXIT_H
#define CMDS_SIGNAL_EXIT_H

/* From now on. */
void signal_exit_begin(void);

/* The line, without its end; cut at 95 bytes. Until the next call. */
void signal_exit_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
