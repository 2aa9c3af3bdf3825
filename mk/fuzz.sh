#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fuzz.sh TIME runs every fuzz target of the module for TIME.
set -euo pipefail
time=$1
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -r -n1 dirname | sort -u | while read -r dir; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //' | sort -u | while read -r target; do
		echo "== $dir $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 100x "$dir" </dev/null
	done
done
