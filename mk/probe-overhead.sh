#!/bin/sh
# SPDX-License-Identifier: MIT
# What the probes' programs and a sample of the profile take each time, beside a flow in bulk over
# loopback, as JSON:
#   mk/probe-overhead.sh FILE
set -eu
file=${1:?usage: mk/probe-overhead.sh FILE}
port=${PORT:-7797}
seconds=18 # each probe by itself, beside an empty program and the common design, four times; samples, a quarter as long
recv= send=
trap 'kill $recv $send 2>/dev/null || :' EXIT
bin/zcrecv --mode tcp --listen "127.0.0.1:$port" --duration 60s >/dev/null 2>&1 & recv=$!
tries=100
until bin/zcsend --mode tcp --duration "$((seconds + 12))s" "127.0.0.1:$port" >/dev/null 2>&1 & send=$!
      sleep 1; kill -0 "$send" 2>/dev/null; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { echo "$0: no flow to 127.0.0.1:$port" >&2; exit 1; }
done
bin/zcbench probe --port "$port" --sample 16 --syscalls "$recv" --drops --profile --overhead --json --duration "${seconds}s" >"$file"
