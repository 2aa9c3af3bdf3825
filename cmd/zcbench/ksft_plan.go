// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/netconfig"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
)

// ksftLimit is the time where nobody says one; ksftWindow the longest window of a run unless
// somebody asks for another, ksftLeast the shortest, ksftOverhead what a run takes beside it.
const (
	ksftLimit    = 600 * time.Second
	ksftWindow   = 2 * time.Second
	ksftLeast    = 250 * time.Millisecond
	ksftOverhead = 600 * time.Millisecond
)

// These are reasons why nothing is tested, as in the kernel's tests, and no fault.
var (
	errWhere = errors.New("no interface is named (NETIF)")
	errRoot  = errors.New("network namespaces need root")
)

// cells plans the subtests.
func (k *ksft) cells() error {
	names := k.modes
	if len(names) == 0 {
		names = ksftModes()
	}
	for _, n := range names {
		rx, tx, err := pairOf(strings.TrimSpace(n))
		if err != nil {
			return fmt.Errorf("--modes: %w", err)
		}
		c := k.cell
		c.ID, c.RX, c.TX = rx.Name+"/"+tx.Name, rx.Name, tx.Name
		if !k.given(plan.LookupOption("touch")) && rx.Kind == stream.Stream && !rx.Has(stream.NoPayload) {
			c.Touch = string(stream.TouchVerify)
		}
		c.Drop()
		if c.MovesPackets() && !k.given(plan.LookupOption("message")) {
			c.MessageBytes = stream.DefaultDatagramBytes
		}
		if err := bench.Check(c); err != nil {
			return cmp.Or(errors.Unwrap(cli.OptionError(err)), err)
		}
		if !slices.ContainsFunc(k.spec.Cells, func(o plan.Cell) bool { return o.ID == c.ID }) {
			k.spec.Cells = append(k.spec.Cells, c)
		}
	}
	return k.checkOptions()
}

// checkOptions refuses an option that concerns no mode.
func (k *ksft) checkOptions() error {
	for i := range plan.Factors {
		o := &plan.Factors[i]
		if v := o.Raw(&k.cell); v != "" && k.given(o) && !slices.ContainsFunc(k.spec.Cells,
			func(c plan.Cell) bool { return o.Raw(&c) == v }) {
			return fmt.Errorf("--%s %s: it concerns %s, and no mode here is one of them: leave it out", o.FlagName(),
				v, o.Whom())
		}
	}
	return nil
}

// ksftModes lists all modes of TCP: those that receive, then those that send.
func ksftModes() (names []string) {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		for _, m := range modes.All {
			if m.Role == role && m.Kind == stream.Stream && !m.Has(stream.RoundTrips) &&
				(role == stream.RX || m.Name != "tcp") {
				names = append(names, map[stream.Role]string{stream.RX: m.Name + "/tcp", stream.TX: "tcp/" +
					m.Name}[role])
			}
		}
	}
	return names
}

// pairOf parses a word of --modes: a pair, a receive mode or a send mode, each of the two with the
// plainest mode of its kind at the other end.
func pairOf(word string) (rx, tx *stream.Mode, err error) {
	rname, tname, pair := strings.Cut(word, "/")
	if pair {
		rx, tx = modeOf(stream.RX, rname), modeOf(stream.TX, tname)
	} else if rx = modeOf(stream.RX, word); rx != nil {
		tx = plainest(stream.TX, rx.Kind)
	} else if tx = modeOf(stream.TX, word); tx != nil {
		rx = plainest(stream.RX, tx.Kind)
	}
	switch {
	case rx == nil || tx == nil:
		return nil, nil, fmt.Errorf("%.60q: want RX, TX or RX/TX, with RX of %s and TX of %s", word,
			strings.Join(modes.Names(stream.RX), ", "), strings.Join(modes.Names(stream.TX), ", "))
	case rx.Kind != tx.Kind:
		return nil, nil, fmt.Errorf("%s receives %s, %s sends %s", rx.Name, rx.Kind, tx.Name, tx.Kind)
	}
	return rx, tx, nil
}

func modeOf(role stream.Role, name string) *stream.Mode {
	if m, err := modes.Find(role, name); err == nil {
		return &m
	}
	return nil
}

