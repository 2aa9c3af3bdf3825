// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
)

// hosts are the two ends of a path.
type hosts struct {
	SUT, TG *host.Host
	pair    *veth.Pair // made for them; nil on hosts that have a link already
}

// openHosts starts the agents of two hosts. With both specs empty it makes the
// hosts first, out of two network namespaces joined by a link of that MTU.
func openHosts(ctx context.Context, sut, tg string, mtu int, o host.Options) (_ *hosts, err error) {
	h := &hosts{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	sutOpt, tgOpt := o, o
	if sut == "" && tg == "" {
		if h.pair, err = veth.New(veth.Options{MTU: mtu}); err != nil {
			return nil, err
		}
		sut, tg = "netns:"+h.pair.SUT.Netns.Path(), "netns:"+h.pair.TG.Netns.Path()
		sutOpt.Name, tgOpt.Name = "sut", "tg"
	}
	if h.SUT, err = host.Dial(ctx, sut, sutOpt); err != nil {
		return nil, err
	}
	if h.TG, err = host.Dial(ctx, tg, tgOpt); err != nil {
		return nil, err
	}
	return h, nil
}

// Close ends the agents, then takes the link away.
func (h *hosts) Close() error {
	errs := []error{host.CloseAll(h.TG, h.SUT)}
	if h.pair != nil {
		errs = append(errs, h.pair.Close())
	}
	return errors.Join(errs...)
}

// linkMTU chooses the MTU of a link of our own: what all cells ask for, if they agree.
func linkMTU(cells []plan.Cell) int {
	mtu := cells[0].MTU
	for _, c := range cells {
		if c.MTU != mtu {
			return veth.DefaultMTU
		}
	}
	if mtu < 1280 { // IPv6 takes no less; a lease may set it later
		return veth.DefaultMTU
	}
	return mtu
}

// noteNotKernels warns before the first run of files of the hosts that are a container's, and of
// what follows.
func (e *Experiment) noteNotKernels(ends ...*host.Host) {
	for i, h := range ends {
		// Docker hides /proc/interrupts always: who needs it, to place them, hears of it then.
		files := slices.DeleteFunc(slices.Clone(h.Info.NotKernels), func(f string) bool {
			return f == "/proc/interrupts"
		})
		lost := doctor.WithoutKernels(files)
		if lost == "" || i > 0 && h.SameMachine(ends[0]) && slices.Equal(files, ends[0].Info.NotKernels) {
			continue
		}
		e.note(fmt.Sprintf("%s%s: %s: %s are not the kernel's, but a container's: measure on the host", warns,
			h.Spec.Name,
			lost, strings.Join(files, ", ")))
	}
}
