#!/bin/sh
# check_folders.sh - folders are a tower: a file includes headers of its own folder and of those below
#
# ARCHITECTURE.md, section 4, says what each folder holds. An include that still points upward stands
# in the list of its tower; a line of it that is no longer so must go. A header that lies beside the
# folders is above all of them, but for those named FREE: they declare what is wired and include none
# of it.
set -eu
src=${srcdir:-$(dirname "$0")/../..}
bad=0

# check_tower ROOT ORDER FREE UPWARD: ORDER are its folders, the lowest first; UPWARD lines "FILE HEADER"
check_tower() {
	grep -qF "| \`$1\` | $2 |" "$src/ARCHITECTURE.md" || { echo "ARCHITECTURE.md, section 4, has another order of $1"; bad=1; }
	for folder in "$src/$1"/*/; do
		case " $2 " in
		*" $(basename "$folder") "*) ;;
		*) echo "$1/$(basename "$folder") has no place in the order of folders"; bad=1 ;;
		esac
	done
	grep -o "^#include \"$1/[^\"]*" -r "$src/$1" --include=*.[ch] | sed "s|^$src/$1/||; s|:#include \"$1/| |" |
		awk -v root="$1" -v order="$2" -v free_list="$3" -v upward="$4" '
		function folder(path) { return index(path, "/") ? substr(path, 1, index(path, "/") - 1) : "" }
		BEGIN {
			n = split(order, v, " ")
			for (i = 1; i <= n; i++) at[v[i]] = i
			at[""] = n + 1
			for (i = split(free_list, f, " "); i; i--) free[f[i]] = 1
			m = split(upward, w, "\n")
			for (i = 1; i <= m; i++) if (w[i] != "") known[w[i]] = 1
		}
		$2 in free || at[folder($2)] <= at[folder($1)] { next }
		$0 in known { seen[$0] = 1; next }
		{ print root "/" $1 " includes " $2 ", which is above it"; wrong = 1 }
		END {
			for (line in known) if (!(line in seen)) { print "no longer so: " line; wrong = 1 }
			exit wrong
		}' || bad=1
}

check_tower ctld/core 'util scale rows request records place accounts limits plan preempt sched attempts runs depends jobs nodes services intake explain' core.h ''
check_tower noded 'gpu job record contain usage exec stream shepherd runs confine watch launcher core net sim' '' ''
check_tower common 'base gpu job net conf plot' gpusched.pb-c.h ''
check_tower cmds 'api cli options slurm drmaa views submit ctl serve feed web top steps services srun run slurm_commands' '' ''
check_tower ctld 'core store tape wire loop site rpc gsim gdemand' ctld.h ''
check_tower ctld/rpc 'call jobs nodes acct admin' rpc.h ''
exit $bad
