# Zero-copy receive beside the field's C programs, in the lab. Included by the
# main Makefile.
#
#   make bench-lab FIELD=DIR
#
# DIR, by default the field folder of the user's cache, holds what there is of:
#
#   zcrx                        examples/zcrx.c of liburing
#   kperf-server, kperf-client  of kperf
#   ncdevmem                    of the kernel (taken from make lab-selftests)
#
# all static. make field builds zcrx and kperf from sources in DIR/liburing and
# DIR/kperf, which the user puts there: they are other people's programs, and no
# part of this repository.

FIELD  ?= $(CACHE)/field
BLOCKS ?= 3
WINDOW ?= 250ms

.PHONY: field bench-lab

field: ## build the field's C programs for make bench-lab from sources in FIELD
	@mk/field.sh '$(FIELD)'

bench-lab: lab field ## compare zero-copy receive with the field's C programs, in the lab
	@why="$(lab_why)"; if [ -n "$$why" ]; then echo "SKIPPED: make bench-lab: $$why"; exit 0; fi; \
	[ -x '$(FIELD)/bin/zcrx' ] || [ -x '$(FIELD)/bin/kperf-server' ] || { echo "SKIPPED: make bench-lab: nothing to compare with; mk/field.mk says what goes into $(FIELD)"; exit 0; }; \
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o bin/field ./bench/field || exit 1; \
	bin/zcbench lab exec --count-time --timeout 60m --file '$(CURDIR)/bin/zcrecv' --file '$(CURDIR)/bin/zcsend' --file '$(FIELD)/bin' -- \
		'$(CURDIR)/bin/field' --bin '$(CURDIR)/bin' --programs '$(FIELD)/bin' --blocks $(BLOCKS) --window $(WINDOW)
