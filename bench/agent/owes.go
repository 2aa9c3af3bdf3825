// SPDX-License-Identifier: MIT

package agent

import (
	"slices"

	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/ssh"
)

// owesSSH reports whether dead processes have left settings of an interface by which the
// controller comes, and [finishDead] would restore them. Those of a process that is just about to
// end are waited for, a journal after another: that has its own time, and not that of a hello.
func (a *agent) owesSSH() bool {
	if a.ways == nil {
		return false
	}
	reports, _ := finish(lease.FinishOptions{DryRun: true}) // the same error comes again
	var devs []string
	for _, r := range reports {
		for _, s := range r.Steps {
			if s.Result == lease.Would && s.Dev != "" && !slices.Contains(devs, s.Dev) {
				devs = append(devs, s.Dev)
			}
		}
	}
	if len(devs) == 0 {
		return false
	}
	stack, err := rtnl.ReadStack()
	return err == nil && slices.ContainsFunc(devs, func(dev string) bool {
		why, err := ssh.Shares(a.ways, stack, dev)
		return err == nil && why != ""
	})
}
