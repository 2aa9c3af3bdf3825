// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// upEnv names the socket of the machine that [Up] keeps for the command it has started.
const upEnv = "ZCBENCH_LAB_UP"

// remote is the machine of lab up, seen from lab exec.
type remote struct {
	*wire
	what Machine
}

// findUp finds the machine that is up, if it is the one that is asked for.
func findUp(o *ExecOptions) (*remote, error) {
	path := os.Getenv(upEnv)
	if path == "" || o.OwnBoot {
		return nil, nil
	}
	r, err := dialUp(path)
	if err != nil {
		return nil, &Error{"reach the machine of zcbench lab up at " + path, err, "unset " + upEnv +
			", or say --own-boot"}
	}
	if why := r.what.lacks(&o.MachineOptions); why != "" {
		r.close()
		fmt.Fprintf(o.Log, "lab: the running machine does not match: %s; starting another\n", why)
		return nil, nil
	}
	return r, nil
}

// helloPatience is how long zcbench lab up may take to say which machine it has.
const helloPatience = time.Minute

func dialUp(path string) (*remote, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	r := &remote{wire: newWire(conn)}
	if err = checkPeer(conn); err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(helloPatience))
		err = r.expect(frameMachine, &r.what)
		_ = conn.SetReadDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return r, nil
}

// checkPeer refuses other users: who runs commands here is this user.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET,
			unix.SO_PEERCRED)
	})
	switch {
	case cerr != nil:
		return cerr
	case err != nil:
		return fmt.Errorf("getsockopt SO_PEERCRED: %w", err)
	case int(cred.Uid) != os.Geteuid():
		return fmt.Errorf("the other end belongs to user %d, but this is user %d", cred.Uid, os.Geteuid())
	}
	return nil
}

func (r *remote) close() { r.conn.Close() }

// run makes the machine run the request, when its turn has come.
func (r *remote) run(ctx context.Context, q *request) outcome {
	defer context.AfterFunc(ctx, func() { r.conn.Close() })()
	gone := func(err error) outcome {
		if cerr := context.Cause(ctx); cerr != nil {
			err = cerr
		}
		return outcome{exit: ExitTrouble, err: &Error{"run " + q.name() + " in the machine that is up", err, ""}}
	}
	if err := r.sendJSON(frameJob, jobFrame{q.job, q.timeout}); err != nil {
		return gone(err)
	}
	back, backIn := io.Pipe()
	var backErr error
	var wg sync.WaitGroup
	wg.Go(func() { backErr = drain(back, q.receive) })
	f, err := r.follow(q, &wg, backIn)
	if err != nil {
		r.conn.Close() // what is being sent ends
	}
	backIn.CloseWithError(io.ErrUnexpectedEOF) // no-op if its end has come
	wg.Wait()
	if err != nil {
		return gone(err)
	}
	out := f.outcome()
	if out.err == nil && backErr != nil {
		out.exit, out.err = ExitTrouble, &Error{"fetch the guest's files", backErr, ""}
	}
	return out
}

// follow takes frames up to the last.
func (r *remote) follow(q *request, wg *sync.WaitGroup, back *io.PipeWriter) (f outcomeFrame, err error) {
	for {
		kind, p, err := r.read()
		if err == io.EOF {
			return f, fmt.Errorf("zcbench lab up has ended")
		}
		if err != nil {
			return f, err
		}
		switch kind {
		case frameGo:
			wg.Go(func() { r.sendFiles(q) })
		case frameStdout:
			write(q.stdout, p)
		case frameStderr:
			write(q.stderr, p)
		case frameLog:
			write(q.log, p)
		case frameBack:
			back.Write(p)
		case frameBackOK:
			back.Close()
		case frameOutcome:
			err = json.Unmarshal(p, &f)
			return f, err
		default:
			return f, fmt.Errorf("got frame %q", kind)
		}
	}
}

func (r *remote) sendFiles(q *request) {
	end := byte(frameFilesOK)
	if err := q.send(r.stream(frameFiles)); err != nil {
		fmt.Fprintln(q.log, "lab:", err)
		end = frameNoFiles
	}
	r.wire.send(end, nil)
}
