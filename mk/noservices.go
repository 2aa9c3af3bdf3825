// SPDX-License-Identifier: MIT

// Package mk is what the Makefile's scripts share with programs.
package mk

import "embed"

// NoServices holds the programs in folder no-services that stand first in PATH while
// packages are installed, so that no service starts. See install.sh.
//
//go:embed no-services
var NoServices embed.FS
