#!/usr/bin/env bash
# npm run test:long: what takes hours, by hand and before a release, on a machine that does nothing else. Each number may be set.
set -uo pipefail
export KILLS=${KILLS:-200} DELIVERIES=${DELIVERIES:-5000} RUNS=${RUNS:-200}
export FUZZ_LONG=yes SCHEMATHESIS_SECONDS=${SCHEMATHESIS_SECONDS:-300}
status=0
npx jest --selectProjects faults repeated attacks generators "$@" || status=1
# Limits in milliseconds: nothing else may run beside it.
npx jest --selectProjects crowds --runInBand "$@" || status=1
exit $status
