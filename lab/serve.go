// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

// errLeft says that lab exec has ended, or was ended, before its command.
var errLeft = errors.New("the client of the command has gone")

// serve lets one lab exec have its command run. It returns when all is done.
func serve(ctx context.Context, conn *net.UnixConn, what Machine, k *keeper) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // also while it says nothing
	if err := checkPeer(conn); err != nil {
		return err
	}
	w := newWire(conn)
	if err := w.sendJSON(frameMachine, what); err != nil {
		return err
	}
	var j jobFrame
	if err := w.expect(frameJob, &j); err != nil {
		if err == io.EOF {
			return nil // it wants another machine
		}
		return err
	}
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	files, filesIn := io.Pipe()
	go func() { leave(takeFiles(w, filesIn)) }()
	out := k.run(ctx, &request{
		job: j.Job, timeout: j.Timeout,
		send: func(to io.Writer) error {
			if err := w.send(frameGo, nil); err != nil {
				return err
			}
			_, err := io.Copy(to, files)
			return err
		},
		receive: func(from io.Reader) error {
			if _, err := io.Copy(w.stream(frameBack), from); err != nil {
				return err
			}
			return w.send(frameBackOK, nil)
		},
		stdout: w.stream(frameStdout), stderr: w.stream(frameStderr), log: w.stream(frameLog),
		hurry: func() { conn.SetWriteDeadline(time.Now().Add(leavePatience)) },
	})
	files.Close()
	err := w.sendJSON(frameOutcome, newOutcomeFrame(out))
	if context.Cause(ctx) == errLeft {
		return nil // the keeper has told
	}
	return err
}

// leavePatience is how long a lab exec that is stopped may hold up the end of a
// machine that is gone.
const leavePatience = 10 * time.Second

// takeFiles reads what lab exec sends until it has gone.
func takeFiles(w *wire, files *io.PipeWriter) error {
	for {
		kind, p, err := w.read()
		switch {
		case err != nil:
			files.CloseWithError(errLeft)
			return errLeft
		case kind == frameFiles:
			files.Write(p) // an error: nobody wants the rest
		case kind == frameFilesOK:
			files.Close()
		case kind == frameNoFiles:
			files.CloseWithError(errors.New("the command's files could not be read"))
		default:
			return errors.New("unintelligible message")
		}
	}
}
