// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
)

// shown are two hosts with one setting each, and an error instead of them.
type shown struct {
	sut, tg string
	err     error
}

func (s *shown) Found(context.Context) (map[ends.Role]*survey.Snapshot, error) {
	if s.err != nil {
		return nil, s.err
	}
	of := func(v string) *survey.Snapshot {
		return survey.New([]survey.Fact{{Name: "nic/feature rx-gro", Value: v}})
	}
	return map[ends.Role]*survey.Snapshot{ends.SUT: of(s.sut), ends.TG: of(s.tg)}, nil
}

// madeKilling is one between two hosts, whose settings are taken back by call, but on those that
// fail.
func madeKilling(t *testing.T, at *shown, failing ...string) (k *killing, calls *[]string) {
	t.Helper()
	calls = new([]string)
	k = &killing{f: &firstHour{sut: "ssh:root@a", tg: "ssh:root@b"}, said: &bytes.Buffer{}, moves: map[string]bool{}}
	k.on = func(_ context.Context, spec string, _ plan.RestoreParams) ([]lease.Report, error) {
		*calls = append(*calls, spec)
		switch {
		case slices.Contains(failing, spec):
			return nil, errors.New("no way to " + spec)
		case spec == k.f.sut:
			at.sut = "off"
		default:
			at.tg = "off"
		}
		return nil, nil
	}
	var err error
	if k.before, err = (&shown{sut: "off", tg: "off"}).Found(t.Context()); err != nil {
		t.Fatal(err)
	}
	return k, calls
}

// Whatever fails once the run has started, both hosts are restored, and what is left is said.
func TestFirstHourAlwaysRestores(t *testing.T) {
	for _, x := range []struct {
		name     string
		kill     error
		unseen   bool // the hosts do not answer any more
		failing  []string
		found    string
		errors   []string
		differs  int
		expected string // what the SUT is left with
	}{
		{"all is well", nil, false, nil, "2 settings left by the killed run; all is as it was", nil, 0, "off"},
		{"the run fails", errors.New("it broke"), false, nil, "it ended early; all is as it was", []string{"it broke"},
			0,
			"off"},
		{"no answers", nil, true, nil, "it ended early; whether all is as it was is not known", []string{"silent"}, 0,
			"off"},
		{"the SUT fails", nil, false, []string{"ssh:root@a"}, "not as it was before: 1 setting",
			[]string{"no way to ssh:root@a"}, 1, "on"},
		{"both fail", errors.New("it broke"), false, []string{"ssh:root@a", "ssh:root@b"},
			"it ended early; not as it was before: 2 settings", []string{"it broke", "to ssh:root@a", "to ssh:root@b"},
			2,
			"on"},
	} {
		t.Run(x.name, func(t *testing.T) {
			at := &shown{sut: "on", tg: "on"}
			k, calls := madeKilling(t, at, x.failing...)
			err := k.through(t.Context(), at, false, func() ([]string, error) {
				if x.unseen {
					at.err = errors.New("silent")
				}
				return []string{"a", "b"}, x.kill
			})
			if !slices.Equal(*calls, []string{"ssh:root@a", "ssh:root@b"}) || at.sut != x.expected {
				t.Errorf("restored %q; the SUT's is %s", *calls, at.sut)
			}
			if (err != nil) != (x.errors != nil) || len(k.differs) != x.differs ||
				!strings.HasPrefix(k.found, x.found) {
				t.Errorf("%q, %v, left %q", k.found, err, k.differs)
			}
			for _, want := range x.errors {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
		})
	}
}

// What an earlier run has left is taken back before anything is remembered, and what stays is its
// fault.
func TestFirstHourClearsFirst(t *testing.T) {
	k, calls := madeKilling(t, &shown{sut: "on", tg: "on"})
	if err := k.clear(t.Context()); err != nil || len(*calls) != 2 {
		t.Errorf("%v, %q", err, *calls)
	}
	k.on = func(context.Context, string, plan.RestoreParams) ([]lease.Report, error) {
		return []lease.Report{{State: lease.Owing}}, nil
	}
	if err := k.clear(t.Context()); err == nil || !strings.Contains(fault.Reason(err), "earlier run") ||
		fault.Fix(err) == "" {
		t.Errorf("leftovers that stay: %v", err)
	}
}

// A run is killed with what it has started; one that has ended is left alone, as is its number.
func TestKillWhole(t *testing.T) {
	p := exec.Command("sh", "-c", "sleep 60 & sleep 60 & echo; wait")
	out, err := p.StdoutPipe()
	if err = errors.Join(err, p.Start()); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 1)) // both are started
	pids, err := killWhole(p.Process)
	if err != nil || len(pids) != 3 || pids[2] != p.Process.Pid {
		t.Errorf("%v, %v", pids, err)
	}
	p.Wait()
	for _, pid := range pids {
		await.Until(t, fmt.Sprintf("the end of %d", pid), func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || bytes.Contains(stat, []byte(") Z ")) // or it waits for who took it over
		})
	}
	if pids, err := killWhole(p.Process); !errors.Is(err, os.ErrProcessDone) || pids != nil {
		t.Errorf("of one that has ended: %v, %v", pids, err)
	}
}

// An interrupt is told what happens, and what a second would leave.
func TestFirstHourRestoring(t *testing.T) {
	for _, x := range []struct {
		sut, tg string
		hosts   int
	}{{"ssh:root@a", "ssh:root@b", 2}, {"netns:a", "netns:b", 1}} {
		text := (&firstHour{sut: x.sut, tg: x.tg}).restoring()
		if strings.Count(text, "zcbench restore --host ") != x.hosts || !strings.Contains(text, "second") {
			t.Errorf("%s", text)
		}
	}
}
