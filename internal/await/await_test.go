// SPDX-License-Identifier: MIT

package await

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// failing notes how a test failed, and ends its goroutine as t.Fatalf does.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

// said is what f fails a test with, and when.
func said(f func(t testing.TB)) (words string, after time.Duration) {
	t, begun := &failing{}, time.Now()
	defer func() {
		if r := recover(); r != nil && r != any(t) {
			panic(r)
		}
		words, after = t.said, time.Since(begun)
	}()
	f(t)
	return
}

func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := func() <-chan int {
			ch := make(chan int)
			go func() { time.Sleep(time.Minute); ch <- 7 }()
			return ch
		}
		begun := time.Now()
		Until(t, "a minute", func() bool { return time.Since(begun) >= time.Minute })
		if v := Chan(t, "seven", soon()); v != 7 {
			t.Errorf("%d came", v)
		}
		Return(t, "a minute", func() { time.Sleep(time.Minute) })
		if took := time.Since(begun); took < 3*time.Minute || took > 3*time.Minute+time.Second {
			t.Errorf("three minutes took %v", took)
		}
		if d := time.Until(Deadline()); d != Hang {
			t.Errorf("the deadline is %v away", d)
		}
	})
}

// What does not come fails the test when it hangs, and with what was waited for.
func TestHangs(t *testing.T) {
	for name, f := range map[string]func(t testing.TB){
		"until":  func(t testing.TB) { Until(t, "it", func() bool { return false }) },
		"chan":   func(t testing.TB) { Chan(t, "it", make(chan int)) },
		"return": func(t testing.TB) { Return(t, "it", func() { time.Sleep(2 * Hang) }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(*testing.T) {
				words, after := said(f)
				time.Sleep(2 * Hang) // for what was left behind
				if words != "it: not within 3m0s" || after < Hang || after > Hang+time.Second {
					t.Errorf("%q after %v", words, after)
				}
			})
		})
	}
}

func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := Context(t)
		time.Sleep(Hang - 1)
		if ctx.Err() != nil {
			t.Error("ended early")
		}
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("did not end")
		}
	})
}
