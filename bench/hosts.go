// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/machine/veth"
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
