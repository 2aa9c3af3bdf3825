// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"net/netip"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// sendCommand sends until it is killed, as zcsend does.
func sendCommand() *cobra.Command {
	return &cobra.Command{Use: "send", Hidden: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		runtime.LockOSThread()
		if err := pin(txCPU); err != nil {
			return err
		}
		fd, err := connect()
		if err != nil {
			return err
		}
		o := stream.Options{MessageBytes: stream.DefaultMessageBytes}
		p, err := stream.NewPayload(o.MessageBytes)
		if err != nil {
			return err
		}
		s, err := baseline.NewTCPSender(o)
		if err != nil {
			return err
		}
		return s.Send(&stream.Conn{FD: fd}, p, new(stream.Meter))
	}}
}

// connect makes the flow's socket, from the port that the rule expects.
func connect() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	from := netip.AddrPortFrom(netip.MustParseAddr(txAddr), fromPort)
	to := netip.AddrPortFrom(netip.MustParseAddr(rxAddr), port)
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(from.Port()), Addr: from.Addr().As4()}); err != nil {
		return -1, fmt.Errorf("bind %v: %w", from, err)
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return -1, fmt.Errorf("connect to %v: %w", to, err)
	}
	return fd, unix.SetNonblock(fd, true)
}

func pin(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}
