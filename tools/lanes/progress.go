// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How often the line of progress is written: on a terminal, where it is one that changes, and
// elsewhere.
const (
	often  = time.Second
	seldom = time.Minute
)

// progress prints what runs, how far it is and how long it may take, until the function that it
// returns is called.
func (r *runner) progress(before past, terminal bool) (done func()) {
	every, stop, ended := seldom, make(chan struct{}), make(chan struct{})
	if terminal {
		every = often
	}
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			line := r.state(before)
			if terminal {
				r.stdout.status(cut(line, width()))
			} else {
				r.errs.print([]byte(line + "\n"))
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
		if terminal {
			r.stdout.status("")
		}
	}
}

// state formats the line: "4m10s of about 8m0s, 2100 of about 4900 tests, 0 failed: bench/host
// [host]".
func (r *runner) state(before past) string {
	c := r.account.counts()
	took := r.took().Round(time.Second)
	s := took.String()
	if before.Seconds > 0 {
		usual := (time.Duration(before.Seconds) * time.Second).Round(10 * time.Second)
		if took <= usual {
			s += fmt.Sprintf(" of about %v", usual)
		} else {
			s += fmt.Sprintf(", longer than the %v of last time", usual)
		}
	}
	s += fmt.Sprintf(", %d", c.passed+c.failed+c.skipped)
	if before.Tests > 0 {
		s += fmt.Sprintf(" of about %d", before.Tests)
	}
	s += fmt.Sprintf(" tests, %d failed", c.failed)
	r.mu.Lock()
	defer r.mu.Unlock()
	var now []string
	for _, l := range r.lanes {
		switch {
		case l.ended:
		case l.now == "":
			now = append(now, "["+l.name+"]")
		default:
			now = append(now, id{lane: l.name, pkg: l.now}.String())
		}
	}
	return s + ": " + strings.Join(now, ", ")
}

// cut makes a line fit a terminal.
func cut(line string, columns int) string {
	if r := []rune(line); columns > 1 && len(r) >= columns {
		return string(r[:columns-1])
	}
	return line
}

// terminal reports whether a file is a terminal.
func terminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// width asks for the width of the terminal on standard error.
func width() int {
	w, err := unix.IoctlGetWinsize(int(os.Stderr.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(w.Col)
}

// past is what the last whole run of a kind took.
type past struct {
	Seconds float64 `json:"seconds"`
	Tests   int     `json:"tests"`
}

// first is for machines that have not seen one yet: two cores of a current server.
var first = map[string]past{"test": {540, 5000}, "test-long": {3600, 7500}}

// pastFile returns the path of the file where past runs are noted.
func pastFile(name string) (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "zcbench", "took-"+name+".json"), err
}

// usual reads what a kind of run took last, or may take; nothing of one that nobody knows.
func usual(name string) past {
	p := first[name]
	file, err := pastFile(name)
	if err != nil {
		return p
	}
	f, err := os.Open(file)
	if err != nil {
		return p
	}
	defer f.Close()
	var noted past
	if json.NewDecoder(io.LimitReader(f, 1000)).Decode(&noted) == nil && noted.Seconds > 0 && noted.Tests > 0 {
		return noted
	}
	return p
}

// remember notes what a run took.
func remember(name string, took time.Duration, tests int) error {
	file, err := pastFile(name)
	if err != nil {
		return err
	}
	b, err := json.Marshal(past{took.Seconds(), tests})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}
