// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"debug/elf"
	"fmt"
	"path/filepath"

	"github.com/zcbench/zcbench/internal/fault"
)

// Carry brings a program that the agent needs beside the agent's own, under its
// own name, unless it is there unchanged. On this machine it lies beside ours
// already, and where the agent is a program of the host it is that host's, too: then nothing
// is done.
func (h *Host) Carry(ctx context.Context, path string) error {
	if !h.Spec.far() || h.Spec.agentItself() || h.link.Load().proc.found {
		return nil
	}
	agent, own := h.link.Load().proc.prog, h.link.Load().proc.own
	name := filepath.Base(path)
	if !ourFile(name) {
		return fmt.Errorf("host %s: %s is not a helper of zcbench", h.Spec.Name, name)
	}
	helper, err := readProgram(path)
	if err == nil && agent.machine != own.machine {
		helper, err = agent.beside(own, name)
	}
	if err == nil {
		err = sameMachine(agent.path, helper.path)
	}
	if err != nil {
		return fmt.Errorf("host %s: %w", h.Spec.Name, err)
	}
	helper.home, helper.name = agent.sum, name
	if err := helper.upload(ctx, h.Spec, false); err != nil {
		return fmt.Errorf("host %s: %s: %w", h.Spec.Name, helper.name, err)
	}
	return nil
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
		return &fault.Error{Op: fmt.Sprintf("%s is built for %v, but %s for %v", filepath.Base(helper), machines[1], filepath.Base(agent), machines[0]), How: "make build"}
	}
	return nil
}
