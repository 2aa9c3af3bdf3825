// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// course tells on standard error what lab demo is doing: on a terminal a line that
// counts the seconds, which stays when the next thing begins; else a line as each thing
// begins.
type course struct {
	mu    sync.Mutex
	w     io.Writer // lines
	term  *os.File  // nil: no terminal
	begun time.Time // of the command
	cases int
	shown *demoShown // where times and the kernel's release go

	now    string    // what is being done; "": nothing
	nowAt  time.Time // since when
	run    int       // number of the run that was begun last
	bootAt time.Time // zero: not switched on yet
	stop   chan struct{}
	ended  sync.WaitGroup
}

func newCourse(w io.Writer, cases int, shown *demoShown) *course {
	c := &course{w: w, begun: time.Now(), cases: cases, shown: shown, stop: make(chan struct{})}
	if os.Getenv("TERM") != "dumb" {
		c.term = cli.Terminal(w)
	}
	if c.term != nil {
		c.ended.Go(c.tick)
	}
	return c
}

// tick keeps the line alive.
func (c *course) tick() {
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			c.mu.Lock()
			c.draw()
			c.mu.Unlock()
		case <-c.stop:
			return
		}
	}
}

func (c *course) since() time.Duration { return time.Since(c.begun) }

// close ends what is being done. It may be called again.
func (c *course) close() {
	c.mu.Lock()
	c.settle("")
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	c.mu.Unlock()
	c.ended.Wait()
}

// step begins a thing to do, and so ends the one before.
func (c *course) step(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(what)
}

func (c *course) begin(what string) {
	c.settle("")
	c.now, c.nowAt = plaintext.Line(what), time.Now()
	if c.term == nil {
		fmt.Fprintf(c.w, "[%5.1f s] %s\n", c.since().Seconds(), c.now)
	} else {
		c.draw()
	}
}

// settle ends what is being done, with how it went, if there is something to say.
func (c *course) settle(how string) {
	if c.now == "" {
		return
	}
	what := c.now
	if how != "" {
		what += ": " + plaintext.Line(how)
	}
	c.now = ""
	switch {
	case c.term != nil:
		c.clear()
		fmt.Fprintf(c.w, "%6.1f s  %s\n", time.Since(c.nowAt).Seconds(), what)
	case how != "":
		fmt.Fprintf(c.w, "[%5.1f s] %s\n", c.since().Seconds(), what)
	}
}

// say writes a line of others.
func (c *course) say(line string) {
	if c.term != nil && c.now != "" {
		c.clear()
	}
	fmt.Fprintln(c.w, line)
	c.draw()
}

// draw writes the line that is alive, no longer than the terminal is wide.
func (c *course) draw() {
	if c.term == nil || c.now == "" {
		return
	}
	line := fmt.Sprintf("%6.0f s  %s ...", time.Since(c.nowAt).Seconds(), c.now)
	width := plaintext.Width
	if ws, err := unix.IoctlGetWinsize(int(c.term.Fd()), unix.TIOCGWINSZ); err == nil && ws.Col > 0 {
		width = int(ws.Col)
	}
	if utf8.RuneCountInString(line) >= width {
		line = string([]rune(line)[:width-1])
	}
	fmt.Fprint(c.term, "\r\x1b[K"+line)
}

func (c *course) clear() { fmt.Fprint(c.term, "\r\x1b[K") }

// booting shows that the machine boots: [lab.ExecOptions].Booting.
func (c *course) booting(release string, kvm bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bootAt, c.shown.Kernel, c.shown.KVM = time.Now(), release, kvm
	how := "emulated (no KVM)"
	if kvm {
		how = "under KVM"
	}
	c.begin(fmt.Sprintf("booting Linux %s, %s", release, how))
}

// log takes lines of the lab, which say what it is doing, and of the guest.
func (c *course) log() io.Writer {
	return &lines{each: func(line string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if what, is := strings.CutPrefix(line, "lab: "); is && c.bootAt.IsZero() {
			c.begin(what)
			return
		}
		c.say(line)
	}}
}

// events takes what lab prove tells.
func (c *course) events() io.Writer {
	return &lines{each: func(line string) {
		var e proveEvent
		if json.Unmarshal([]byte(line), &e) != nil {
			e = proveEvent{}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.take(e, line)
	}}
}

func (c *course) take(e proveEvent, line string) {
	switch {
	case e.Up != "":
		c.shown.BootS = time.Since(c.bootAt).Seconds()
		c.settle("is up")
		c.begin("starting an agent in each namespace")
	case e.Begin != "":
		c.run++
		c.begin(fmt.Sprintf("run %d of %d: %s", c.run, c.cases, e.Begin))
	case e.Done != "" && e.Record != nil:
		if c.shown.FirstS == 0 && e.Record.Verdict == results.OK && e.Record.SUT.ZeroCopyBytes != nil {
			c.shown.FirstS = time.Since(c.bootAt).Seconds()
		}
		how := string(e.Record.Verdict)
		if e.Record.Cell.Control != "" {
			how += " (a control)"
		}
		c.settle(how)
		if c.run == c.cases {
			c.begin("looking at the kernel's messages, switching off")
		}
	default:
		c.say(line)
	}
}

// lines calls each for every line that is written.
type lines struct {
	each func(string)
	rest []byte
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.each(string(line))
		l.rest = rest
	}
}
