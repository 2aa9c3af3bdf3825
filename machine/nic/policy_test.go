// SPDX-License-Identifier: MIT

package nic

import (
	"maps"
	"math"
	"testing"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// A reply has the policies of a request and of what is nested in it, attribute by attribute; the
// request's own is the one that its way of asking names: that of do before that of dump.
func TestPolicy(t *testing.T) {
	nested := func(ae *netlink.AttributeEncoder, at uint16, f func(*netlink.AttributeEncoder)) {
		ae.Nested(at, func(in *netlink.AttributeEncoder) error {
			f(in)
			return nil
		})
	}
	message := func(f func(*netlink.AttributeEncoder)) genetlink.Message {
		b, err := encoded(f)
		if err != nil {
			t.Fatal(err)
		}
		return genetlink.Message{Data: b}
	}
	attribute := func(list, attr uint16, limits func(*netlink.AttributeEncoder)) genetlink.Message {
		return message(func(ae *netlink.AttributeEncoder) {
			nested(ae, ctrlPolicy, func(ae *netlink.AttributeEncoder) {
				nested(ae, list, func(ae *netlink.AttributeEncoder) { nested(ae, attr, limits) })
			})
		})
	}
	most := func(n uint64) func(*netlink.AttributeEncoder) {
		return func(ae *netlink.AttributeEncoder) { ae.Uint32(1, 3); ae.Uint64(policyMost, n) }
	}
	free := func(ae *netlink.AttributeEncoder) { ae.Uint32(1, 3) }
	const do, dump, inner = 1, 0, 2
	got, err := policy([]genetlink.Message{
		message(func(ae *netlink.AttributeEncoder) {
			nested(ae, ctrlOpPolicy, func(ae *netlink.AttributeEncoder) {
				nested(ae, cmdNAPISet, func(ae *netlink.AttributeEncoder) {
					ae.Uint32(2, dump)
					ae.Uint32(policyDo, do)
				})
			})
		}),
		attribute(dump, 1, free), attribute(do, attrNAPIID, free), attribute(do, attrNAPIThreaded, most(1)),
		attribute(inner, 9, free),
	})
	if want := map[uint16]uint64{attrNAPIID: math.MaxUint64, attrNAPIThreaded: 1}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := policy(nil); err != nil || got != nil {
		t.Errorf("of no reply: %v, %v", got, err)
	}
}
