// SPDX-License-Identifier: MIT

package power

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/counter"
)

var commandKind = sourceKind{inBand: true, summary: "any command that prints watts",
	example: "command='ipmitool dcmi power reading | sed -n s/.*Inst.*:.//p'",
	options: []string{"scope"},
	reaches: func(s Spec) []Reach { return []Reach{{Does: Runs, What: "/bin/sh -c " + quote(s.Target)}} },
	check: func(s Spec) error {
		if _, err := commandScope(s); err != nil {
			return err
		}
		return needTarget("a command")(s)
	},
	open: func(s Spec) (Source, error) { return openCommand(s) }}

func commandScope(s Spec) (Scope, error) {
	scope := Scope(s.Options.Get("scope"))
	if scope == "" {
		return scopeBoard, nil
	}
	if _, ok := rank[scope]; !ok {
		return "", fmt.Errorf("scope %q: must be device, gpu, package, board, outlet or wall", string(scope))
	}
	return scope, nil
}

// command runs a shell command whose lines are watts. One that goes on printing
// is kept running and its newest line taken; one that ends is run anew for every
// reading.
type command struct {
	info  info
	text  string
	parse func(string, []int64) error
	hide  *strings.Replacer // of its words in what it says; nil: nothing is secret

	program *os.File // that it has as descriptor 3; nil: none
	child   *child
	spent   spending
}

// spending is the CPU time of all runs of a command, that under way included.
type spending struct {
	mu   sync.Mutex
	done int64 // of those that ended, nanoseconds
	pid  int   // of the one under way; 0: none
	most int64 // that this one was seen to have used
}

// look takes what the run under way has used so far, with what it started.
func (s *spending) look() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid != 0 {
		if ns, err := counter.TreeClock(s.pid); err == nil {
			s.most = max(s.most, ns)
		}
	}
	return s.done + s.most
}

func (s *spending) begin(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pid, s.most = pid, 0
}

// end adds a run that is over. What it had started and did not wait for is in no
// account of the kernel's, but was seen.
func (s *spending) end(ns int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += max(s.most, ns)
	s.pid, s.most = 0, 0
}

// child is one run of the command.
type child struct {
	cmd   *exec.Cmd
	lines chan stamped
	done  chan struct{}

	mu     sync.Mutex
	stderr []byte
	err    error
}

// stamped is a line and when it came: a line is worth something only then.
type stamped struct {
	text string
	ns   int64
}

func openCommand(s Spec) (*command, error) {
	scope, err := commandScope(s)
	if err != nil {
		return nil, err
	}
	c := &command{text: s.Target, parse: parseWatts, hide: hiding(s.Target), info: info{Name: s.String(), Scope: scope,
		MinInterval: time.Second, Averages: s.averages(), Uncertainty: s.declared(math.NaN()),
		Channels: []channel{{Name: "watts", Kind: power, Scope: scope}}, Device: s.String()}}
	if err := c.try(); err != nil {
		return nil, err
	}
	return c, nil
}

// try takes one reading.
func (c *command) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	if err := c.Read(ctx, make([]int64, len(c.info.Channels))); err != nil {
		c.Close()
		return err
	}
	return nil
}

// parseWatts reads a line with a number of watts, "143.5" or "143.5 W".
func parseWatts(line string, v []int64) error {
	f := strings.Fields(line)
	if len(f) == 2 && (strings.EqualFold(f[1], "w") || strings.EqualFold(f[1], "watts")) {
		f = f[:1]
	}
	if len(f) != 1 {
		return fmt.Errorf("it prints %q, which is not a number of watts", short(line))
	}
	w, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		return fmt.Errorf("it prints %q, which is not a number of watts", short(line))
	}
	v[0], err = micro(w)
	return err
}

func (c *command) Info() info     { return c.info }
func (c *command) SpentNs() int64 { return c.spent.look() }

func (c *command) Read(ctx context.Context, v []int64) error {
	for {
		begun := c.child == nil
		if begun {
			if err := c.start(); err != nil {
				return err
			}
		}
		again, err := c.next(ctx, v)
		if !again || begun { // a run that ended since the last reading is followed by another
			return err
		}
	}
}

// next takes the newest line of the run under way. With again the run had ended
// well before and left no line of now.
func (c *command) next(ctx context.Context, v []int64) (again bool, err error) {
	asked := counter.Monotonic()
	var last *stamped
	for {
		select { // the newest of what is there
		case l, ok := <-c.child.lines:
			if ok {
				last = &l
				continue
			}
			return c.ended(last, asked, v)
		default:
		}
		// What lay there since before the last reading's time is no reading of now.
		if last != nil && asked-last.ns < int64(c.info.MinInterval) {
			return false, c.take(last.text, v)
		}
		select {
		case l, ok := <-c.child.lines:
			if !ok {
				return c.ended(last, asked, v)
			}
			last = &l
		case <-ctx.Done():
			c.stop()
			return false, errors.New("the command printed nothing in time")
		}
	}
}

