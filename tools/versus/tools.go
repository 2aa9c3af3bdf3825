// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// Tools are the programs compared and what they have in common.
type Tools struct {
	Iperf3       string // program
	IperfVersion string // "iperf 3.12"
	SkipRxCopy   bool   // this iperf3 has it
	Neper        string // its tcp_stream
	NeperCRR     string // its tcp_crr; "": left out
	Netperf      string
	Netserver    string
	Zcrecv       string
	Zcsend       string
	Ping         string // "": is not asked

	SenderCPUs, ReceiverCPUs cpulist.Flag
	Congestion               string
	Duration                 time.Duration
}

// findRival finds the programs of a rival.
func (t *Tools) findRival(r Rival, o rivalPrograms) error {
	switch r {
	case Iperf3:
		return t.findIperf3(o.iperf3)
	case Neper:
		return find(&t.Neper, o.neper, "neper's tcp_stream", "build it, and name it with --neper")
	default:
		if err := find(&t.Netperf, o.netperf, "netperf", "build it, and name it with --netperf"); err != nil {
			return err
		}
		// The two are installed beside each other.
		return find(&t.Netserver, filepath.Join(filepath.Dir(t.Netperf), "netserver"), "netserver",
			"it belongs beside netperf")
	}
}

func find(path *string, name, what, how string) (err error) {
	if *path, err = exec.LookPath(name); err == nil {
		*path, err = filepath.Abs(*path)
	}
	if err != nil {
		return fmt.Errorf("find %s: %w (%s)", what, err, how)
	}
	return nil
}

// findIperf3 finds iperf3 by name or path and asks it what it can.
func (t *Tools) findIperf3(iperf3 string) error {
	if err := find(&t.Iperf3, iperf3, "iperf3", "install it: apt-get install iperf3"); err != nil {
		return err
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
	t.IperfVersion = plaintext.Line(strings.TrimSpace(strings.SplitN(t.IperfVersion, "\n", 2)[0]))
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
