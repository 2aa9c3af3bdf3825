# SPDX-License-Identifier: MIT
# Packages, and programs for hosts of other architectures: docs/packages.md. Included by the main
# Makefile.

PACKAGES   ?= out/packages
MAINTAINER ?= The zcbench authors <zcbench@zcbench.example>
NFPM       := $(TOOLS)/nfpm-$(call version,github.com/goreleaser/nfpm/v2)
$(NFPM): PACKAGE := github.com/goreleaser/nfpm/v2/cmd/nfpm

# They are built with the flags of make build: the same commit makes the same programs.
PACK = $(GO) run ./tools/packages --version '$(VERSION)' --build-flags "$$(printf '%s\n' $(BUILD))"

.PHONY: package agents

package: $(NFPM) ## make .deb, .rpm and .tar.gz for amd64 and arm64, with checksums, in out/packages (PACKAGES, MAINTAINER)
	@mk/trusted.sh '$(TOOLS)'
	@$(PACK) --nfpm '$(NFPM)' --maintainer '$(MAINTAINER)' --out '$(PACKAGES)'

agents: build ## build bin/agents, the programs that bin/zcbench sends to hosts of another architecture
	@$(PACK) --agents bin/agents
