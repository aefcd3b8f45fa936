#!/bin/sh
# check_circles.sh - no circle among the modules of ctld/core and of noded
#
# A module is x.c with x.h and x_impl.h. An edge leads from a module to each whose header it includes.
# A header that declares what is wired at the top (core.h) is no edge. Modules that still stand in a
# circle are named below, a line for each circle; a line that is no longer so must go.
set -eu
src=${srcdir:-$(dirname "$0")/../..}
bad=0

# check_circles ROOT TOP KNOWN
check_circles() {
	grep -o "^#include \"$1/[^\"]*\.h" -r "$src/$1" --include=*.[ch] |
		sed "s|^$src/$1/||; s|:#include \"$1/| |; s/\.[ch] / /; s/\.h\$//; s/_impl / /; s/_impl\$//" |
		awk -v root="$1" -v top="$2" -v known="$3" '
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
		$1 != $2 && $2 != top { next_of[$1] = next_of[$1] " " $2; all[$1] = 1 }
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
					print root "/" x " and " y " stand in one circle of includes"
					bad = 1
				}
			}
			for (x in circle) if (!(x in found)) { print "no longer in a circle: " x; bad = 1 }
			exit bad
		}' || bad=1
}

check_circles ctld/core core ''
check_circles noded '' ''
for folder in base gpu job net; do
	check_circles common/$folder '' ''
done
for folder in store tape wire loop site rpc gsim gdemand; do
	check_circles ctld/$folder '' ''
done
exit $bad
