// SPDX-License-Identifier: MIT

package powertest

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// A SCPI meter that reads the same watts whatever it is asked.
type SCPI struct {
	Addr  string
	conns atomic.Int32
}

// Meter serves a meter until the test ends.
func Meter(t testing.TB, watts float64) *SCPI {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	m := &SCPI{Addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			m.conns.Add(1)
			go serve(c, watts)
		}
	}()
	return m
}

func serve(c net.Conn, watts float64) {
	defer c.Close()
	for in := bufio.NewScanner(c); in.Scan(); {
		answer := fmt.Sprintf("%E", watts)
		item, isItem := strings.CutPrefix(in.Text(), ":NUMERIC:NORMAL:ITEM")
		switch what := map[string]string{"1?": "U,1", "2?": "I,1", "3?": "P,1"}[item]; {
		case strings.HasPrefix(in.Text(), "*IDN?"):
			answer = "YOKOGAWA,WT310E,C2QH01001V,F1.03"
		case isItem && what == "":
			answer = ":NUM:NORM:ITEM" + strings.TrimSuffix(item, "?") + " NONE"
		case isItem:
			answer = ":NUM:NORM:ITEM" + strings.TrimSuffix(item, "?") + " " + what
		}
		if _, err := fmt.Fprintln(c, answer); err != nil {
			return
		}
	}
}

// Connections returns how many were made.
func (m *SCPI) Connections() int { return int(m.conns.Load()) }
