// SPDX-License-Identifier: MIT

package bpf

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// dropReasons are the names of drop reasons. Numbers differ from kernel to kernel; the
// upper half is the subsystem (include/net/dropreason.h: enum skb_drop_reason_subsys).
type dropReasons map[uint32]string

// reasonEnums are the types that have them, what their names begin with that is left out,
// and the module that has the type, where the kernel itself does not. The qdisc's are of
// Linux 7 (include/net/dropreason-qdisc.h).
var reasonEnums = []struct{ name, strip, module string }{
	{"skb_drop_reason", "SKB_DROP_REASON_", ""},
	{"qdisc_drop_reason", "", ""},
	{"ovs_drop_reason", "", "openvswitch"},
	{"mac80211_drop_reason", "", "mac80211"},
}

// readDropReasons asks the running kernel's types.
func readDropReasons(types *btf.Cache) (dropReasons, error) {
	kernel, err := types.Kernel()
	if err != nil {
		return nil, fmt.Errorf("read the names of drop reasons: %w", err)
	}
	r := dropReasons{}
	for _, e := range reasonEnums {
		spec := kernel
		if e.module != "" {
			if spec, err = types.Module(e.module); err != nil {
				continue // it is not loaded: nothing is dropped by it
			}
		}
		found, err := spec.AnyTypesByName(e.name)
		if err != nil {
			continue // an older kernel
		}
		for _, t := range found {
			if enum, ok := t.(*btf.Enum); ok {
				r.add(enum, e.strip)
			}
		}
	}
	return r, nil
}

// add takes an enum's names, but for those that only bound it.
func (r dropReasons) add(enum *btf.Enum, strip string) {
	for _, v := range enum.Values {
		name := strings.TrimPrefix(v.Name, strip)
		if strings.HasPrefix(v.Name, "_") || strings.HasSuffix(name, "SUBSYS_MASK") || v.Value > 1<<32-1 {
			continue
		}
		if _, taken := r[uint32(v.Value)]; !taken {
			r[uint32(v.Value)] = name
		}
	}
}

// name looks up a reason's name; where there is none, it formats its numbers.
func (r dropReasons) name(reason uint32) string {
	if n, ok := r[reason]; ok {
		return n
	}
	if reason>>16 == 0 {
		return fmt.Sprintf("reason %d", reason)
	}
	return fmt.Sprintf("reason %d of subsystem %d", reason&0xffff, reason>>16)
}