// ended takes the last line of a command that is over.
func (c *command) ended(last *stamped, asked int64, v []int64) (again bool, err error) {
	ch := c.child
	c.stop()
	switch {
	case ch.err != nil:
		return false, fmt.Errorf("the command failed: %w%s", ch.err, c.words(ch))
	case last == nil || asked-last.ns >= int64(c.info.MinInterval):
		return true, errors.New("the command exited without printing anything" + c.words(ch))
	}
	return false, c.take(last.text, v)
}

func (c *command) start() error {
	ch := &child{cmd: exec.Command("/bin/sh", "-c", c.text), lines: make(chan stamped, 64), done: make(chan struct{})}
	ch.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	ch.cmd.WaitDelay = time.Second
	if c.program != nil {
		ch.cmd.ExtraFiles = []*os.File{c.program}
	}
	stdout, err := ch.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	ch.cmd.Stderr = ch
	if err := ch.cmd.Start(); err != nil {
		return err
	}
	c.child = ch
	c.spent.begin(ch.cmd.Process.Pid)
	go ch.run(stdout, &c.spent)
	return nil
}

func (ch *child) run(stdout io.Reader, spent *spending) {
	defer close(ch.done)
	lines := bufio.NewScanner(io.LimitReader(stdout, 1<<30))
	lines.Buffer(make([]byte, mostLine), mostLine)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		l := stamped{lines.Text(), counter.Monotonic()}
		for sent := false; !sent; {
			select {
			case ch.lines <- l:
				sent = true
			default:
				select { // full: the oldest goes
				case <-ch.lines:
				default:
				}
			}
		}
	}
	err := ch.cmd.Wait()
	var used int64
	if st := ch.cmd.ProcessState; st != nil {
		used = int64(st.UserTime() + st.SystemTime())
	}
	spent.end(used)
	ch.mu.Lock()
	ch.err = err
	if lines.Err() != nil {
		ch.err = lines.Err()
	}
	ch.mu.Unlock()
	close(ch.lines)
}

// mostSaid is how much is kept of what a command says on standard error, bytes: far
// more than is told, so that no word of that is cut.
const mostSaid = 4096

// Write keeps the beginning of what the command says on standard error.
func (ch *child) Write(p []byte) (int, error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if room := mostSaid - len(ch.stderr); room > 0 {
		ch.stderr = append(ch.stderr, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// words returns what a run of the command wrote to standard error.
func (c *command) words(ch *child) string {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	s := strings.TrimSpace(string(ch.stderr))
	if s == "" {
		return ""
	}
	if c.hide != nil {
		s = c.hide.Replace(s)
	}
	return ": " + short(s)
}

// take reads a line. What it says instead of watts may be secret.
func (c *command) take(line string, v []int64) error {
	err := c.parse(line, v)
	if err == nil || c.hide == nil {
		return err
	}
	masked := c.hide.Replace(line)
	if masked == line {
		return err
	}
	if err := c.parse(masked, v); err != nil {
		return err
	}
	return errors.New("it does not print a number of watts")
}

// hiding replaces the words of a command, and what they are made of, but for the
// program: programs repeat their arguments when they fail, and errors end up in
// results.
func hiding(text string) *strings.Replacer {
	const least = 4 // characters: what is shorter is no secret, but part of many words
	var words []string
	for _, cut := range []string{" \t\n", " \t\n\"'`;|&()<>", " \t\n\"'`;|&()<>:@=/?,"} {
		words = append(words, strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(cut, r) })...)
	}
	name := program(text)
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < least || w == name })
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) }) // the longest first
	var pairs []string
	for _, w := range slices.Compact(words) {
		pairs = append(pairs, w, "…")
	}
	return strings.NewReplacer(pairs...)
}

// stop ends the command and all that it started.
func (c *command) stop() {
	if c.child == nil {
		return
	}
	c.spent.look() // those that are killed are waited for by nobody
	unix.Kill(-c.child.cmd.Process.Pid, unix.SIGKILL)
	<-c.child.done
	c.child = nil
}

func (c *command) Close() error {
	c.stop()
	if c.program != nil {
		c.program.Close() // a second time, too: after try, and by who opened the source
	}
	return nil
}
