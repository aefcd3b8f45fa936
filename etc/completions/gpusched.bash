# gpusched.bash - completion for the commands of gpusched in bash
#
# Options come from each command's --help, names from the cluster: jobs from gqueue, partitions, nodes,
# features and types of GPUs from ginfo, accounts from gshare, QOS from gctl, services from gserve. A cluster that does not answer within a second completes nothing.

# Ask the cluster, briefly. Fields that were cut for the screen ("name+") are none.
_gpusched_ask() {
    GPUSCHED_RETRY=0 timeout 1 "$@" 2>/dev/null
}

_gpusched_jobs() {
    _gpusched_ask gqueue --noheader --csv -o JOBID
}

_gpusched_partitions() {
    _gpusched_ask ginfo --noheader --csv -o PARTITION | tr -d '*'
}

_gpusched_nodes() {
    _gpusched_ask ginfo -N --noheader --csv -o NODE
}

_gpusched_accounts() {
    _gpusched_ask gshare --noheader --csv -o ACCOUNT | tr -d ' '
}

_gpusched_qos() {
    _gpusched_ask gctl show config qos | sed -n 's/^.*name = "\([^"]*\)".*/\1/p'
}

_gpusched_features() {
    _gpusched_ask ginfo -N --noheader --csv -o FEATURES | tr -d '"-' | tr ',' '\n' | sort -u
}

_gpusched_types() {
    _gpusched_ask ginfo --noheader --csv -o GPUS | grep -v -e '^-$' -e '^shares$' | sort -u
}

_gpusched_users() {
    _gpusched_ask gqueue --noheader --csv -o USER
}

_gpusched_services() {
    _gpusched_ask gserve --noheader --csv -o NAME
}

# The long options of a command (or of a subcommand: "gctl update").
_gpusched_options() {
    "$@" --help 2>/dev/null | grep -oE '^ +(-.,( -[^-],)* )?--[a-z-]+=?|, --[a-z-]+=?' | grep -oE -e '--[a-z-]+=?' | sort -u
}

# What gctl or gserve does: the first word of each line of its list, or what stands behind `$2`.
_gpusched_subcommands() {
    "$1" --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z].*\)/\1/p' |
        awk -v first="${2-}" '{ if (first == "") print $1; else if ($1 == first && $2 ~ /^[a-z]+$/) print $2 }' | sort -u
}

_gpusched_columns() {
    "$1" --help 2>/dev/null | sed -n '/^Columns/,$s/^  \([A-Z][A-Z()-]*\)  .*/\1/p' | sort -u
}

# Offer what begins like the part behind the last comma of `cur`.
_gpusched_offer() {
    local before=""

    case $cur in *,*) before=${cur%,*},; cur=${cur##*,} ;; esac
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$*" -- "$cur")
}

_gpusched_files() {
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    compopt -o filenames 2>/dev/null
}

# The value of an option. Returns 1 where nothing is known of it.
_gpusched_value() { # COMMAND OPTION
    case $2 in
    --partition | --partitions | -p) _gpusched_offer "$(_gpusched_partitions)" ;;
    --account | --accounts | -A) _gpusched_offer "$(_gpusched_accounts)" ;;
    --jobs | --job | -j | --why | --dependency | --attach) _gpusched_offer "$(_gpusched_jobs)" ;;
    --nodelist | --exclude | -w | -x) _gpusched_offer "$(_gpusched_nodes)" ;;
    --user | --users | -u) _gpusched_offer "$(_gpusched_users | sort -u)" ;;
    --states | -t)
        case $1 in gsubmit | grun) return 1 ;; esac
        _gpusched_offer "PENDING CONFIGURING RUNNING SUSPENDED COMPLETING COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL PREEMPTED OUT_OF_MEMORY DEADLINE" ;;
    --qos | -q | --burst-qos) _gpusched_offer "$(_gpusched_qos)" ;;
    --constraint | --prefer | -C) _gpusched_offer "$(_gpusched_features)" ;;
    --gpus | --gpus-per-node | --gpus-per-task | -G)
        case $1 in gsubmit | grun | gctl | gserve) ;; *) return 1 ;; esac
        _gpusched_offer "$(_gpusched_types | sed 's/$/:/')"
        compopt -o nospace 2>/dev/null ;;
    --nodes)
        case $1 in gsubmit | grun) return 1 ;; esac
        [ "${COMP_WORDS[1]}" != update ] || return 1
        _gpusched_offer "$(_gpusched_nodes)" ;;
    --metrics) _gpusched_offer "vllm sglang tgi triton llamacpp file" ;;
    --ready | --live) _gpusched_offer "http:/ tcp file" ;;
    --service) _gpusched_offer "$(_gpusched_services)" ;;
    --mail-type) _gpusched_offer "BEGIN END FAIL REQUEUE INVALID_DEPEND TIME_LIMIT ALL NONE" ;;
    --kill-on-invalid-dep) _gpusched_offer "yes no" ;;
    --format | --sort | -o)
        if [ "$1 ${COMP_WORDS[1]}" = "gserve update" ] || [ "$1" = gsubmit ]; then _gpusched_files; else _gpusched_offer "$(_gpusched_columns "$1")"; fi ;;
    --open-mode) _gpusched_offer "append truncate" ;;
    --export) _gpusched_offer "ALL NONE" ;;
    --signal) _gpusched_offer "TERM USR1 USR2 INT HUP KILL" ;;
    --output | --error | --input | --bulk | --file | -e | -i) _gpusched_files ;;
    --by | -b)
        case $1 in
        greport) _gpusched_offer "account user partition qos gpu state day label:" ;;
        *) _gpusched_offer "$(_gpusched_users | sort -u)" ;;
        esac ;;
    --service | -s)
        [ "$1" = gfeed ] || return 1
        _gpusched_offer "$(_gpusched_services)" ;;
    --haproxy | --nginx | --envoy | --prometheus | --litellm) _gpusched_files ;;
    --json)
        [ "$1" = gfeed ] || return 1
        _gpusched_files ;;
    --kind | -k) _gpusched_offer "job node partition controller cluster" ;;
    --chdir | -D) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    *) return 1 ;;
    esac
}

