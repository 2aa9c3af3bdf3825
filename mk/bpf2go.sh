#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bpf2go.sh NAME FILE.bpf.c compiles eBPF programs for the package of a folder: go generate runs it.
set -euo pipefail
exec go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target bpfel -no-global-types \
	-cflags "-O2 -mcpu=v3 -Wall -Wno-unused-function -Werror" "$@"
