// SPDX-License-Identifier: MIT

package place

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/nic"
)

// Several flows over an interface with several queues and no interrupts: the queue that is known
// has the CPU of its own, the other both; all is as before afterwards.
func TestIntegrationSeveralFlows(t *testing.T) {
	inPair(t, func(dev string) {
		if !severalQueues(t, dev) {
			return
		}
		before := masks(t, dev, 2)
		one := 1
		var w Want
		if err := errors.Join(w.Add(1, &one), w.Add(0, nil)); err != nil {
			t.Error(err)
		}
		p, err := Softirq(dev, w)
		if err != nil {
			t.Error(err)
			return
		}
		if now := masks(t, dev, 2); p.By != "rps" || !slices.Equal(now, []string{"3", "2"}) || p.Check() != nil {
			t.Errorf("%s: RPS %q, %v", p, now, p.Check())
		}
		if err := p.Undo(); err != nil {
			t.Error(err)
		}
		if now := masks(t, dev, 2); !slices.Equal(now, before) {
			t.Errorf("RPS is %q, was %q", now, before)
		}
		far := 99
		if _, err := Softirq(dev, Want{CPUs: []int{0}, Queues: map[int]int{far: 1}}); err == nil ||
			len(journals(t)) != 0 {
			t.Errorf("a queue that is not there: %v, journals %q", err, journals(t))
		}
	})
}

// severalQueues gives the interface two queues that receive.
func severalQueues(t *testing.T, dev string) bool {
	t.Helper()
	all, err := AllowedCPUs()
	if err != nil || len(all.Pin) < 2 {
		t.Logf("one CPU, and so one queue: %v", err)
		return false
	}
	d, err := nic.Open(dev)
	if err != nil {
		t.Error(err)
		return false
	}
	defer d.Close()
	c, err := d.Channels()
	if err == nil {
		c.RX = 2
		err = d.SetChannels(c)
	}
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// masks are those of RPS of the first n queues.
func masks(t *testing.T, dev string, n int) (out []string) {
	t.Helper()
	d, err := nic.Open(dev)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer d.Close()
	for q := range n {
		s, err := d.Setting(fmt.Sprintf("rps %d", q))
		text := ""
		if err == nil {
			text, err = s.Get()
		}
		if err != nil {
			t.Error(err)
		}
		out = append(out, text)
	}
	return out
}
