// SPDX-License-Identifier: MIT

package power

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// lineClient speaks a protocol of lines over TCP. It connects when it is first
// asked, and anew after any error: an answer that comes late must never be taken
// for that to a later question.
type lineClient struct {
	addr   string
	ending string // of a line that is sent: "\r\n" or "\n"
	// hello sets a new connection up.
	hello func(context.Context) error

	conn net.Conn
	r    *bufio.Reader
}

// mostLine bounds a line, bytes: what is longer is no answer.
const mostLine = 4096

// ask sends a line and returns the answer's.
func (c *lineClient) ask(ctx context.Context, question string) (string, error) {
	if err := c.connect(ctx); err != nil {
		return "", err
	}
	answer, err := c.exchange(ctx, question)
	if err != nil {
		c.drop()
		return "", fmt.Errorf("%s: %q: %w", c.addr, question, plainTimeout(err))
	}
	return answer, nil
}

// more returns another line of an answer.
func (c *lineClient) more(ctx context.Context) (string, error) {
	if c.conn == nil {
		return "", net.ErrClosed
	}
	line, err := c.readLine(ctx)
	if err != nil {
		c.drop()
		return "", fmt.Errorf("%s: %w", c.addr, plainTimeout(err))
	}
	return line, nil
}

func (c *lineClient) connect(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return plainTimeout(err)
	}
	c.conn, c.r = conn, bufio.NewReaderSize(conn, mostLine)
	if c.hello == nil {
		return nil
	}
	if err := c.hello(ctx); err != nil {
		c.drop()
		return err
	}
	return nil
}

func (c *lineClient) exchange(ctx context.Context, question string) (string, error) {
	if err := c.conn.SetDeadline(deadline(ctx)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c.conn, question+c.ending); err != nil {
		return "", err
	}
	return c.readLine(ctx)
}

func (c *lineClient) readLine(ctx context.Context) (string, error) {
	conn := c.conn
	if err := conn.SetDeadline(deadline(ctx)); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	b, err := c.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", fmt.Errorf("the answer has a line of more than %d bytes", mostLine)
	case errors.Is(err, io.EOF):
		return "", errors.New("the instrument closed the connection")
	case err != nil:
		return "", err
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// drop closes the connection; the next question opens another.
func (c *lineClient) drop() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

func deadline(ctx context.Context) time.Time {
	if d, ok := ctx.Deadline(); ok {
		return d
	}
	return time.Now().Add(readTime)
}

// plainTimeout puts an instrument's timeout into our words: no answer in time.
func plainTimeout(err error) error {
	if t := (net.Error)(nil); errors.As(err, &t) && t.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

// withPort adds the instrument's usual port to an address without one.
func withPort(addr, port string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), port)
}

// needAddress refuses a spec without an address, or one with a user in it, which
// would stand in results.
func needAddress(what string) func(Spec) error {
	return func(s Spec) error {
		if strings.Contains(s.Target, "@") {
			return errors.New("no user or password in the address: the instrument does not use them")
		}
		return needTarget(what)(s)
	}
}

// needTarget refuses a spec without a target.
func needTarget(what string) func(Spec) error {
	return func(s Spec) error {
		if s.Target == "" {
			return fmt.Errorf("it needs %s, such as %s", what, kinds[s.Name].example)
		}
		return nil
	}
}
