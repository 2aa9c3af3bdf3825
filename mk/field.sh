#!/usr/bin/env bash
# field.sh DIR builds the C programs that make bench-lab compares with, static,
# into DIR/bin, from sources in DIR/liburing and DIR/kperf (with its submodules
# ccan, ynl-c and liburing). What is missing is said and left out.
set -euo pipefail
dir=$1 jobs=$(nproc)
mkdir -p "$dir/bin"

skip() { echo "SKIPPED: $*" >&2; }

# quietly NAME CMD... runs CMD; its output shows when it fails.
quietly() {
	local name=$1 log
	shift
	log=$(mktemp)
	"$@" >"$log" 2>&1 && { rm -f "$log"; return; }
	tail -20 "$log" >&2
	rm -f "$log"
	skip "$name: its build failed"
	return 1
}

build_liburing() ( # in $1
	cd "$1" && { [ -e config-host.mak ] || ./configure --cc=gcc; } && make -j"$jobs" -C src
)

build_zcrx() (
	cd "$dir/liburing" && build_liburing . &&
		gcc -O2 -static -D_GNU_SOURCE -D__SANE_USERSPACE_TYPES__ -Isrc/include -Iexamples -o "$dir/bin/zcrx" examples/zcrx.c examples/helpers.c src/liburing.a
)

build_kperf() (
	cd "$dir/kperf" && build_liburing liburing &&
		make server client LIBS="-static -lm -Lccan -pthread -lccan -Lynl-c -lynl liburing/src/liburing.a" &&
		cp server "$dir/bin/kperf-server" && cp client "$dir/bin/kperf-client"
)

if [ -x "$dir/bin/zcrx" ]; then :
elif [ -e "$dir/liburing/examples/zcrx.c" ]; then quietly zcrx build_zcrx || true
else skip "liburing's zcrx: put the sources of liburing 2.13 or later into $dir/liburing"; fi

if [ -x "$dir/bin/kperf-server" ]; then :
elif [ -e "$dir/kperf/server.c" ]; then quietly kperf build_kperf || true
else skip "kperf: put its sources, with submodules, into $dir/kperf"; fi

if ! [ -x "$dir/bin/ncdevmem" ]; then
	found=$(ls -t "$(dirname "$dir")"/lab/selftests/*/ncdevmem 2>/dev/null | head -1)
	if [ -n "$found" ]; then cp "$found" "$dir/bin/"; else skip "ncdevmem: make lab-selftests builds it"; fi
fi
