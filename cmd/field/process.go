package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/listening"
	"github.com/zcbench/zcbench/machine/veth"
)

// process is a program in one of the two namespaces.
type process struct {
	cmd  *exec.Cmd
	err  bytes.Buffer
	done chan struct{}
}

// startIn starts a command line inside a namespace; cpu -1 does not pin it. mute
// throws away what it prints, else the error output is kept.
func startIn(ctx context.Context, ns *veth.Netns, cpu int, line []string, mute bool) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, line[0], line[1:]...), done: make(chan struct{})}
	if !mute {
		p.cmd.Stderr = &p.err
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = time.Second
	err := ns.Do(func() error { // a thread of its own, which ends with this: so does its pinning
		if cpu >= 0 {
			if err := pin(cpu); err != nil {
				return err
			}
		}
		return p.cmd.Start()
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", line[0], err)
	}
	go func() { p.cmd.Wait(); close(p.done) }()
	return p, nil
}

// kill ends the process and what it started, and waits for it.
func (p *process) kill() {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// listens reports whether the process's namespace has a listener on a port.
func (p *process) listens(port int) bool { return listening.On(p.cmd.Process.Pid, port) }

// family is the process and its descendants.
func (p *process) family() []int {
	family := []int{p.cmd.Process.Pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for again := true; again; {
		again = false
		for _, s := range stats {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(s)))
			if !slices.Contains(family, pid) && slices.Contains(family, parent(s)) {
				family, again = append(family, pid), true
			}
		}
	}
	return family
}

// cpuNs is the time that the scheduler gave all threads of processes
// (/proc/PID/task/TID/schedstat), ns.
func cpuNs(pids ...int) (sum uint64) {
	for _, pid := range pids {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, t := range tasks {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, t.Name()))
			first, _, _ := strings.Cut(string(b), " ")
			n, _ := strconv.ParseUint(first, 10, 64)
			sum += n
		}
	}
	return sum
}

// allCPUNs is the time for which the machine's CPUs ran anything but their idle
// tasks (/proc/schedstat, rq_cpu_time), ns.
func allCPUNs() (sum uint64) {
	b, _ := os.ReadFile("/proc/schedstat")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 7 && strings.HasPrefix(f[0], "cpu") {
			n, _ := strconv.ParseUint(f[7], 10, 64)
			sum += n
		}
	}
	return sum
}

// parent is the fourth field of /proc/PID/stat.
func parent(stat string) int {
	b, _ := os.ReadFile(stat)
	_, rest, _ := strings.Cut(string(b), ") ")
	if f := strings.Fields(rest); len(f) > 1 {
		n, _ := strconv.Atoi(f[1])
		return n
	}
	return 0
}
