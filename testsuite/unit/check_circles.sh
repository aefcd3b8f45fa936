#!/bin/sh
# check_circles.sh - no circle among the modules of ctld/core
#
# A module is x.c with x.h and x_impl.h. An edge leads from a module to each whose header it includes.
# core.h declares what is wired at the top, so it is nobody's edge. Modules that still stand in a
# circle are named below, a line for each circle; a line that is no longer so must go.
set -eu
src=${srcdir:-$(dirname "$0")/../..}

known='
jobs/array jobs/depends jobs/eligible jobs/job_timers jobs/life jobs/retire jobs/runlife
nodes/devices nodes/faults nodes/gpu_drains
records/node records/run
request/requests request/shape
sched/class sched/wait_group
'
grep -o '^#include "ctld/core/[^"]*\.h' -r "$src/ctld/core" --include=*.[ch] |
	sed "s|^$src/ctld/core/||; s|:#include \"ctld/core/| |; s/\.[ch] / /; s/\.h$//; s/_impl / /; s/_impl$//" |
	awk -v known="$known" '
	# reach: all that can be reached from a module, in one or more steps
	function walk(from, at,    i, n, v) {
		n = split(next_of[at], v, " ")
		for (i = 1; i <= n; i++) {
			if (!((from, v[i]) in reach)) {
				reach[from, v[i]] = 1
				walk(from, v[i])
			}
		}
	}
	$1 != $2 && $2 != "core" { next_of[$1] = next_of[$1] " " $2; all[$1] = 1 }
	END {
		n = split(known, lines, "\n")
		for (i = 1; i <= n; i++) {
			m = split(lines[i], v, " ")
			for (j = 1; j <= m; j++) circle[v[j]] = i
		}
		for (x in all) walk(x, x)
		for (x in all) {
			if (!((x, x) in reach)) continue
			found[x] = 1
			for (y in all) {
				if (!((x, y) in reach) || !((y, x) in reach) || x >= y) continue
				if ((x in circle) && circle[x] == circle[y]) continue
				print "ctld/core/" x " and " y " stand in one circle of includes"
				bad = 1
			}
		}
		for (x in circle) if (!(x in found)) { print "no longer in a circle: " x; bad = 1 }
		exit bad
	}'
