// SPDX-License-Identifier: MIT

//go:build !giouring

package uring

// builtIn are the engines of this program, the default first.
var builtIn = []made{ours}
