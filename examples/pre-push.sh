#!/bin/sh
# Has each branch reviewed before it is pushed, for at most $0.50 a branch. Copy this to .git/hooks/pre-push and make it
# executable; to push without it: git push --no-verify
#
# git says on standard input what is pushed: <local ref> <local commit> <remote ref> <remote commit>
none=$(git hash-object --stdin </dev/null | tr '0-9a-f' '0')

while read -r _ local ref remote; do
    # Tags and deleted branches have no change.
    case $ref in refs/heads/*) ;; *) continue ;; esac
    [ "$local" = "$none" ] && continue
    # A new branch is compared with the main one.
    set -- review --head "$local" --fail-on blocking --max-cost 0.50
    [ "$remote" = "$none" ] || set -- "$@" --base "$remote"
    dialectic "$@" </dev/null
    case $? in
        0) ;;
        6) echo 'pre-push: a finding is blocking; nothing was pushed' >&2; exit 1 ;;
        *) echo 'pre-push: the review is not complete; pushed all the same' >&2 ;;
    esac
done
exit 0
