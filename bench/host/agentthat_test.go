// SPDX-License-Identifier: MIT

package host_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/agent"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// behaves is what the name begins with by which this test binary is called as an agent
// of bad manners, which are the rest of it.
const behaves = "agent that "

// agentThat is a program that is such an agent.
func agentThat(t *testing.T, how string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), behaves+how)
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestMain lets this test binary be the agent that Dial starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "agent" {
		agent.Arrive()
		os.Exit(beAgent(strings.TrimPrefix(filepath.Base(os.Args[0]), behaves)))
	}
	if len(os.Args) == 3 && os.Args[2] == "--remove-unused" {
		if _, err := host.RemoveUnused(".", time.Now()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == "controller" {
		os.Exit(beController())
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "zcbench-host-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

// patience is that of a controller which is stopped for longer. While it is not stopped its agent
// must have said something by then, on a busy machine too.
const patience = 4 * time.Second

// beController holds an agent, says so, and says once more whether it still does
// when it is asked to.
func beController() int {
	o := options()
	o.Limits.Silence, o.Limits.Alive = patience, patience/10
	h, err := host.Dial(context.Background(), "local", o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer h.Close()
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Println(h.Err())
	return 0
}

func beAgent(how string) int {
	switch how {
	case "is garbage":
		fmt.Println("welcome to this host!")
		io.Copy(io.Discard, os.Stdin)
	case "is deaf garbage":
		fmt.Println("welcome to this host!")
		await.Kill()
	case "is silent":
		io.Copy(io.Discard, os.Stdin)
	case "is deaf":
		await.Kill()
	case "is dying":
		bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Fprintln(os.Stderr, "out of luck")
		return 3
	case "is a stranger":
		fmt.Println(`{"id":77,"result":{}}`)
		io.Copy(io.Discard, os.Stdin)
	case "cannot restore":
		agent.Serve(context.Background(), os.Stdin, os.Stdout)
		fmt.Fprintln(os.Stderr, "restore: mtu of eth0: it is stuck")
		return 1
	case "floods", "floods at its end":
		if how == "floods" {
			told := make(chan os.Signal, 1)
			signal.Notify(told, unix.SIGUSR1)
			go agent.Serve(context.Background(), os.Stdin, os.Stdout)
			<-told
		} else {
			agent.Serve(context.Background(), os.Stdin, os.Stdout)
		}
		flood := bytes.Repeat([]byte(`{"id":0,"result":{}}`+"\n"), 1000)
		for {
			if _, err := os.Stdout.Write(flood); err != nil {
				return 0
			}
		}
	case "owes ssh":
		oweSSH(os.Stdin, os.Stdout)
	case "never ends":
		agent.Serve(context.Background(), os.Stdin, os.Stdout)
		for {
			fmt.Println(`{"id":0,"result":{}}`)
			await.Pause("at the pace of an agent of ours", wire.EndingEvery)
		}
	default:
		if err := agent.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	return 0
}
