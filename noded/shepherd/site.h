/* site.h - what gshepherd does besides watching a run: programs of the site (program.h) without one
 *
 * Each is a process of its own, so that what such a program starts can be told from everything else
 * and is ended with it, and so that the launcher never waits.
 */
#ifndef NODED_SITE_H
#define NODED_SITE_H

/* Of a run whose shepherd was killed and of which nothing is left: what comes after it, in its
 * place. Leaves RECORD_AFTER in the record directory. Returns an exit status. */
int site_again(const char *record_dir);

/* The health check; argv: path, milliseconds, node, leaf. */
int site_check(int argc, char **argv);

#endif
