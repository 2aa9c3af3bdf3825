#!/usr/bin/env bash
# test.sh GOTESTSUM runs all tests: once with the race detector, and without it
# those whose subject the detector would change (allocations, timing).
set -euo pipefail
gotestsum=$1
export CGO_ENABLED=1

"$gotestsum" --format pkgname-and-test-fails --format-hide-empty-pkg -- -race -timeout 20m ./...
