// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// What the kernel says of a queue makes a driver able only where another one would have
// been refused in another way; else it is its name that counts, or the answer is that there
// is none.
func TestProviderAnswer(t *testing.T) {
	const (
		able         = ""
		cannot       = "no queue operations"
		inconclusive = "inconclusive"
	)
	for name, x := range map[string]struct {
		q    question
		err  error
		dma  bool
		want string
		fix  string
	}{
		"virtio_net":                        {question{model: "virtio_net", release: "7.3.4"}, unix.EOPNOTSUPP, true, cannot, NoQueueOps},
		"virtio_net, split":                 {question{model: "virtio_net", split: true, blind: true}, unix.EOPNOTSUPP, false, cannot, NoQueueOps},
		"a new driver":                      {question{model: "new", release: "7.3.4"}, unix.EINVAL, true, able, ""},
		"a new driver, before 7.0":          {question{model: "new", release: "6.18.5"}, unix.EINVAL, true, inconclusive, "use Linux 7.0"},
		"a new driver, before 6.15":         {question{model: "new", release: "6.12.9", blind: true}, unix.EINVAL, true, inconclusive, "use Linux 7.0"},
		"a new driver, split":               {question{model: "new", release: "7.3.4", split: true, blind: true}, unix.ERANGE, true, inconclusive, "tcp-data-split off"},
		"a new driver, split, devmem":       {question{model: "new", release: "7.3.4", split: true, blind: true}, unix.EINVAL, true, inconclusive, "tcp-data-split off"},
		"no name, split":                    {question{split: true, blind: true}, unix.ERANGE, true, inconclusive, "its driver"},
		"mlx5":                              {question{model: "mlx5_core", release: "7.3.4"}, unix.EINVAL, true, able, ""},
		"mlx5, split":                       {question{model: "mlx5_core", release: "7.3.4", split: true, blind: true}, unix.EOPNOTSUPP, true, able, ""},
		"mlx5, split, without a device":     {question{model: "mlx5_core", release: "7.3.4", split: true, blind: true}, unix.EOPNOTSUPP, false, cannot, NoQueueOps},
		"bnxt, before 7.0":                  {question{model: "bnxt_en", release: "6.18"}, unix.EINVAL, true, able, ""},
		"bnxt's virtual function":           {question{model: "bnxt_en", release: "7.3.4", virtual: true}, unix.EINVAL, true, "only on physical functions", NoQueueOps},
		"bnxt's virtual function, split":    {question{model: "bnxt_en", release: "7.3.4", virtual: true, split: true, blind: true}, unix.ERANGE, true, "only on physical functions", NoQueueOps},
		"an XDP program":                    {question{model: "gve", release: "7.3.4"}, unix.EEXIST, true, able, ""},
		"given, and let go":                 {question{model: "gve", release: "7.3.4"}, nil, true, able, ""},
		"not root":                          {question{model: "gve", release: "7.3.4"}, unix.EPERM, true, "operation not permitted", ""},
		"a release that nobody understands": {question{model: "new", release: "x"}, unix.EINVAL, true, able, ""},
	} {
		x.q.mode, x.q.dev, x.q.takesDMA = "zcrx", "eth0", func() bool { return x.dma }
		err := x.q.answer(x.err)
		if (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(), x.want) || !strings.Contains(fault.Fix(err)+err.Error(), x.fix)) {
			t.Errorf("%s: %v (fix: %s), want %q, %q", name, err, fault.Fix(err), x.want, x.fix)
		}
		if u := (*fault.Unsupported)(nil); err != nil && !errors.As(err, &u) {
			t.Errorf("%s: %T", name, err)
		}
	}
}

func TestBefore(t *testing.T) {
	for release, want := range map[string]bool{"6.14.2": true, "6.15.0-rc1": false, "5.10": true, "7.3.4+deb13-amd64": false, "10.0": false, "": false} {
		if got := before(release, 6, 15); got != want {
			t.Errorf("%s: %v", release, got)
		}
	}
}
