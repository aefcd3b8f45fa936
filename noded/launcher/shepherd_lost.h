/* shepherd_lost.h - runs whose shepherd was killed
 *
 * The shepherd left no exit record, so how the run ended is not known. What is left of the run is
 * killed; then the site's programs that come after a run are run; then the run is over.
 */
#ifndef NODED_SHEPHERD_LOST_H
#define NODED_SHEPHERD_LOST_H

struct run;

/* The shepherd of a run that is STARTING or RUNNING is gone and left no exit record: the run is
 * LOST from now on, or never was if nothing had been forked. */
void lost_begin(struct run *r);

/* LOST: go on, as far as that is possible now. The run's timer calls it. */
void lost_poll(struct run *r);

#endif
