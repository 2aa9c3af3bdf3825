// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
)

// checkTGAddr refuses a TG that reaches the SUT by another interface than that with the address
// that it was said to have: the flow would come from elsewhere.
func (st *stage) checkTGAddr(ctx context.Context, addr string) error {
	if a, err := netip.ParseAddr(addr); err != nil || a.IsLinkLocalUnicast() {
		return nil // none; or one that agents do not list
	}
	all, err := interfacesOf(ctx, st.TG)
	if err != nil {
		return err
	}
	by := cmp.Or(st.opt.TGUpper.name(), st.opt.TGDev)
	i := slices.IndexFunc(all, func(x wire.Interface) bool { return has(x, addr) })
	switch {
	case i < 0:
		return inputErrorf("%s has no interface with the address %s; there are: %s", st.TG.Spec.Name, addr,
			names(all))
	case all[i].Name != by:
		return inputErrorf("%s has %s on %s, and reaches %s by %s: give its routes a look (ip route get %s)",
			st.TG.Spec.Name, addr, all[i].Name, st.opt.Addr, by, st.opt.Addr)
	}
	return nil
}

// has reports whether an interface has an address.
func has(i wire.Interface, addr string) bool {
	want, err := netip.ParseAddr(addr)
	return err == nil && slices.ContainsFunc(i.Addrs, func(a string) bool {
		got, err := netip.ParseAddr(a)
		return err == nil && got.Unmap() == want.Unmap()
	})
}
