// SPDX-License-Identifier: MIT

package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// Refuse refuses to flood an interface of the calling thread's network namespace if that would
// leave the ssh connection of this process's login no room, or if it cannot be told.
func Refuse(dev string) error { return refuse(dev, login(os.Getpid())) }

// refuse does what Refuse does, given what sshd said; "": nobody came by ssh.
func refuse(dev, said string) error {
	if said == "" {
		return nil
	}
	l := Learn(said)
	if l.Err != nil {
		return floodError(dev, "unknown by which interface ssh reaches this host", l.Err)
	}
	switch _, err := nic.Having(l.Here); {
	case errors.Is(err, nic.ErrNoInterface):
		return nil // it ends in another network namespace
	case err != nil:
		return floodError(dev, "unknown by which interface ssh reaches this host", err)
	}
	s, err := rtnl.ReadStack()
	if err != nil {
		return floodError(dev, "unknown what is below it", err)
	}
	if _, ok := s.Named(dev); !ok {
		return floodError(dev, "no such interface", unix.ENODEV)
	}
	why, err := l.Shares(s, dev)
	if err != nil {
		return floodError(dev, "unknown by which interface ssh reaches this host", err)
	}
	if why != "" {
		return floodError(dev, why, unix.EBUSY)
	}
	return nil
}

func floodError(dev, why string, err error) error {
	return &fault.Error{Op: fmt.Sprintf("generate frames on %q: they would starve ssh, and %s", dev, why), Err: err,
		How: "name an interface that ssh does not use (ip route get ADDRESS), or reach the host by another one " +
			"or by its console"}
}

// login returns what sshd said to this process, or to the first above it that was told: sudo(8)
// hands it on to nobody. What cannot be read was told nothing.
func login(pid int) string {
	for range 64 { // no login has so many processes above another
		if pid <= 1 {
			break
		}
		at := "/proc/" + strconv.Itoa(pid)
		all, _ := os.ReadFile(at + "/environ")
		for e := range bytes.SplitSeq(all, []byte{0}) {
			if v, ok := strings.CutPrefix(string(e), Env+"="); ok && v != "" {
				return v
			}
		}
		pid = parent(pid)
	}
	return ""
}
