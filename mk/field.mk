# SPDX-License-Identifier: MIT
# Zero-copy receive beside the field's C programs, in the lab. Included by the
# main Makefile.
#
#   make bench-lab FIELD=DIR BLOCKS=5 WINDOW=300ms ONLY=GROUP
#
# DIR, by default the field folder of the user's cache, gets in DIR/bin, static:
#
#   zcrx                        examples/zcrx.c of liburing
#   kperf-server, kperf-client  of kperf
#   ncdevmem                    of the kernel, by make lab-selftests' way
#
# They are other people's programs, fetched from where those publish them
# (mk/field.sh), and no part of this repository. What cannot be had is said and
# left out.

FIELD  ?= $(CACHE)/field
BLOCKS ?= 5
WINDOW ?= 300ms
ONLY   ?=

.PHONY: field bench-lab

field: build ## fetch and build the field's C programs for make bench-lab
	@mk/apt.sh git:git gcc:gcc make:make libc6-dev:/usr/include/stdlib.h || true
	@mk/field.sh '$(FIELD)'
	@[ -x '$(FIELD)/bin/ncdevmem' ] || { dir=$$(bin/zcbench lab selftests --build) && cp "$$dir/ncdevmem" '$(FIELD)/bin/'; } || echo 'SKIPPED: ncdevmem: see above' >&2

bench-lab: lab ## compare zero-copy receive with the field's C programs, in the lab (20 minutes)
	@why="$(lab_why)"; if [ -n "$$why" ]; then echo "SKIPPED: make bench-lab: $$why"; exit 0; fi; \
	$(MAKE) --no-print-directory field || exit 1; \
	[ -x '$(FIELD)/bin/zcrx' ] || [ -x '$(FIELD)/bin/kperf-server' ] || [ -x '$(FIELD)/bin/ncdevmem' ] || { echo "SKIPPED: make bench-lab: nothing to compare with"; exit 0; }; \
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o bin/field ./tools/field || exit 1; \
	bin/zcbench lab exec --count-time --cpus 1 --timeout 90m --file '$(CURDIR)/bin/zcrecv' --file '$(CURDIR)/bin/zcsend' --file '$(FIELD)/bin' -- \
		'$(CURDIR)/bin/field' --bin '$(CURDIR)/bin' --programs '$(FIELD)/bin' --blocks $(BLOCKS) --window $(WINDOW) --only '$(ONLY)'
