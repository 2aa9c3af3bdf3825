// SPDX-License-Identifier: MIT

package interrupt

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
)

// childEnv makes this test a process that waits for signals.
const childEnv = "ZCBENCH_TEST_INTERRUPT"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		OutlivePipes()
		ctx, stop := Context(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		fmt.Println("ready")
		select {
		case <-ctx.Done():
			os.Exit(3)
		case <-await.Timeout():
			os.Exit(4)
		case <-onLine(os.Stdin):
		}
		if _, err := fmt.Println("still here"); err != nil {
			os.Exit(5)
		}
		os.Exit(0)
	}
	// Whoever runs the tests in the background lets them ignore signals, and so their
	// children would. What is handled here is not ignored there.
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	os.Exit(m.Run())
}

func onLine(r io.Reader) <-chan struct{} {
	c := make(chan struct{})
	go func() { bufio.NewReader(r).ReadString('\n'); close(c) }()
	return c
}

type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	rd  io.Closer
}

func start(t *testing.T, ignored string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command("/bin/sh", "-c", ignored+`exec "$0"`, self)}
	c.Env = append(os.Environ(), childEnv+"=1")
	c.in, _ = c.StdinPipe()
	out, _ := c.StdoutPipe()
	c.out, c.rd = bufio.NewReader(out), out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	if line, err := c.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return c
}

func TestIgnoredStaysIgnored(t *testing.T) {
	for _, x := range []struct {
		ignored string
		signal  syscall.Signal
		ends    bool
	}{
		{"", syscall.SIGHUP, true}, {"", syscall.SIGINT, true}, {"", syscall.SIGTERM, true},
		{"trap '' HUP; ", syscall.SIGHUP, false}, {"trap '' HUP; ", syscall.SIGINT, true},
		{"trap '' HUP; ", syscall.SIGTERM, true},
		{"trap '' INT; ", syscall.SIGINT, false}, {"trap '' INT; ", syscall.SIGHUP, true},
	} {
		t.Run(strings.TrimSpace(x.ignored+x.signal.String()), func(t *testing.T) {
			t.Parallel()
			c := start(t, x.ignored)
			c.Process.Signal(x.signal)
			if !x.ends {
				await.Pause("it may be ended all the same", 100*time.Millisecond)
				io.WriteString(c.in, "go on\n")
			}
			c.Wait()
			if got := c.ProcessState.ExitCode() == 3; got != x.ends {
				t.Errorf("ended by the signal: %v (%v)", got, c.ProcessState)
			}
		})
	}
}

func TestOutlivePipes(t *testing.T) {
	for ignored, want := range map[string]int{"": -1, "trap '' HUP; ": 5} {
		c := start(t, ignored)
		c.rd.Close()
		io.WriteString(c.in, "write\n")
		c.Wait()
		if got := c.ProcessState.ExitCode(); got != want {
			t.Errorf("%q: %v, want exit status %d", ignored, c.ProcessState, want)
		}
	}
}

// No signal left must not mean every signal.
func TestNoneLeft(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // Reset leaves it ignored, and children too
	ctx, stop := Context(context.Background(), syscall.SIGHUP)
	defer stop()
	syscall.Kill(os.Getpid(), syscall.SIGWINCH)
	await.Pause("the signal comes", 50*time.Millisecond)
	if ctx.Err() != nil {
		t.Error("ended by a signal that nobody asked for")
	}
}
