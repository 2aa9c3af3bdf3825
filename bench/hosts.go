package bench

import (
	"context"
	"errors"

	"github.com/zcbench/zcbench/host"
	"github.com/zcbench/zcbench/veth"
)

// hosts are the two ends of a path.
type hosts struct {
	SUT, TG *host.Host
	pair    *veth.Pair // made for them; nil on hosts that have a link already
}

// openHosts starts the agents of two hosts. With both specs empty it makes the
// hosts first, out of two network namespaces joined by a link of that MTU.
func openHosts(ctx context.Context, sut, tg string, mtu int, toolVersion string) (_ *hosts, err error) {
	h := &hosts{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	names := [2]string{}
	if sut == "" && tg == "" {
		if h.pair, err = veth.New(veth.Options{MTU: mtu}); err != nil {
			return nil, err
		}
		sut, tg = "netns:"+h.pair.SUT.Netns.Path(), "netns:"+h.pair.TG.Netns.Path()
		names = [2]string{"sut", "tg"}
	}
	if h.SUT, err = host.Dial(ctx, sut, host.Options{ToolVersion: toolVersion, Name: names[0]}); err != nil {
		return nil, err
	}
	if h.TG, err = host.Dial(ctx, tg, host.Options{ToolVersion: toolVersion, Name: names[1]}); err != nil {
		return nil, err
	}
	return h, nil
}

// Close ends the agents, then takes the link away.
func (h *hosts) Close() error {
	var errs []error
	for _, x := range []*host.Host{h.TG, h.SUT} {
		if x != nil {
			errs = append(errs, x.Close())
		}
	}
	if h.pair != nil {
		errs = append(errs, h.pair.Close())
	}
	return errors.Join(errs...)
}
