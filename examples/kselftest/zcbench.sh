#!/bin/sh
# SPDX-License-Identifier: MIT
#
# zcbench as a test of the kernel's selftests. Copy this file to
# tools/testing/selftests/drivers/net/hw/ (or drivers/net/), add zcbench.sh to TEST_PROGS of the
# Makefile there, and see that zcbench is in the path, or name it: ZCBENCH=/opt/zcbench.
# The interface comes from the environment or from net.config, as drivers/net/README.rst says.
# Flags: KSELFTEST_ZCBENCH_SH_ARGS="--modes zcrx,devmem" for the runner, or arguments here.
# See docs/ksft.md of zcbench.

zcbench=${ZCBENCH:-zcbench}
if ! command -v "$zcbench" >/dev/null; then
	echo "KTAP version 1"
	echo "1..0 # SKIP no program $zcbench: put it into the path, or name it in ZCBENCH"
	exit 4
fi
exec "$zcbench" ksft --dir "$(dirname "$0")" "$@"
