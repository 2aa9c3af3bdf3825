#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# field.sh DIR fetches and builds the C programs that make bench-lab compares
# with, static, into DIR/bin. Their sources come from their public places by git,
# each at one commit, whose hash git checks; those of kperf's submodules are in
# its commit. What cannot be had is said and left out, and is tried again the
# next time. Nothing of them becomes part of this repository.
set -euo pipefail
"$(dirname "$0")/trusted.sh" "$1" # their makefiles run here
umask 022
dir=$1 jobs=$(nproc)
mkdir -p "$dir/bin"

liburing_url=https://github.com/axboe/liburing.git
liburing_commit=d41bf9220ec39277ff235379e9089d9e0fd6c2a5 # 2.15
kperf_url=https://github.com/facebookexperimental/kperf.git
kperf_commit=88425ff5238c377dfcabf9a05b101f00b54c788e

skip() { echo "SKIPPED: $*" >&2; }

# quietly NAME CMD... runs CMD; its output shows when it fails.
quietly() {
	local name=$1 log
	shift
	log=$(mktemp)
	"$@" >"$log" 2>&1 && { rm -f "$log"; return; }
	tail -20 "$log" >&2
	rm -f "$log"
	skip "$name: see above"
	return 1
}

# fetch NAME URL COMMIT makes DIR/NAME, with its submodules. It appears by rename
# once it is complete.
fetch() {
	local name=$1 url=$2 commit=$3 new
	[ -e "$dir/$name" ] && return
	if ! command -v git >/dev/null; then
		skip "$name: git is not installed"
		return 1
	fi
	new=$(mktemp -d "$dir/.$name.XXXXXX")
	if quietly "fetch $name" clone "$new" "$url" "$commit"; then
		mv -T "$new" "$dir/$name"
		return
	fi
	rm -rf "$new"
	echo "  without a network: put the sources of $url at $commit, with submodules, into $dir/$name" >&2
	return 1
}

clone() (
	cd "$1" && export GIT_TERMINAL_PROMPT=0 &&
		git init -q && git fetch -q --depth 1 "$2" "$3" && git checkout -q --detach FETCH_HEAD &&
		git submodule --quiet update --init --depth 1
)

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
		cp client "$dir/bin/kperf-client" && cp server "$dir/bin/kperf-server"
)

if ! [ -x "$dir/bin/zcrx" ] && fetch liburing $liburing_url $liburing_commit; then
	quietly "build zcrx" build_zcrx || true
fi
if ! [ -x "$dir/bin/kperf-server" ] && fetch kperf $kperf_url $kperf_commit; then
	quietly "build kperf" build_kperf || true
fi
