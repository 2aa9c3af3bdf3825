// SPDX-License-Identifier: MIT

package host

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// endTime is how long an agent may be silent after its input has ended; then it is
// killed.
const endTime = 5 * time.Second

// restoreTime is how long it may take all the same to take back what it has set.
const restoreTime = 2 * time.Minute

// process is a child that we speak with over its standard input and output.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *tail
	wait   func() error // for its end
	kill   func()       // ends it, and what it has started
	begun  time.Time

	// On a far host: this program, and the one of the same build that runs there.
	own, prog program
	found     bool // it runs a program that was there already, and not our copy
}

// startProcess starts cmd by start, in a process group of its own: the agent
// must outlive a Ctrl-C at the terminal by the moment that it takes the
// controller to end the run.
func startProcess(cmd *exec.Cmd, start func(*exec.Cmd) error) (*process, error) {
	p := &process{cmd: cmd, stderr: &tail{}, wait: cmd.Wait}
	p.kill = func() { unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.Stderr = p.stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for a child of its own that holds its output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.begun = time.Now()
	if err := start(cmd); err != nil {
		return nil, err
	}
	p.stdin, p.stdout = stdin, bufio.NewReader(stdout)
	return p, nil
}

// end closes the child's input and waits for its end; one that does not care is
// killed.
func (p *process) end() error {
	p.stdin.Close()
	killer := time.AfterFunc(endTime, p.kill)
	defer killer.Stop()
	err := p.wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it ended well; only something that it started has not
	}
	return err
}

// tail keeps the last lines written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 4096
	t.b = append(t.b, p...)
	if len(t.b) > most {
		t.b = append(t.b[:0], t.b[len(t.b)-most:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
