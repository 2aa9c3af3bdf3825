// SPDX-License-Identifier: MIT

package remedy

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRefusalsAsTheKernelMeansThem: what the source of Linux 7.2 says of an errno, and memory does
// not. bnxt, gve, ice and virtio_net say EOPNOTSUPP where it is a setting that forbids XDP, and the
// kernel where the driver has none; an interface that has gone is EINVAL.
func TestRefusalsAsTheKernelMeansThem(t *testing.T) {
	has := func(f Fact) On { return On{Dev: "eth0", Facts: func(x Fact) (string, bool) { return "", x == f }} }
	for name, x := range map[string]struct {
		call  Call
		errno unix.Errno
		on    On
		want  string
	}{
		"a setting":         {XDPAttach, unix.EOPNOTSUPP, has(NativeXDP), "header split, LRO and rx-gro-hw off"},
		"no native XDP":     {XDPAttach, unix.EOPNOTSUPP, has(""), "no native XDP"},
		"an upper one":      {XDPAttach, unix.EEXIST, has(""), "an interface above eth0"},
		"gone":              {XDPAttach, unix.EINVAL, On{Dev: "nosuch0"}, "name an interface that is there"},
		"no compiler":       {BPFLoad, enotsupp, On{}, "bpf_jit_enable"},
		"no trampoline":     {BPFAttach, enotsupp, On{}, "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS"},
		"no such queue":     {XSKBind, unix.EINVAL, has(NoSuchQueue), "choose another queue with --queue"},
		"no huge pages":     {UdmabufMemory, unix.ENODEV, On{}, "2 MiB"},
		"udmabuf missing":   {UdmabufOpen, unix.ENODEV, On{}, "modprobe udmabuf"},
		"a sysctl of root":  {FileSysctl, unix.EACCES, On{}, "user 0 of the host"},
		"idpf keeps a rule": {RuleDelete, unix.EIO, On{}, "zcbench restore"},
		"ionic's TX":        {CoalesceSet, unix.EINVAL, has(IonicTX), "dmesg"},
		"rules and ice":     {ChannelsSet, unix.EOPNOTSUPP, has(RulesSet), "ethtool -N eth0 delete N"},
		"XDP and channels":  {ChannelsSet, unix.EINVAL, has(XDPAttached), "virtio_net"},
		"contexts used up":  {ContextNew, unix.EBUSY, On{Dev: "eth0"}, "no RSS context left"},
		"a rule, full":      {RuleInsert, unix.ENOMEM, On{Dev: "eth0"}, "no room for another rule"},
		"gso below headers": {LinkGSO, unix.ERANGE, On{Dev: "eth0"}, "set gso-max-size above 256"},
	} {
		if got := How(x.call, x.errno, x.on); !strings.Contains(got, x.want) {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}
