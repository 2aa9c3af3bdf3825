// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// What the kernel says of a queue makes a driver able only where another one would have
// been refused in another way; else it is the driver and the kernel that count, or the answer is
// that only a run can tell: a warning, and no refusal.
func TestProviderAnswer(t *testing.T) {
	const (
		able   = ""
		cannot = "no queue operations"
		doubt  = "only a run can tell"
	)
	q := func(name, release string) question {
		return question{driver: driver.Of(name), kernel: driver.Kernel{Release: release}}
	}
	blind := func(q question) question { q.blind = true; return q }
	split := func(q question, says word) question {
		q.split, q.blind, q.absurd = true, true, func() word { return says }
		return q
	}
	virtual := func(q question) question { q.virtual = true; return q }
	foreign := func(q question) question { q.kernel.Foreign = true; return q }
	for name, x := range map[string]struct {
		q    question
		err  error
		dma  bool
		want string
		fix  string
	}{
		"virtio_net": {q("virtio_net", "7.3.4"), unix.EOPNOTSUPP, true, cannot, NoQueueOps},
		"virtio_net, split": {split(q("virtio_net", ""), untold), unix.EOPNOTSUPP, false, cannot,
			NoQueueOps},
		"a new driver":              {q("new", "7.3.4"), unix.EINVAL, true, able, ""},
		"a new driver, before 7.0":  {q("new", "6.18.5"), unix.EINVAL, true, doubt, "run it"},
		"a new driver, before 6.15": {blind(q("new", "6.12.9")), unix.EINVAL, true, doubt, "run it"},
		"a new driver, with backports": {q("new", "5.14.0-503.11.1.el9_5.x86_64"), unix.EINVAL, true, doubt,
			"run it"},
		"a new driver, split":                 {split(q("new", "7.3.4"), untold), unix.ERANGE, true, doubt, "run it"},
		"a new driver, split, has operations": {split(q("new", "7.3.4"), yes), unix.ERANGE, true, able, ""},
		"a new driver, split, has none":       {split(q("new", "7.3.4"), no), unix.ERANGE, true, cannot, NoQueueOps},
		"no name, split":                      {split(q("", ""), untold), unix.ERANGE, true, doubt, "run it"},
		"a patched idpf":                      {q("idpf", "7.3.4"), unix.EINVAL, true, doubt, "ENODATA"},
		"a patched idpf, split":               {split(q("idpf", "7.3.4"), yes), unix.ERANGE, true, doubt, "ENODATA"},
		"a patched idpf, split, untold":       {split(q("idpf", "7.3.4"), untold), unix.ERANGE, true, doubt, "run it"},
		"the imitated idpf":                   {q("softnic(idpf)", "7.3.4"), unix.EINVAL, true, doubt, "ENODATA"},
		"mlx5":                                {q("mlx5_core", "7.3.4"), unix.EINVAL, true, able, ""},
		"mlx5, split": {split(q("mlx5_core", "7.3.4"), untold), unix.EOPNOTSUPP, true, able,
			""},
		"mlx5, split, without a device": {split(q("mlx5_core", "7.3.4"), untold), unix.EOPNOTSUPP, false, cannot,
			NoQueueOps},
		"bnxt, before 7.0": {q("bnxt_en", "6.18"), unix.EINVAL, true, able, ""},
		"bnxt, 6.15": {q("bnxt_en", "6.15.2"), unix.EINVAL, true,
			"does not hand provider memory on before Linux 6.16", "use Linux 6.16"},
		"bnxt, 6.15, not the kernel's": {foreign(q("bnxt_en", "6.15.2")), unix.EINVAL, true, doubt, "6.16"},
		"mlx5 of its maker, 7.2": {foreign(q("mlx5_core", "7.2.1")), unix.EINVAL, true, doubt,
			"the driver that comes with Linux 6.17"},
		"bnxt, el9": {blind(q("bnxt_en", "5.14.0-503.11.1.el9_5.x86_64")), unix.EINVAL, true,
			doubt, "6.16"},
		"gve, 6.17": {q("gve", "6.17.3"), unix.EINVAL, true,
			"(gve) does not hand provider memory on before Linux 6.18", "use Linux 6.18"},
		"gve, 6.15, Debian's": {q("gve", "6.15.4+deb13-amd64"), unix.EINVAL, true, "before Linux 6.18",
			"use Linux 6.18"},
		"gve, 6.17, split": {split(q("gve", "6.17.3"), untold), unix.ERANGE, true,
			"before Linux 6.18", "use Linux 6.18"},
		"gve, 6.17 of Ubuntu for its cloud": {q("gve", "6.17.0-1004-gcp"), unix.EINVAL, true, doubt, "6.18"},
		"gve, 6.18":                         {q("gve", "6.18.0"), unix.EINVAL, true, able, ""},
		"bnxt's virtual function": {virtual(q("bnxt_en", "7.3.4")), unix.EINVAL, true,
			"only on physical functions", NoQueueOps},
		"bnxt's virtual function, split": {virtual(split(q("bnxt_en", "7.3.4"), untold)), unix.ERANGE, true,
			"only on physical functions", NoQueueOps},
		"an XDP program":                    {q("gve", "7.3.4"), unix.EEXIST, true, able, ""},
		"given, and let go":                 {q("gve", "7.3.4"), nil, true, able, ""},
		"not root":                          {q("gve", "7.3.4"), unix.EPERM, true, "operation not permitted", ""},
		"a release that nobody understands": {q("new", "x"), unix.EINVAL, true, able, ""},
	} {
		x.q.mode, x.q.dev, x.q.takesDMA = "zcrx", "eth0", func() bool { return x.dma }
		err := x.q.answer(x.err)
		if (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(), x.want) ||
			!strings.Contains(fault.Fix(err)+err.Error(), x.fix)) {
			t.Errorf("%s: %v (fix: %s), want %q, %q", name, err, fault.Fix(err), x.want, x.fix)
		}
		u := (*fault.Unsupported)(nil)
		if (fault.Doubtful(err) != nil) != (x.want == doubt) || err != nil && x.want != doubt && !errors.As(err, &u) {
			t.Errorf("%s: %T", name, err)
		}
	}
}

