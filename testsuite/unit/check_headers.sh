#!/bin/sh
# check_headers.sh - each header stands alone: it compiles by itself, in any order with others
set -eu
src=${srcdir:-$(dirname "$0")/../..}
build=$PWD
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

cd "$src"
find common ctld noded cmds -name '*.h' | sort |
	xargs -P "$(nproc)" -n 40 sh -c '
		build=$1
		shift
		for header; do
			echo "#include \"$header\"" | ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -DHAVE_CONFIG_H -I. -I"$build" -Wall -Wextra -Werror \
				-Wno-unused-function -fsyntax-only -x c - || echo "$header does not stand alone"
		done' sh "$build" >"$bad" 2>&1
grep 'does not stand alone' "$bad" || exit 0
cat "$bad"
exit 1
