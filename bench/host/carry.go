// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"debug/elf"
	"fmt"
	"path/filepath"

	"github.com/zcbench/zcbench/internal/fault"
)

// Carry brings the program name that the agent needs beside the agent's own, unless it is there
// unchanged. On this machine it lies beside ours already, and where the agent is a program of
// the host it is that host's, too: then nothing is done. find says where this machine's lies,
// "" if nowhere, which is left to the agent to say; it is not asked where the far end needs one
// for another architecture, which lies beside the agent.
func (h *Host) Carry(ctx context.Context, name string, find func() (string, error)) error {
	if !h.Spec.Far() || h.Spec.agentItself() || h.link.Load().proc.found {
		return nil
	}
	agent := h.link.Load().proc.prog
	helper, err := agent.helper(h.link.Load().proc.own, name, find)
	if err != nil {
		return fmt.Errorf("host %s: %w", h.Spec.Name, err)
	}
	if helper.path == "" {
		return nil
	}
	if err := helper.upload(ctx, h.Spec, false); err != nil {
		return fmt.Errorf("host %s: %s: %w", h.Spec.Name, helper.name, err)
	}
	return nil
}

// helper finds the helper that this program, the agent, needs: this machine's, or what lies beside
// the agent where that is for another machine than own. Its path is "" where there is none.
func (p program) helper(own program, name string, find func() (string, error)) (helper program, err error) {
	if !ourFile(name) {
		return helper, fmt.Errorf("%s is not a helper of zcbench", name)
	}
	if p.machine != own.machine {
		helper, err = p.beside(own, name)
	} else {
		var path string
		if path, err = find(); err != nil || path == "" {
			return helper, err
		}
		helper, err = readProgram(path)
	}
	if err == nil {
		err = sameMachine(p.path, helper.path)
	}
	helper.home, helper.name = p.sum, name
	return helper, err
}

// sameMachine refuses a helper for another machine than the agent's: the far
// host has been found to be one for the agent.
func sameMachine(agent, helper string) error {
	var machines [2]elf.Machine
	for i, p := range []string{agent, helper} {
		f, err := elf.Open(p)
		if err != nil {
			return fmt.Errorf("%s is not a Linux program: %w", p, err)
		}
		machines[i] = f.Machine
		f.Close()
	}
	if machines[0] != machines[1] {
		return &fault.Error{Op: fmt.Sprintf("%s is built for %v, but %s for %v", filepath.Base(helper), machines[1],
			filepath.Base(agent), machines[0]), How: "make build"}
	}
	return nil
}
