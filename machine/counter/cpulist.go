// SPDX-License-Identifier: MIT

package counter

import "github.com/zcbench/zcbench/internal/cpulist"

// FormatCPUList writes CPUs as the kernel does, see [cpulist.Format].
func FormatCPUList(cpus []int) string { return cpulist.Format(cpus) }

// ParseCPUList reads the kernel's list format, see [cpulist.Parse].
func ParseCPUList(s string) ([]int, error) { return cpulist.Parse(s) }
