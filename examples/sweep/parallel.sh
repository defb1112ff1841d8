#!/usr/bin/env bash
# Runs a plan with GNU parallel: one process for each debate, eight at once.
#
#   examples/sweep/parallel.sh plan.jsonl /shared/set.store [options of parallel, such as --sshloginfile machines]
#
# Other machines must have the plan and the store under the same path.
set -euo pipefail
plan=$1 store=$2
shift 2
# On another machine, a relative path would be one below the home directory.
[[ $plan == /* ]] || plan=$PWD/$plan
[[ $store == /* || $store == s3://* ]] || store=$PWD/$store
debates=$(($(wc -l <"$plan") - 1))

# `parallel --retries` would also repeat what must not be repeated, so each job looks at its exit code itself.
one() {
    local attempt code
    for attempt in {1..20}; do
        code=0
        dialectic sweep run "$1" --store "$2" --index "$3" --quiet || code=$?
        # 75: try again. Anything else is final: 0 is finished, and others would fail again.
        [[ $code -eq 75 ]] || return "$code"
        sleep "$attempt"
    done
    return 75
}
export -f one

# Each process gets its share of the signal, and 30 seconds to store the answers in flight.
seq 0 $((debates - 1)) |
    parallel --env one --jobs 8 --termseq TERM,30000,KILL,25 "$@" one "$(printf %q "$plan")" "$(printf %q "$store")" {}
