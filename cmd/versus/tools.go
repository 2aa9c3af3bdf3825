// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Tools are the programs compared and what they have in common.
type Tools struct {
	Iperf3       string // program
	IperfVersion string // "iperf 3.12"
	SkipRxCopy   bool   // this iperf3 has it
	Zcrecv       string
	Zcsend       string

	SenderCPU, ReceiverCPU int
	Congestion             string
	Duration               time.Duration
}

// findIperf3 finds iperf3 by name or path and asks it what it can.
func (t *Tools) findIperf3(iperf3 string) (err error) {
	if t.Iperf3, err = exec.LookPath(iperf3); err != nil {
		return fmt.Errorf("find iperf3: %w (install it: apt-get install iperf3)", err)
	}
	return t.askIperf3()
}

// findZcbench finds zcrecv and zcsend in a folder.
func (t *Tools) findZcbench(bin string) (err error) {
	for path, name := range map[*string]string{&t.Zcrecv: "zcrecv", &t.Zcsend: "zcsend"} {
		// Absolute, so that exec does not look for it on PATH.
		if *path, err = filepath.Abs(filepath.Join(bin, name)); err == nil {
			_, err = os.Stat(*path)
		}
		if err != nil {
			return fmt.Errorf("find %s: %w (build it: make build, or name its folder)", name, err)
		}
	}
	return nil
}

// askIperf3 learns the version and what the help offers. Some versions end
// --help with status 1.
func (t *Tools) askIperf3() error {
	help, err := output(t.Iperf3, "--help")
	if err != nil {
		return err
	}
	t.SkipRxCopy = strings.Contains(help, "--skip-rx-copy")
	version, err := output(t.Iperf3, "--version")
	if err != nil {
		return err
	}
	t.IperfVersion, _, _ = strings.Cut(version, " (")
	t.IperfVersion = strings.TrimSpace(strings.SplitN(t.IperfVersion, "\n", 2)[0])
	return nil
}

func output(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.WaitDelay = 5 * time.Second
	b, err := cmd.CombinedOutput()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) && len(b) > 0 {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("ask %s %s: %w", program, strings.Join(args, " "), err)
	}
	return string(b), nil
}

// Contender is one way to run a flow.
type Contender struct {
	Name     string
	Receiver func(addr string, port int) []string // command line
	Sender   func(addr string, port int) []string
	Outcome  func(receiver, sender []byte) (Flow, error) // of what the two wrote to stdout
}

// Flow is what a tool says about its flow, seen from the receiver.
type Flow struct {
	Bytes   uint64
	Seconds float64
}

// iperf3 with buffers of size bytes; extra are further client options. The
// client's -A pins both of its ends.
func (t Tools) iperf3(size int, extra ...string) Contender {
	return Contender{
		Name: strings.Join(append([]string{"iperf3"}, extra...), " "),
		Receiver: func(addr string, port int) []string {
			return []string{t.Iperf3, "-s", "-1", "-B", addr, "-p", strconv.Itoa(port)}
		},
		Sender: func(addr string, port int) []string {
			return append([]string{t.Iperf3, "-c", addr, "-p", strconv.Itoa(port), "-J", "-l", strconv.Itoa(size), "-C", t.Congestion,
				"-A", fmt.Sprintf("%d,%d", t.SenderCPU, t.ReceiverCPU), "-t", strconv.Itoa(int(t.Duration / time.Second)), "--connect-timeout", "5000"}, extra...)
		},
		Outcome: func(_, sender []byte) (Flow, error) { return parseIperf3(sender) },
	}
}

// zcbench with messages and reads of size bytes.
func (t Tools) zcbench(rx, tx string, size int) Contender {
	common := func(program, mode string, cpu int, more ...string) []string {
		return append([]string{program, "--mode", mode, "--json", "--message-size", strconv.Itoa(size), "--congestion", t.Congestion,
			"--cpu", strconv.Itoa(cpu), "--duration", t.Duration.String()}, more...)
	}
	return Contender{
		Name: fmt.Sprintf("zcbench %s -> %s", tx, rx),
		Receiver: func(addr string, port int) []string {
			own := []string{"--read-size", strconv.Itoa(size), "--accept-timeout", "10s", "--listen", fmt.Sprintf("%s:%d", addr, port)}
			if rx == "uring" {
				own = append(own, "--gather", "50us") // what only a ring has without one call more
			}
			return common(t.Zcrecv, rx, t.ReceiverCPU, own...)
		},
		Sender: func(addr string, port int) []string {
			return common(t.Zcsend, tx, t.SenderCPU, fmt.Sprintf("%s:%d", addr, port))
		},
		Outcome: func(receiver, _ []byte) (Flow, error) { return parseZcrecv(receiver) },
	}
}
