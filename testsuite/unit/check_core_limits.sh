#!/bin/sh
# check_core_limits.sh - ARCHITECTURE.md, section 11, tells of every limit of the core as it is
set -eu
src=${srcdir:-$(dirname "$0")/../..}
text=$src/ARCHITECTURE.md
core=$src/ctld/core
bad=0

complain() {
	echo "check_core_limits: $1" >&2
	bad=1
}

section=$(sed -n '/^## 11\. Limits of the core/,$p' "$text")
[ -n "$section" ] || complain "ARCHITECTURE.md has no section 11, Limits of the core"

# Every constant that is called a maximum is in the section.
for name in $(grep -hoE '^#define [A-Z_]*MAX[A-Z_]* ' "$core"/*.[ch] "$core"/*/*.[ch] | cut -d' ' -f2 | sort -u); do
	echo "$section" | grep -qw "$name" || complain "$name of ctld/core is not in ARCHITECTURE.md, section 11"
done

# What stands in its tables is there, with that value where it is a number.
rows=$(echo "$section" | sed -nE 's/^\| ([A-Z_]+) \| ([^|]*) \| ([a-z_]+\.[ch]) \|.*/\1 \3 \2/p')
[ "$(echo "$rows" | wc -l)" -ge 40 ] || complain "the tables of section 11 cannot be read"
while read -r name file value; do
	path=$(find "$core" -name "$file")
	grep -qE "^#define $name +" "$path" || complain "$name is not in $file of ctld/core"
	case $value in
	*[!0-9]*) continue ;;
	esac
	grep -E "^#define $name +" "$path" | grep -qw "$value" || complain "$name is not $value in $path"
done <<EOF
$rows
EOF

# Each bound of what a submit may ask for is gone beyond by a test.
asked=$(echo "$section" | sed -n '/^What a submit may ask for/,/^What a search looks at/p')
for name in $(echo "$asked" | sed -nE 's/^\| ([A-Z_]+) \|.*/\1/p'); do
	[ "$name" = constant ] || grep -qw "$name" "$src"/testsuite/unit/core/test_core_*.c "$src"/testsuite/unit/services/*.c || complain "no test goes beyond $name"
done
exit $bad