# What is no option.
_gpusched_argument() { # COMMAND
    case $1 in
    gsubmit) _gpusched_files ;;
    greport) _gpusched_offer "use wait cost" ;;
    grun) mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur") ;;
    gcancel | gqueue | gprio | glog) _gpusched_offer "$(_gpusched_jobs)" ;;
    gweb) [ "$COMP_CWORD" -ne 1 ] || _gpusched_offer "login sign" ;;
    gactivate)
        _gpusched_offer "$(_gpusched_services | sed 's/$/=/')"
        compopt -o nospace 2>/dev/null ;;
    gserve)
        case $COMP_CWORD:${COMP_WORDS[1]} in
        1:*) _gpusched_offer "$(_gpusched_subcommands "$1"; _gpusched_services)" ;;
        2:help) _gpusched_offer "$(_gpusched_subcommands "$1")" ;;
        2:update) _gpusched_offer "$(_gpusched_services)" ;;
        *:update) _gpusched_files ;;
        *) _gpusched_offer "$(_gpusched_services)" ;;
        esac ;;
    gctl)
        case $COMP_CWORD:${COMP_WORDS[1]} in
        1:*) _gpusched_offer "$(_gpusched_subcommands "$1")" ;;
        2:help) _gpusched_offer "$(_gpusched_subcommands "$1")" ;;
        2:show | 2:node) _gpusched_offer "$(_gpusched_subcommands "$1" "${COMP_WORDS[1]}")" ;;
        *:archive | *:backup | *:verify) _gpusched_files ;;
        *:hold | *:release | *:requeue | *:suspend | *:update | *:wait | *:renew) _gpusched_offer "$(_gpusched_jobs)" ;;
        *:resume) _gpusched_offer "$(_gpusched_nodes; _gpusched_jobs)" ;;
        *:drain | *:node) _gpusched_offer "$(_gpusched_nodes)" ;;
        2:partition) _gpusched_offer "$(_gpusched_partitions)" ;;
        3:partition) _gpusched_offer "up drain down inactive" ;;
        *:show)
            case ${COMP_WORDS[2]} in
            node) _gpusched_offer "$(_gpusched_nodes)" ;;
            partition) _gpusched_offer "$(_gpusched_partitions)" ;;
            *) _gpusched_offer "$(_gpusched_jobs)" ;;
            esac ;;
        esac ;;
    esac
}

_gpusched() {
    local command=${COMP_WORDS[0]##*/} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local help=("$command")

    COMPREPLY=()
    # "--partition=x" comes as three words, as bash breaks lines at "="
    if [ "$cur" = "=" ]; then
        cur=
        _gpusched_value "$command" "$prev"
        return 0
    fi
    if [ "$prev" = "=" ] && [ "$COMP_CWORD" -gt 2 ]; then
        _gpusched_value "$command" "${COMP_WORDS[COMP_CWORD - 2]}"
        return 0
    fi
    case $cur in
    -*)
        case "$command ${COMP_WORDS[1]}" in "gctl update" | "gctl events" | "gserve update") help+=("${COMP_WORDS[1]}") ;; esac
        mapfile -t COMPREPLY < <(compgen -W "$(_gpusched_options "${help[@]}")" -- "$cur")
        [ "${#COMPREPLY[@]}" -ne 1 ] || case ${COMPREPLY[0]} in *=) compopt -o nospace 2>/dev/null ;; esac
        return 0 ;;
    esac
    case $prev in -*) _gpusched_value "$command" "$prev" && return 0 ;; esac
    _gpusched_argument "$command"
    return 0
}

complete -F _gpusched gsubmit gqueue gcancel ginfo gctl gprio gserve gshare gacct greport glog grun gfeed gactivate gweb