// A queue that is leased is not asked for, as long as there is another; where it could be given
// memory, one is asked for that is not there.
func TestAsked(t *testing.T) {
	one := []nic.Queue{{ID: 0}, {ID: 1}, {ID: 2, Leased: true}}
	for _, x := range []struct {
		all      []nic.Queue
		blind    bool
		last, at int
	}{
		{one[:2], false, 1, 1}, {one[:2], true, 1, 2}, {one, false, 1, 1}, {one, true, 1, 3}, {one[2:], false, 2, 2},
		{one[2:], true, 2, 3},
	} {
		if last, at := asked(x.all, x.blind); last != x.last || at != x.at {
			t.Errorf("%v, %v: %d, %d", x.all, x.blind, last, at)
		}
	}
	if !driver.Of("netkit").Lent {
		t.Error("netkit's queues are given memory by asking: nobody sees whether headers are split")
	}
}

// What is said of buffers that no NIC takes tells of queue operations by the kernel's order.
func TestAbsurd(t *testing.T) {
	said := func(errno unix.Errno, ack string) error { return &fault.Error{Op: "bind", Err: errno, Ack: ack} }
	for _, x := range []struct {
		err  error
		want word
	}{
		{said(unix.EOPNOTSUPP, "device does not support: rx_page_size"), yes},
		{said(unix.EOPNOTSUPP, ""), no},
		{said(unix.EOPNOTSUPP, "Device doesn't support DMA"), untold},
		{said(unix.ERANGE, ""), yes},
		{said(unix.EINVAL, "tcp-data-split is disabled"), yes},
		{said(unix.EINVAL, "hds-thresh is not zero"), yes},
		{said(unix.EINVAL, "dma-buf SG length not aligned to niov"), untold},
		{said(unix.EBUSY, "designated queue already in use by AF_XDP"), yes},
		{said(unix.EPERM, ""), untold},
		{unix.ENOMEM, untold},
	} {
		if got := boundWord(x.err); got != x.want {
			t.Errorf("netlink, %v: %v, want %v", x.err, got, x.want)
		}
	}
	for _, x := range []struct {
		errno error
		whole bool
		want  word
	}{
		{unix.EOPNOTSUPP, true, untold}, // of pages alone, or of none: the ring has no text
		{unix.ERANGE, true, yes}, {unix.ERANGE, false, untold}, {unix.EINVAL, false, yes}, {unix.EEXIST, true, yes},
		{unix.ENOMEM, true, untold},
	} {
		if got := ringWord(x.errno, x.whole); got != x.want {
			t.Errorf("ring, %v, %v: %v, want %v", x.errno, x.whole, got, x.want)
		}
	}
}
