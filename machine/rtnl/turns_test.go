// SPDX-License-Identifier: MIT

package rtnl

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// past is a socket whose limits have all passed.
type past struct{ *netlink.Conn }

func (p past) SetReadDeadline(time.Time) error { return p.Conn.SetReadDeadline(time.Unix(1, 0)) }

// noted is a socket that says when its limit was set.
type noted struct{ log *[]string }

func (n noted) SetReadDeadline(time.Time) error {
	*n.log = append(*n.log, "limit")
	return nil
}

func (noted) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

// The limit is of the answer: the kernel does the work while the request is sent.
func TestLimitOnceSent(t *testing.T) {
	var log []string
	note := func(what string) { log = append(log, what) }
	err := new(Turns).Take(noted{&log}, "a family", 7,
		func() (netlink.Message, error) { note("send"); return netlink.Message{}, nil },
		func() ([]netlink.Message, error) { note("receive"); return nil, nil })
	if d := cmp.Diff([]string{"send", "limit", "receive"}, log); d != "" || err != nil {
		t.Errorf("%v, %s", err, d)
	}
}

// A request whose limit has passed, or that was read the answer to another, leaves nothing to those
// after it: neither an errno, nor one message, nor a list.
func TestAnswersOfOthers(t *testing.T) {
	for name, m := range map[string]netlink.Message{
		"an errno": {Header: netlink.Header{Type: unix.RTM_GETLINK, Flags: netlink.Request}, Data: ifinfo(1<<30, 0, 0)},
		"a link":   {Header: netlink.Header{Type: unix.RTM_GETLINK, Flags: netlink.Request}, Data: ifinfo(1, 0, 0)},
		"a list": {Header: netlink.Header{Type: unix.RTM_GETADDR, Flags: netlink.Request | netlink.Dump},
			Data: make([]byte, unix.SizeofIfAddrmsg)},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Dial()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			send := func() (netlink.Message, error) { return c.c.Send(m) }
			err = c.turns.Take(past{c.c}, "rtnetlink", int(m.Header.Type), send, c.c.Receive)
			if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "has not answered") {
				t.Errorf("late: %v", err)
			}
			if l, err := c.Link(1); err != nil || l.Index != 1 {
				t.Errorf("then: %+v, %v", l, err)
			}
			if _, err := send(); err != nil { // which nobody knows of
				t.Fatal(err)
			}
			if l, err := c.Link(1); !errors.Is(err, ErrOtherAnswer) || errors.Is(err, unix.ENODEV) {
				t.Errorf("another's: %+v, %v", l, err)
			}
			if l, err := c.Link(1); err != nil || l.Index != 1 {
				t.Errorf("at last: %+v, %v", l, err)
			}
		})
	}
}
