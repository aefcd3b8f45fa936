#!/bin/sh
# The commands without a controller: usage, exit status, and manuals that name what there is.
set -u

src=${srcdir:-.}
dir=$(mktemp -d "${TMPDIR:-/tmp}/gpusched-commands-XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0
checked=0

# Nothing of the caller's cluster: a controller that is not there, asked once.
for v in $(env | sed -n 's/^\(G\(PUSCHED\|SUBMIT\)_[A-Z_]*\)=.*/\1/p'); do
	unset "$v"
done
export GPUSCHED_CONTROLLER=127.0.0.1:1 GPUSCHED_CLUSTER=test GPUSCHED_CONTROLLER_USER=0
export GPUSCHED_RETRY=0 GPUSCHED_MUNGE_SOCKET="$dir/no-munge"
export LC_ALL=C.UTF-8
gtop=gtop
[ -x cmds/gtop ] || gtop= # configure --disable-gtop

fail() {
	echo "FAIL: $*"
	failed=$((failed + 1))
}

. "$src/testsuite/unit/have.sh"

# expect STATUS WORDS COMMAND ARGUMENT...: with that status, WORDS in an error that begins as it must
# (or, with status 0, in the output).
expect() {
	status=$1 words=$2 command=$3
	shift 3
	checked=$((checked + 1))
	"cmds/$command" "$@" >"$dir/out" 2>"$dir/err" <"${input:-/dev/null}"
	got=$?
	[ "$got" -eq "$status" ] || fail "$command $*: status $got, not $status: $(cat "$dir/err")"
	where=$dir/out
	if [ "$status" -ne 0 ]; then
		where=$dir/err
		head -n 1 "$dir/err" | grep -q "^$command\( update\| events\)\?: error: " ||
			fail "$command $*: no error line: $(cat "$dir/err")"
		[ "${json:-}" ] || [ ! -s "$dir/out" ] || fail "$command $*: prints $(cat "$dir/out")"
	fi
	grep -qF -e "$words" "$where" || fail "$command $*: '$words' is not in: $(cat "$where")"
	if LC_ALL=C grep -q '[[:cntrl:]]' "$where"; then
		fail "$command $*: a control character is printed"
	fi
}

# --- usage ------------------------------------------------------------------------------------

gweb=
[ ! -x cmds/gweb ] || gweb=gweb # --disable-gweb
for c in gsubmit gqueue gcancel ginfo gctl gprio gserve gshare gacct greport glog grun $gtop gfeed gactivate $gweb; do
	expect 0 "Examples:" $c --help
	expect 0 "Exit status:" $c --help
	awk -v of="$c --help" 'length($0) > 79 { print "FAIL: " of ": " $0; bad = 1 } END { exit bad }' "$dir/out" || failed=$((failed + 1))
	expect 0 "Usage: $c" $c --usage
	expect 0 "$c (gpusched) " $c --version
	usage=2
	[ $c != grun ] || usage=125 # what is less may be the command's own
	expect $usage "no such option" $c --nosuch
	expect $usage "$c --help" $c --nosuch
done
expect 2 "did you mean --partition?" gqueue --partitoin=x
expect 2 "did you mean --job-name?" gsubmit --jobname=x
expect 2 "takes no value" gsubmit --hold=1
expect 2 "needs a value" gsubmit --gpus
expect 2 "--time=-5" gsubmit --time=-5
expect 2 "--gpus=h100:1,l40s:1" gsubmit --gpus=h100:1,l40s:1
expect 2 "--nodes=4-2" gsubmit --nodes=4-2
expect 2 "--nodelist=h[2-1]" gsubmit -w 'h[2-1]'
expect 2 "--gpus-per-node=h100" gsubmit --gpus-per-node=h100
expect 2 "--max-wait=soon" gsubmit --max-wait=soon
expect 2 '\x1B' gsubmit "--job-name=$(printf 'a\033b')"
expect 2 "--states=XX" gqueue -t XX
expect 2 "--jobs=4x" gqueue -j 4x
expect 2 "--nodes=n[2-1]" gqueue -w 'n[2-1]'
expect 2 "no such column" gqueue -o JOBID,NOSUCH
expect 2 "did you mean PRIORITY?" gqueue --sort=-PRIORTY
expect 2 "no such column" ginfo -o JOBID
expect 2 "ID=48x" gqueue 48x
expect 2 "--why=4x" gqueue --why 4x
expect 2 "--jobs=4x" gprio -j 4x
expect 2 "did you mean FAIRSHARE?" gprio -o FAIRSHAR
expect 2 "no such column" gprio -w -o JOBID
expect 2 "--accounts" gshare -A ,
expect 2 "no such column" gshare --sort=JOBID
expect 2 "--since=2026-02-30: this date does not exist" gacct -S 2026-02-30
expect 2 "expected a moment" gacct -S tomorow
expect 2 "--until=now-5x" gacct -E now-5x
expect 2 "--label=" gacct -L ,
expect 2 "a report is required" greport
expect 2 "backup: 0 arguments" gctl backup
expect 2 "expected use" greport idle
expect 2 "--by: expected account" greport use --by=label:
expect 2 "at most 4" greport use --by=user,day,gpu,state,qos
expect 2 "--csv and --json" gacct --csv --json
expect 2 "did you mean GPU-H?" gacct -o GPU_H
expect 2 "expected a width" gacct -o NAME%0
expect 2 "expected one of the letters" gqueue -o NAME%x
expect 2 "a job id is required" glog
expect 2 "JOB=x" glog x
expect 2 "expected a single job" glog 1 2
expect 2 "--lines=-1" glog -n -1 1
expect 2 "--rank=5000000000" glog --rank=5000000000 1
expect 125 "a command is required" grun
expect 125 "no such option" grun --output=x true
expect 125 "is not expected" grun --attach=1 true
expect 125 "--attach=0" grun --attach=0
expect 125 "--detach-on-loss and --loss-timeout exclude each other" grun --detach-on-loss --loss-timeout=5 true
expect 125 "--loss-timeout=0" grun --loss-timeout=0 true
expect 125 "--immediate=x" grun --immediate=x true
expect 125 "--time=-5" grun --time=-5 true
expect 2 "no jobs are named" gcancel
expect 2 "ID=x" gcancel x
expect 2 "--signal=FOO" gcancel -s FOO 1
expect 2 "--reason" gcancel --reason="$(printf 'a\nb')" 1
expect 2 "did you mean ping?" gctl pingg
expect 2 "a subcommand is required" gctl
expect 2 "show job, show node, show partition, show config, show hostnames or" gctl show
expect 2 "gctl show job ID..." gctl show job
expect 2 "takes no --confirmed-off" gctl drain n1 why --confirmed-off
expect 2 "takes no --user" gctl ping --user=x
expect 2 "a reason is required" gctl drain n1
expect 2 "n[0-4294967295]" gctl drain 'n[0-4294967295]' why
expect 2 "no jobs are named" gctl release
expect 2 "expected up, drain, down or inactive" gctl partition batch off
expect 2 "gctl partition NAME STATE" gctl partition batch
expect 0 "job.token" gctl list-errors
expect 0 "AssocGrpGRES" gctl list-reasons
expect 0 "Examples:" gctl update --help
expect 0 "gpus-per-node" gctl update --help
expect 2 "ids of jobs are required" gctl update --gpus=1
expect 2 "no change is given" gctl update 1
expect 2 "--gpus=h100" gctl update 1 --gpus=h100
expect 2 "owner signed" gctl update 1 --array=1-9
expect 2 "no such option" gctl update 1 --wrap=x
expect 2 "ID=h1" gctl update h1 --gpus=1
expect 2 "options must follow it" gctl --reason=x update 1
expect 0 "Examples:" gctl events --help
expect 2 "unknown user on this host" gctl events --by=no.such.user
expect 2 "--job=x" gctl events --job=x
expect 2 "--since=never" gctl events --since=never
expect 2 "did you mean EVENT?" gctl events -o EVENTS
expect 2 "options must follow it" gctl --json events
expect 2 "one list of nodes" gctl resume n1 n2
expect 2 "no jobs are named" gctl suspend

expect 2 "a list of nodes is required" gctl show hostnames
expect 2 "show hostnames or show hostlist" gctl show hosts
expect 2 "2-1" gctl show hostnames 'h[2-1]'
expect 0 'h[07-08],m1' gctl show hostlist h08,m1,h07
GPUSCHED_NODELIST='h[09-11]' expect 0 'h09' gctl show hostnames
[ "$(cmds/gctl show hostnames 'h[07-08],m1' | tr '\n' ' ')" = "h07 h08 m1 " ] || fail "gctl show hostnames"
expect 2 "expected one of the letters" gqueue -o "%.18i %.9X %R"
expect 2 "expected one of the letters" ginfo -N -o "%N %z"
expect 2 "names of columns, not letters" gacct -o "%i"
expect 2 "did you mean EXIT?" gacct -o JOBID,EXITCODES

# What hands used to Slurm type: each row of the table is reached, with its advice.
habit() { # COMMAND WORD ADVICE
	command=$1 word=$2 status=2
	[ "$command" != grun ] || status=125
	set -- "$3" ${command#* }
	[ "$2" != "$command" ] || set -- "$1"
	words=$1
	shift
	expect $status "hint: $words" "${command%% *}" "$@" "$word"
}
sed -n 's/^#define \([A-Z]*\) *"\(.*\)"$/s~, \1 }~, "\2" }~/p' "$src/cmds/cli/slurm_hints.c" >"$dir/defines"
sed -n 's/^\t{ \("g.*\) },$/{ \1 }/p' "$src/cmds/cli/slurm_hints.c" | sed -f "$dir/defines" |
	sed -n 's/^{ "\([^"]*\)", "\([^"]*\)", "\(.*\)" }$/\1|\2|\3/p' >"$dir/habits"
[ "$(wc -l <"$dir/habits")" -eq "$(grep -c '^.{ "g' "$src/cmds/cli/slurm_hints.c")" ] || fail "slurm_hints.c: not all rows are read"
while IFS='|' read -r command word advice; do
	habit "$command" "$word" "$advice"
done <"$dir/habits"

# --- scripts ----------------------------------------------------------------------------------

script() { # NAME TEXT (for printf)
	# shellcheck disable=SC2059
	printf "$2" >"$dir/$1"
}
script good.sh '#!/bin/sh\ntrue\n'
script plain.sh 'true\n'
script crlf.sh '#!/bin/sh\r\ntrue\r\n'
script nul.sh '#!/bin/sh\n\000\n'
script empty.sh ''
script bad.sh '#!/bin/sh\n\n#GPUSCHED --time=soon\n'
script quote.sh '#!/bin/sh\n#GPUSCHED -J "x\n'
expect 1 "plain.sh:1: the first line must name the interpreter" gsubmit "$dir/plain.sh"
expect 1 "crlf.sh:1: the line ends as in DOS (CR LF)" gsubmit "$dir/crlf.sh"
expect 1 "nul.sh:2: a NUL byte" gsubmit "$dir/nul.sh"
expect 1 "the script is empty" gsubmit "$dir/empty.sh"
expect 1 "No such file or directory" gsubmit "$dir/none.sh"
expect 1 "Is a directory" gsubmit "$dir"
expect 2 "bad.sh:3: --time=soon" gsubmit "$dir/bad.sh"
expect 2 "quote.sh:2: the quote \"" gsubmit "$dir/quote.sh"
expect 2 "--wrap" gsubmit --wrap=true "$dir/good.sh"
input=$dir/plain.sh expect 1 "standard input:1:" gsubmit
head -c 5242880 /dev/zero | tr '\0' '#' >>"$dir/good.sh"
expect 1 "more than 4 MiB" gsubmit "$dir/good.sh"
script good.sh '#!/bin/sh\ntrue\n'
GSUBMIT_TIME=never expect 2 "GSUBMIT_TIME=never" gsubmit "$dir/good.sh"
GSUBMIT_TIM=5 expect 2 "GSUBMIT_TIM: no option has this variable" gsubmit "$dir/good.sh"
expect 125 "--test-only and --wait exclude each other" gsubmit --test-only --wait "$dir/good.sh"

# --- no controller ------------------------------------------------------------------------------

expect 125 "munge" grun true
for c in "gsubmit --wrap true" "gqueue" "gcancel 1" "ginfo" "ginfo -N" "gprio" "gshare" "gacct" "greport use" "glog 1" "gctl ping" "gctl stats" \
	"gctl show job 1" "gctl hold 1" "gctl drain n1 why"; do
	# shellcheck disable=SC2086
	expect 4 "munge" $c
done
expect 4 "gsubmit --token=" gsubmit "$dir/good.sh"
expect 4 "gsubmit --token=mine" gsubmit --token=mine "$dir/good.sh"
json=yes expect 4 "munge" gqueue --json
grep -q '^{"version":1,"cluster":"test","jobs":\[\],"error":{"code":"munge.down",' "$dir/out" ||
	fail "gqueue --json: $(cat "$dir/out")"
GPUSCHED_CONF=$dir/none.conf GPUSCHED_CLUSTER= GPUSCHED_CONTROLLER= expect 1 "none.conf" gqueue
GPUSCHED_CONTROLLER_USER=no.such.user expect 1 "no.such.user" gqueue
GPUSCHED_RETRY=soon expect 2 "GPUSCHED_RETRY=soon" gqueue
if [ "$gtop" ]; then
	expect 2 "standard output is no terminal" gtop
	expect 2 "--screen=x: no such screen" gtop --screen=x
	expect 4 "munge" gtop --once
fi
# With --wait every failure of our own is 125, so that it is no exit status of a job.
expect 125 "munge" gsubmit --wait --wrap true
expect 125 "No such file" gsubmit --wait "$dir/none.sh"
expect 125 "--time=x" gsubmit --wait --time=x

# What was printed must have arrived.
if [ -w /dev/full ]; then
	checked=$((checked + 1))
	cmds/gctl list-errors >/dev/full 2>"$dir/err"
	[ $? -eq 1 ] && grep -q "standard output: " "$dir/err" || fail "gctl list-errors >/dev/full"
fi

# --- manuals ------------------------------------------------------------------------------------

# The long options of --help, and those of the manual's .It lines.
long_options() {
	"cmds/$1" --help | sed -n 's/^  *\(-[A-Za-z?], *\)*--\([a-z-]*\).*/\2/p
s/^  *-[A-Za-z?], -[A-Za-z?], --\([a-z-]*\).*/\1/p' | sort -u
	"cmds/$1" --help | grep -o ', --[a-z-]*' | sed 's/^, --//' | sort -u
}
documented() {
	grep '^\.It Fl' "$src/man/$1.1" | grep -o 'Fl -[a-z-]*' | sed 's/^Fl -//' | sort -u
}
letters() {
	"cmds/$1" --help | sed -n 's/^  *-\([A-Za-z]\)[,=].*/\1/p' | sort -u
}
documented_letters() {
	grep '^\.It Fl' "$src/man/$1.1" | sed -n 's/^\.It Fl \([A-Za-z]\) ,.*/\1/p' | sort -u
}
for c in gsubmit gqueue gcancel ginfo gctl gprio gserve gshare gacct greport glog grun $gtop; do
	checked=$((checked + 1))
	long_options $c | sort -u >"$dir/have"
	documented $c >"$dir/told"
	[ -s "$dir/have" ] || fail "$c --help lists no options"
	cmp -s "$dir/have" "$dir/told" || fail "$c.1: options: $(diff "$dir/have" "$dir/told")"
	letters $c >"$dir/have"
	documented_letters $c >"$dir/told"
	cmp -s "$dir/have" "$dir/told" || fail "$c.1: letters: $(diff "$dir/have" "$dir/told")"
done

# Columns (upper case, two blanks in front) and subcommands.
columns() {
	"cmds/$1" --help | sed -n '/^Columns/,$s/^  \([A-Z][A-Z0-9()-]*\)  .*/\1/p' | sort
}
documented_columns() {
	sed -n '/^\.Ss Columns/,/^\.S[hs] [^C]/s/^\.It Cm \([A-Z0-9()-]*\)$/\1/p' "$src/man/$1.1" | sort
}
for c in gqueue ginfo gprio gserve gshare gacct greport; do
	checked=$((checked + 1))
	columns $c >"$dir/have"
	documented_columns $c >"$dir/told"
	[ -s "$dir/have" ] || fail "$c --help lists no columns"
	cmp -s "$dir/have" "$dir/told" || fail "$c.1: columns: $(diff "$dir/have" "$dir/told")"
done
cmds/gctl --help | sed -n '/^Subcommands:/,$s/^  \([a-z][a-z -]*[a-z]\) .*/\1/p' | sort >"$dir/have"
sed -n 's/^\.It Ic \([a-z -]*[a-z]\).*/\1/p' "$src/man/gctl.1" | sed 's/ Ar.*//; s/ Op.*//' | sort >"$dir/told"
[ -s "$dir/have" ] || fail "gctl --help lists no subcommands"
# Each has a help of its own, which gctl help prints too; nothing is wider than a terminal.
while read -r sub; do
	# shellcheck disable=SC2086
	expect 0 "Examples:" gctl help $sub
	# shellcheck disable=SC2086
	[ "$sub" = help ] || [ "$(cmds/gctl help $sub)" = "$(cmds/gctl $sub --help)" ] || fail "gctl $sub --help is not gctl help $sub"
	awk -v of="gctl help $sub" 'length($0) > 79 { print "FAIL: " of ": " $0; bad = 1 } END { exit bad }' "$dir/out" || failed=$((failed + 1))
done <"$dir/have"
expect 2 "no such subcommand" gctl help nosuch
expect 0 "Usage: gctl drain" gctl drain n1 --help
cmp -s "$dir/have" "$dir/told" || fail "gctl.1: subcommands: $(diff "$dir/have" "$dir/told")"

# Reasons, states and error codes: the words that the programs have.
words_of() { # PAGE SECTION
	sed -n "/^\\.Ss $2/,/^\\.S[hs] [^${2%"${2#?}"}]/s/^\\.It \\(Cm \\)\\{0,1\\}//p" "$src/man/$1"
}
compare() { # WHAT
	[ -s "$dir/have" ] || fail "$1: there are none"
	cmp -s "$dir/have" "$dir/told" || fail "$1: $(diff "$dir/have" "$dir/told")"
}
checked=$((checked + 3))
cmds/gctl list-reasons | cut -d' ' -f1 | sort >"$dir/have"
words_of gqueue.1 Reasons | tr ' ' '\n' | sort >"$dir/told"
compare "gqueue.1: reasons"
cmds/gctl list-errors | awk '{ print $1, "Pq", $2 }' | sort >"$dir/have"
words_of gctl.1 "Error codes" | sort >"$dir/told"
compare "gctl.1: error codes"
cmds/gqueue -t NOSUCH 2>&1 | sed -n 's/^hint: //p' | tr ' ' '\n' | sort >"$dir/have"
words_of gqueue.1 States | cut -d' ' -f1 | sort >"$dir/told"
compare "gqueue.1: states"
for code in $(words_of gqueue.1 States | cut -d' ' -f2); do
	expect 4 "" gqueue -t "$code"
done

# Every function of the C API.
sed -n 's/^.*[ *]\(gpusched_[a-z_]*\)(.*/\1/p' "$src/cmds/api/gpusched.h" | sort -u >"$dir/have"
grep -o 'F[no] gpusched_[a-z_]*' "$src/man/gpusched.3" | cut -d' ' -f2 | sort -u >"$dir/told"
comm -23 "$dir/told" "$dir/have" | grep . && fail "gpusched.3 tells of what there is not"
for f in $(nm -D --defined-only --without-symbol-versions .libs/libgpusched.so 2>/dev/null | awk '$2 != "A" { print $3 }'); do
	case $f in
	gpusched_[a-z]*_sized) continue ;; # what the macros of the header call
	gpusched_[a-z]*) ;;
	*) fail "libgpusched.so exports $f" ;;
	esac
	grep -qx "$f" "$dir/told" || fail "gpusched.3 lacks $f"
done

# The manual's example compiles as C, the header also as C++, and what is built runs.
if have "${CC:-cc}" gcc && [ -f .libs/libgpusched.so ] && ! ldd .libs/libgpusched.so | grep -q asan; then
	checked=$((checked + 1))
	sed -n '/^\.Sh EXAMPLES/,/^\.Ed/p' "$src/man/gpusched.3" | sed '/^\./d; s/\\e/\\/g' >"$dir/example.c"
	"${CC:-cc}" -Wall -Wextra -Werror -I"$src/cmds/api" -o "$dir/example" "$dir/example.c" -L.libs -lgpusched ||
		fail "gpusched.3: the example does not compile"
	LD_LIBRARY_PATH=.libs "$dir/example" >"$dir/out" 2>"$dir/err"
	[ $? -eq 1 ] && grep -q "munge" "$dir/err" || fail "gpusched.3: the example says $(cat "$dir/err")"
	sed -n '/^\.Sh EXAMPLES/,/^\.Ed/p' "$src/man/drmaa.3" | sed '1,/^\.Bd/d; /^\./d; s/\\e/\\/g' >"$dir/example.c"
	"${CC:-cc}" -Wall -Wextra -Werror -I"$src/cmds/drmaa" -o "$dir/example" "$dir/example.c" -L.libs -ldrmaa ||
		fail "drmaa.3: the example does not compile"
	printf '#include "gpusched.h"\n#include "drmaa.h"\nint main() { return gpusched_version() == 0; }\n' >"$dir/header.cc"
	if have c++ g++; then
		c++ -Wall -Werror -fsyntax-only -I"$src/cmds/api" -I"$src/cmds/drmaa" "$dir/header.cc" ||
			fail "gpusched.h or drmaa.h is no C++"
	fi
fi

# Each attribute of DRMAA is in its manual.
for a in $(sed -n 's/^#define DRMAA_[A-Z_]* *"\(drmaa_[a-z_]*\)".*/\1/p' "$src/cmds/drmaa/drmaa.h" | grep -v '_active$\|_hold$'); do
	grep -q "$a" "$src/man/drmaa.3" || fail "drmaa.3 lacks $a"
done

if have mandoc mandoc; then
	for m in gsubmit.1 gqueue.1 gcancel.1 ginfo.1 gctl.1 gprio.1 gserve.1 gshare.1 gacct.1 greport.1 glog.1 grun.1 gpusched.3 drmaa.3; do
		checked=$((checked + 1))
		mandoc -Tlint "$src/man/$m" 2>&1 | grep -v "mandoc.db\|referenced manual not found" >"$dir/lint"
		[ ! -s "$dir/lint" ] || fail "$(cat "$dir/lint")"
	done
fi

# --- what a start costs: only what is needed is loaded ----------------------------------------------

if have ldd libc-bin; then
	for lib in smartcols event sqlite; do
		ldd cmds/gsubmit | grep -q "lib$lib" && fail "gsubmit loads lib$lib"
	done
fi

echo "$checked checks, $failed failed"
[ $failed -eq 0 ]
