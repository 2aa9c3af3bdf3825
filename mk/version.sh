#!/bin/sh
# SPDX-License-Identifier: MIT
# version.sh prints the version of this checkout, as semantic versioning has it. Tags are vX.Y.Z,
# or vX.Y.Z-rc.N before.
#
#   0.1.0                      the tag's commit
#   0.1.0+5.g0123456789ab      5 commits later
#   0.1.0-dev.1200+g0123...    before the first tag: of the newest version in CHANGELOG.md, commits
#   ... .dirty, +dirty         files that git knows were changed
#   devel                      no checkout, or no git
set -eu
cd "$(dirname "$0")/.."

# with SUFFIX appends to the build metadata.
with() { case $v in *+*) v=$v.$1 ;; *) v=$v+$1 ;; esac }

hash=$(git rev-parse --short=12 HEAD 2>/dev/null) || { echo devel; exit; }
if tag=$(git describe --tags --long --abbrev=12 --match 'v[0-9]*.[0-9]*.[0-9]*' 2>/dev/null); then
	tag=${tag%-g*}
	v=${tag%-*} v=${v#v}
	[ "${tag##*-}" = 0 ] || { with "${tag##*-}"; with "g$hash"; }
else
	next=$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
	v=${next:-0.0.0}-dev.$(git rev-list --count HEAD)
	with "g$hash"
fi
[ -z "$(GIT_OPTIONAL_LOCKS=0 git status --porcelain --untracked-files=no)" ] || with dirty
echo "$v"
