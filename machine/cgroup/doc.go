// SPDX-License-Identifier: MIT

// Package cgroup reads what the control groups that a process is in allow it, and what that
// cost: limits of CPU time and of memory, how often they held it back, and how long tasks
// waited. A limit of any group above the process's own counts like its own, so each level is
// read, of version 2 and of version 1.
package cgroup
