#!/usr/bin/env bash
# measure.sh OUT.jsonl [PATTERN]: run the cases of cases.txt whose label matches PATTERN (an extended regular
# expression), each REPS times on a fresh rig, and append one JSON line per run. `rigbench report OUT.jsonl`
# makes the table. A run during which other work kept more than 0.4 of a processor busy is kept but repeated,
# up to SPARE times per case; the report prefers the least disturbed REPS runs.
# Environment: REPS (3), SPARE (2) repeats of disturbed runs, RIG_FLAGS (extra flags of `rig.sh up`), CASES
# (file), ONLY (one of the kinds below). Kinds: sched (kube-scheduler) and null (the null binder) always;
# BERTH=executable adds berth; BERTH_ALWAYS=1 adds berth-always, Berth with a BindRequest object a pod;
# NULL_REQUESTS=1 adds null-requests, a null binder that writes BindRequests too; NULL_GROUPS=1 adds
# null-groups, one that writes a condition of each PodGroup too.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${RIG_CACHE:-$HOME/.cache/berth-rig}
out=$1 pattern=${2:-.}

run() { # LABEL SCHEDULER RIG_FLAGS BENCH_FLAGS
  local dir; dir=$(mktemp -d)
  # Word splitting of the flag lists is wanted.
  # shellcheck disable=SC2086
  if "$here/rig.sh" up "$dir" $3 ${RIG_FLAGS:-}; then
    "$cache/rigbench" -rig "$dir" -label "$1" $4 >>"$out" || echo "measure.sh: $1 ($2) failed" >&2
    grep -hE '^[EF][0-9]{4}|panic:' "$dir"/kube-*.log | sed -E 's/^([EF])[0-9]{4} [^ ]+ +[0-9]+/\1/' |
      cut -c1-200 | sort | uniq -c | sort -rn | head -3 >&2
  fi
  "$here/rig.sh" down "$dir" --purge
}

run_kind() { # KIND, of the case in $label, $rig and $bench
  case $1 in
    sched) run "$label" sched "$rig --scheduler" "$bench" ;;
    null) run "$label" null "$rig" "$bench -null-binder" ;;
    null-requests)
      run "$label" "$1" "$rig --crd" "$bench -null-binder -null-bind-requests -as null-requests"
      ;;
    null-groups) run "$label" "$1" "$rig" "$bench -null-binder -null-group-conditions -as null-groups" ;;
    berth) run "$label" berth "$rig --berth $BERTH" "$bench -as berth" ;;
    berth-always)
      BERTH_FLAGS='--bind-requests Always' run "$label" "$1" "$rig --berth $BERTH" "$bench -as berth-always"
      ;;
  esac
}

disturbed() { tail -n 1 "$out" | grep -qE '"foreignCPU":(0\.[4-9]|[1-9])'; }

kinds="sched null ${NULL_REQUESTS:+null-requests} ${NULL_GROUPS:+null-groups}"
kinds+=" ${BERTH:+berth} ${BERTH_ALWAYS:+berth-always}"
while IFS='|' read -r label rig bench; do
  label=$(echo $label)
  [[ -n $label && $label != \#* && $label =~ $pattern ]] || continue
  for kind in $kinds; do
    if [ "${ONLY:-$kind}" != $kind ]; then continue; fi
    if [[ $kind = null* && $bench =~ infeasible|preempt ]]; then continue; fi
    if [[ $kind = null-groups && ! $bench =~ gang|tas ]]; then continue; fi
    spare=${SPARE:-2}
    for ((i = 0; i < ${REPS:-3}; i++)); do
      run_kind "$kind"
      if [ $spare -gt 0 ] && disturbed; then spare=$((spare - 1)) i=$((i - 1)); fi
    done
  done
done <"${CASES:-$here/cases.txt}"
