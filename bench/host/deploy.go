// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
)

// uploadTime is how long the far host may take to answer, and to take the
// program.
const (
	answerTime = 30 * time.Second
	uploadTime = 5 * time.Minute
)

// oldestKernel is what Go programs need (the release notes of Go 1.24). What
// each mode needs beyond it, the mode's own probe says.
var oldestKernel = [2]int{3, 2}

// startFar makes the agent run on a host behind ssh or a command, copying this program
// there if it has not got it. With tidy, what was copied there and not used for long is
// removed then.
func startFar(ctx context.Context, s Spec, bin string, tidy bool) (*process, error) {
	if s.agentItself() {
		cmd, err := startable(s.Command)
		if err != nil {
			return nil, err
		}
		return startProcess(cmd, startHere)
	}
	prog, err := readProgram(bin)
	if err != nil {
		return nil, err
	}
	for own, copied := prog, false; ; {
		p, far, err := prog.knock(ctx, s)
		switch {
		case err != nil:
			return nil, err
		case p != nil:
			p.own, p.prog, p.found = own, prog, far.state == "found"
			return p, nil
		case far.system == "Linux" && far.machine != prog.machine && prog.machine == own.machine:
			if prog, err = own.onMachine(far.machine); err != nil {
				return nil, err
			}
			continue
		}
		if err := far.check(); err != nil {
			return nil, err
		}
		if far.machine != prog.machine {
			return nil, fmt.Errorf("it was Linux/%s at first, and then Linux/%s", prog.machine, far.machine)
		}
		if copied {
			return nil, fmt.Errorf("the program was copied there, but then is %s", far.state)
		}
		if err := prog.upload(ctx, s, tidy); err != nil {
			return nil, err
		}
		copied = true
	}
}

// knock connects. It returns the agent, or what the far host is like where that
// cannot run yet.
func (prog program) knock(ctx context.Context, s Spec) (*process, farHost, error) {
	mark := markWord + " " + strings.ToLower(rand.Text())
	cmd, err := s.way().far(s, prog.knockScript(mark, s.Sudo), rootScript)
	if err != nil {
		return nil, farHost{}, err
	}
	p, err := startProcess(cmd, startHere)
	if err != nil {
		return nil, farHost{}, err
	}
	var far farHost
	err = p.within(ctx, answerTime,
		func() (err error) { far, err = readMark(p.stdout, mark, s.Kind == "exec"); return err })
	if err == nil && (far.state == "ready" || far.state == "found") {
		return p, far, nil
	}
	if err == nil && far.state == "refused" {
		p.end()
		return nil, far, refusal(s.by(), p.stderr.String())
	}
	var silent *noMarkError
	if err != nil && !errors.As(err, &silent) {
		p.kill()
	}
	werr := p.end()
	switch {
	case err == nil:
		return nil, far, nil
	case errors.As(err, &silent):
		return nil, far, explain(s.by(), p.stderr.String(), silent.said, werr)
	}
	if said := strings.Join(farWords(p.stderr.String()), "; "); said != "" {
		err = &fault.Error{Op: fault.Reason(err) + "; " + s.by() + " said: " + said,
			How: cmp.Or(fault.Fix(err), hintFor(said))}
	}
	if s.Kind == "exec" && fault.Fix(err) == "" {
		err = &fault.Error{Op: fault.Reason(err),
			How: "see whether the command waits for something, a queue or an answer: have it run hostname"}
	}
	return nil, far, err
}

// within runs f, which reads from the process, and kills the process if that
// takes too long.
func (p *process) within(ctx context.Context, limit time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	stop := context.AfterFunc(ctx, p.kill)
	err := f()
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// upload copies the program.
func (prog program) upload(ctx context.Context, s Spec, tidy bool) error {
	cmd, err := s.way().far(s, prog.uploadScript(tidy), "")
	if err != nil {
		return err
	}
	f, err := os.Open(prog.path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := startProcess(cmd, startHere)
	if err != nil {
		return err
	}
	var out []byte
	err = p.within(ctx, uploadTime, func() error {
		_, cerr := io.Copy(p.stdin, f)
		p.stdin.Close()
		out, _ = io.ReadAll(io.LimitReader(p.stdout, 4096))
		return cerr
	})
	werr := p.end()
	if werr == nil && (err == nil || strings.Contains(string(out), thereWord)) { // then it did not read on
		return nil
	}
	if werr == nil || ctx.Err() != nil {
		return fmt.Errorf("copy the program there: %w", err)
	}
	e := explain(s.by(), p.stderr.String(), string(out), werr)
	if e.How == "" {
		e.How = "the folder is ~/.cache/zcbench/agent there, and 20 MB are needed: free space, or choose " +
			"another with " + agentDirEnv + "=/PATH"
	}
	e.Op = "copy the program there: " + e.Op
	return e
}

// farHost is what the far host said of itself.
type farHost struct {
	// of the program there: ready, found (one of its own), missing, damaged; refused: it is not
	// safe there
	state                   string
	uid                     int
	system, machine, kernel string
}

// check refuses a host on which no build of zcbench can run.
func (f farHost) check() error {
	if f.system != "Linux" {
		return &fault.Error{Op: fmt.Sprintf("it is %s/%s, and zcbench is built for Linux", f.system, f.machine),
			How: "use a host with Linux"}
	}
	var v [2]int
	for i, part := range strings.SplitN(f.kernel, ".", 3) {
		if i < 2 {
			v[i], _ = strconv.Atoi(strings.TrimFunc(part, func(r rune) bool { return r < '0' || r > '9' }))
		}
	}
	if v[0] < oldestKernel[0] || v[0] == oldestKernel[0] && v[1] < oldestKernel[1] {
		return &fault.Error{Op: fmt.Sprintf("its kernel is %s, older than %d.%d", f.kernel, oldestKernel[0],
			oldestKernel[1]), How: "use a newer kernel there"}
	}
	return nil
}
