// SPDX-License-Identifier: MIT

// Package docs has the pages of this folder, for zcbench explain.
package docs

import "embed"

// Pages are the files *.md, by name.
//
//go:embed *.md
var Pages embed.FS
