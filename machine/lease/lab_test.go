// SPDX-License-Identifier: MIT

package lease_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/tune"
	"golang.org/x/sys/unix"
)

func needLab(t testing.TB) {
	t.Helper()
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs the lab's guest: go test -exec "$PWD/bin/zcbench lab exec --" ./machine/lease`)
	}
}

// inNS runs f on a thread of its own in a network namespace.
func inNS(t testing.TB, ns string, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // ends with the goroutine: it is in another namespace
		leave, err := guest.Enter(ns)
		if err == nil {
			defer leave()
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// hosts is everything of both hosts that a run may set.
func hosts(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range guest.Ends {
		inNS(t, e.NS, func() error {
			d, err := nic.Open(e.Dev)
			if err != nil {
				return err
			}
			defer d.Close()
			names := []string{"mtu", "gso-max-size", "gro-max-size", "gso-ipv4-max-size", "gro-ipv4-max-size",
				"channels", "ring rx", "ring tx", "header-split", "rss"}
			for _, f := range []string{nic.FeatureGRO, nic.FeatureHWGRO, nic.FeatureTSO, nic.FeatureNTuple,
				"rx-hashing"} {
				names = append(names, "feature "+f)
			}
			queues, err := d.Queues()
			if err != nil {
				return err
			}
			for _, q := range queues {
				all[fmt.Sprintf("%s provider %d", e.Dev, q.ID)] = string(q.Provider)
				for _, w := range []string{"napi", "rps", "xps"} {
					names = append(names, fmt.Sprintf("%s %d", w, q.ID))
				}
			}
			if r, err := d.Rings(); err == nil && r.RXBufLen > 0 {
				names = append(names, "rx-buf-len")
			}
			for _, n := range names {
				s, err := d.Setting(n)
				if err != nil {
					return err
				}
				if all[e.Dev+" "+n], err = s.Get(); err != nil {
					return err
				}
			}
			rules, err := d.HasRules()
			if errors.Is(err, unix.EOPNOTSUPP) { // a driver without any
				err = nil
			}
			all[e.Dev+" rules"] = fmt.Sprint(rules)
			for _, s := range append(tune.Reference.Sysctls, [2]string{"vm.nr_hugepages"}) {
				v, serr := tune.FS{}.Sysctl(s[0])
				all[e.NS+" "+s[0]], err = v, errors.Join(err, serr)
			}
			return err
		})
	}
	return all
}

// everything are the flags of a run that sets all that a run can set on a soft NIC.
var everything = slices.Concat(plain, []string{"--mtu", "1500", "--gro", "off", "--hw-gro", "on", "--big-tcp", "131072",
	"--rx-ring", "1024", "--channels", "3",
	"--sysctl-profile", "reference", "--set",
	"napi 1=defer-hard-irqs 7, gro-flush-timeout 30000, irq-suspend-timeout 0", "--set", "sut:rps 0=2", "--layout",
	"2cpu"})

// twoFlows are what makes it one of two flows, each with a queue, a ring and a rule of its own,
// whose threads share the guest's two CPUs.
var twoFlows = []string{"--flows", "2", "--queues", "2", "--sut-cpu", "1", "--tg-cpu", "0"}

// plain are those of a run that sets what zcrx needs, and nothing else.
var plain = []string{"run", "--sut", "netns:" + guest.NSReceiver, "--tg", "netns:" + guest.NSSender, "--rx", "zcrx",
	"--tx", "tcp",
	"--duration", "300ms", "--ramp-up", "50ms", "--ramp-down", "500ms", "--sample-interval", "0", "--message-size",
	"2M", "--sndbuf", "256K", "--gate", "foreign_cores=off", "--gate", "replace=0",
	"--stall", "1m"} // little to be drained on a busy machine, and time to drain it

// theDriver is the receiver's.
func theDriver(t testing.TB) (drv nic.Driver) {
	t.Helper()
	inNS(t, guest.NSReceiver, func() error {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		drv, err = d.Driver()
		return err
	})
	return drv
}

// model is the driver whose ways the soft NIC has.
func model(t testing.TB) string { return theDriver(t).Model() }

// older reports whether the soft NIC has the ways of a driver as it was before it took memory of
// others for its queues.
func older(t testing.TB) bool { return strings.HasSuffix(theDriver(t).Name, "-old)") }

// copies reports whether the driver takes no memory of others for its queues.
func copies(t testing.TB) bool {
	return older(t) || slices.Contains([]string{"virtio_net", "ice"}, model(t))
}

// splitting are the flags without which the driver does not split headers.
func splitting(t testing.TB) (flags []string) {
	t.Helper()
	if model(t) == "mlx5_core" {
		flags = []string{"--hw-gro", "on"}
	}
	return flags
}

// suited are the flags of a run as the driver can have them. Without zero copy it is a run of tcp
// that sets as much of the NIC: a rule for each flow, RSS and header split. bnxt gives rx-gro-hw up
// with rx-gro, virtio_net has no rules, split and large sends, idpf no large sends, ice and the
// older gve no rx-gro-hw, and the newer gve a length of its buffers, to be set with everything
// else.
func suited(t testing.TB, args []string) []string {
	t.Helper()
	args = slices.Clone(args)
	without := func(flag string) {
		if at := slices.Index(args, flag); at >= 0 {
			args = slices.Delete(args, at, at+2)
		}
	}
	m := model(t)
	if at := slices.Index(args, "zcrx"); at >= 0 && copies(t) {
		args[at] = "tcp"
		if m != "virtio_net" {
			args = append(args, "--header-split", "on")
		}
		if m != "virtio_net" && !slices.Contains(args, "--queues") {
			args = append(args, "--queue", "2")
		}
	}
	switch {
	case m == "bnxt_en":
		without("--gro")
	case m == "virtio_net":
		without("--queues")
		without("--big-tcp")
	case m == "idpf": // which sends no more than 64 KiB
		without("--big-tcp")
	case m == "ice", m == "gve" && older(t):
		without("--hw-gro")
	case m == "gve" && slices.Contains(args, "--mtu"):
		args = append(args, "--set", "sut:rx-buf-len=2048")
	}
	return args
}

// run runs zcbench to its end.
func run(t testing.TB, args ...string) (string, error) {
	t.Helper()
	b, err := exec.Command("zcbench", suited(t, args)...).CombinedOutput()
	return string(b), err
}

// worked reports whether a run went as it should. On a busy machine that emulates,
// the window's edges may be read late, or too little moves to judge by: such a run
// is invalid, and what it set worked all the same, unless the kernel copied.
func worked(out string, err error) bool {
	return err == nil && strings.Contains(out, "1 ok") ||
		strings.Contains(out, "1 invalid") && !strings.Contains(out, "the kernel copied")
}

// A run that sets everything leaves both hosts as it found them, whether it works
// or not.
func TestLabRunRestores(t *testing.T) {
	needLab(t)
	before, refused := hosts(t), "no power of two"
	unknown, says := "sut:coalesce rx-usecs=5", "the driver does not report its interrupt moderation"
	switch m := model(t); {
	case m == "softnic":
		refused = "powers of two"
	case slices.Contains([]string{"mlx5_core", "fbnic", "idpf", "ice"}, m): // taken, not as asked
		refused = "the driver rounds it up"
	case m == "gve": // which reports it, up to 8190
		unknown, says = "sut:coalesce rx-usecs=9000", "set coalescing rx-usecs to 9000"
	}
	for name, c := range map[string]struct {
		more []string
		say  string
		long bool
	}{
		"works":    {},
		"refused":  {more: []string{"--tx-ring", "1000"}, say: refused},
		"unknown":  {more: []string{"--set", unknown}, say: says, long: true},
		"too long": {more: []string{"--mtu", "9601"}, say: "maxmtu", long: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.long {
				long.Test(t)
			}
			out, err := run(t, slices.Concat(everything, c.more)...)
			if c.say == "" && !worked(out, err) || c.say != "" &&
				(err == nil || !strings.Contains(out, "unsupported [1]") ||
					!strings.Contains(strings.Join(strings.Fields(out), " "), c.say)) {
				t.Errorf("%v, want %q:\n%s", err, c.say, out)
			}
			if d := cmp.Diff(before, hosts(t)); d != "" {
				t.Errorf("the hosts are not as they were:\n%s", d)
			}
		})
	}
}

// Settings that are typed in another way than the kernel prints them are set,
// verified and restored together, also an RSS table that is the default one only
// for the number of queues that is set with it.
func TestLabTyped(t *testing.T) {
	needLab(t)
	if model(t) == "virtio_net" {
		t.Skip("it cannot split headers")
	}
	before := hosts(t)
	e := guest.Ends[0]
	inNS(t, e.NS, func() error {
		l := lease.New(lease.Options{Dir: t.TempDir()})
		defer l.Restore()
		two := "rx 0 tx 0 other 0 combined 2"
		switch model(t) {
		case "gve":
			two = "rx 2 tx 2 other 0 combined 0"
		case "idpf", "ice": // which have one that is neither
			two = "rx 0 tx 0 other 1 combined 2"
		}
		wants := []lease.Want{{Dev: e.Dev, Name: "channels", Value: two},
			{Dev: e.Dev, Name: "rss", Value: strings.Repeat("0 1 ", 64)},
			{Dev: e.Dev, Name: "header-split", Value: "tcp-data-split on"},
			{Dev: e.Dev, Name: "rps 1", Value: "00000000,00000001"},
			{Dev: e.Dev, Name: "napi 1", Value: "defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 0"}}
		if err := l.Apply(wants...); err != nil {
			return err
		}
		if err := l.Verify(); err != nil {
			return err
		}
		if err := l.Become(wants...); err != nil {
			return err
		}
		return l.Restore()
	})
	if d := cmp.Diff(before, hosts(t)); d != "" {
		t.Errorf("the host is not as it was:\n%s", d)
	}
}

// What a data path sets: see Changes.
func TestLabChanges(t *testing.T) {
	needLab(t)
	if model(t) == "virtio_net" {
		t.Skip("it cannot split headers")
	}
	before := hosts(t)
	inNS(t, guest.NSReceiver, func() error {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		if model(t) == "mlx5_core" { // which splits headers with it alone
			if err := d.SetFeature(nic.FeatureHWGRO, true); err != nil {
				return err
			}
			defer d.SetFeature(nic.FeatureHWGRO, false)
		}
		was, err := d.HeaderSplit()
		if err != nil {
			return err
		}
		changes := 2
		if was == nic.SplitAll(was) {
			changes = 1 // it is asked for all the same
		}
		var c lease.Changes
		if err := errors.Join(c.SplitHeaders(d), c.KeepFree(d, 1)); err != nil {
			return errors.Join(err, c.Undo())
		}
		table, err := d.Indirection()
		h, herr := d.HeaderSplit()
		if err = errors.Join(err, herr); err == nil && (len(c.List()) != changes || h.State != nic.SplitOn ||
			strings.Contains(fmt.Sprint(table), "1")) {
			err = fmt.Errorf("changed %q: %v, %v", c.List(), h, table)
		}
		return errors.Join(err, c.Undo(), c.Undo())
	})
	if d := cmp.Diff(before, hosts(t)); d != "" {
		t.Errorf("the device is not as it was:\n%s", d)
	}
}