// plainest finds the first mode of a kind.
func plainest(role stream.Role, kind stream.Kind) *stream.Mode {
	i := slices.IndexFunc(modes.All, func(m stream.Mode) bool { return m.Role == role && m.Kind == kind })
	if i < 0 {
		return nil
	}
	return &modes.All[i]
}

// allow finds out how long all may take, and makes the plan fit.
func (k *ksft) allow() (err error) {
	if k.minRuns < 1 || k.minRuns > 1000 {
		return fmt.Errorf("--min-runs %d: must be 1 to 1000", k.minRuns)
	}
	if k.limit < 0 || k.spec.Duration < 0 {
		return errors.New("--timeout and --duration must not be negative")
	}
	if k.timed {
		k.says = "--timeout"
	} else if k.limit, k.says, err = netconfig.Limit(k.folder, os.Getenv); err != nil {
		return err
	}
	if k.says == "" {
		k.limit, k.says = ksftLimit, "where nobody says another"
	}
	s := k.spec
	s.Name, s.Purpose, s.Repetitions, s.Warmup, s.Rest = "ksft", matrix.Check, k.minRuns, false, new(time.Duration)
	if s.Duration == 0 {
		s.Duration = ksftWindow
		if k.limit > 0 {
			runs := time.Duration(len(s.Cells) * k.minRuns)
			each := (k.limit - 2*k.reserve()) / max(runs, 1)
			s.Duration = max(ksftLeast, min(ksftWindow, (each-ksftOverhead)*4/5)).Round(10 * time.Millisecond)
		}
	}
	s.RampUp, s.RampDown = max(200*time.Millisecond, s.Duration/4), 50*time.Millisecond
	return nil
}

// reserve returns the time that is kept for freeing and restoring.
func (k *ksft) reserve() time.Duration { return min(max(k.limit/20, time.Second), 10*time.Second) }

// processStart returns when the process began: a runner's time counts from then, and on a busy
// machine a program takes a while to reach its first line.
func processStart() time.Time {
	now := time.Now()
	var boot unix.Timespec
	b, err := os.ReadFile("/proc/self/stat")
	_, rest, ok := strings.Cut(string(b), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) < 20 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return now
	}
	const ticks = 100 // USER_HZ, of every architecture
	started, err := strconv.ParseUint(fields[19], 10, 63)
	age := time.Duration(boot.Nano()) - time.Duration(started)*(time.Second/ticks)
	if err != nil || age < 0 { // both are in the process's time namespace (fs/proc/array.c: do_task_stat)
		return now
	}
	return now.Add(-age)
}

// where fills in the ends of the flow.
func (k *ksft) where() error {
	if k.veth {
		if os.Geteuid() != 0 {
			return errRoot
		}
		k.spec.IPv6 = false
		return nil
	}
	c, err := netconfig.Load(k.folder, os.Getenv)
	if err != nil {
		return err
	}
	if c.Dev == "" {
		return errWhere
	}
	if err := c.Check(); err != nil {
		return err
	}
	if (c.RemoteType == "netns" || k.netns != "") && os.Geteuid() != 0 {
		return errRoot
	}
	if err := k.hasDev(c.Dev); err != nil {
		return err
	}
	s := k.spec
	s.IPv6 = c.LocalV6 != "" && !k.ipv4
	local, remote := c.Addresses(s.IPv6)
	if local == "" {
		return fmt.Errorf("--ipv4: there is no LOCAL_V4")
	}
	s.SUT.Host, s.SUT.Dev, s.SUT.Addr, k.remote = "local", c.Dev, local, remote
	if k.netns != "" {
		s.SUT.Host = "netns:" + k.netns
	}
	s.TG.Host, err = c.Remote()
	return err
}

// hasDev looks for the interface where the runs will be.
func (k *ksft) hasDev(dev string) error {
	ns, err := openNetns(k.netns)
	if err != nil {
		return err
	}
	look := func() error {
		if _, err := deviceHere(dev, k.netns); err != nil {
			return fmt.Errorf("NETIF=%s: %w", dev, err)
		}
		return nil
	}
	if ns == nil {
		return look()
	}
	defer ns.Close()
	return ns.Do(look)
}
