#!/bin/sh
# check_core_folders.sh - the core's folders are a tower: each includes only those below it
#
# ARCHITECTURE.md, section 4, tells what each holds. What still points upward stands in the list below; a line
# of it that is no longer so must go. internal.h and core.h, which include most of the core, are to
# become headers of the folders.
set -eu
src=${srcdir:-$(dirname "$0")/../..}
core=$src/ctld/core
order='util rows request records place accounts limits plan preempt sched jobs nodes explain intake'
upward='
accounts/accounts.c core.h
explain/explain.c intake/intake.h
explain/imagine.c intake/intake.h
explain/suggest.c intake/admit.h
explain/suggest.c intake/intake.h
jobs/bill.c intake/admit.h
jobs/conditions.h intake/intake.h
jobs/life.c intake/admit.h
preempt/departures.h core.h
preempt/preempt.h sched/decide.h
records/run.h accounts/accounts.h
records/run.h place/cards.h
request/requests.h place/cards.h
rows/audit.h core.h
'

for folder in "$core"/*/; do
	case " $order " in
	*" $(basename "$folder") "*) ;;
	*) echo "ctld/core/$(basename "$folder") is not in the order of folders"; exit 1 ;;
	esac
done
grep -o '^#include "ctld/core/[^"]*' "$core"/*/*.[ch] | sed "s|^$core/||; s|:#include \"ctld/core/| |" |
	awk -v order="$order" -v upward="$upward" '
	function folder(path) { return index(path, "/") ? substr(path, 1, index(path, "/") - 1) : "" }
	BEGIN {
		n = split(order, v, " ")
		for (i = 1; i <= n; i++) at[v[i]] = i
		at[""] = n + 1
		m = split(upward, w, "\n")
		for (i = 1; i <= m; i++) if (w[i] != "") known[w[i]] = 1
	}
	$2 == "internal.h" || at[folder($2)] <= at[folder($1)] { next }
	$0 in known { seen[$0] = 1; next }
	{ print "ctld/core/" $1 " includes " $2 ", which is above it"; bad = 1 }
	END {
		for (line in known) if (!(line in seen)) { print "no longer so: " line; bad = 1 }
		exit bad
	}'
