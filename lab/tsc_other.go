// SPDX-License-Identifier: MIT

//go:build !amd64

package lab

func rdtsc() uint64 { return 0 } // the lab is for x86-64
