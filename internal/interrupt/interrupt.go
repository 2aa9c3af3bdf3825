// SPDX-License-Identifier: MIT

// Package interrupt ends work on signals, but not on those that the process was told to
// ignore when it was started: by nohup, or by a shell that runs it in the background.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Context returns a context that ends with the first of the signals, as
// [signal.NotifyContext] does, which would also make ignored ones end it again. A process
// can be born ignoring SIGHUP and SIGINT; Go takes SIGTERM in any case.
func Context(parent context.Context, signals ...os.Signal) (context.Context, context.CancelFunc) {
	signals = slices.DeleteFunc(signals, signal.Ignored)
	if len(signals) == 0 { // to NotifyContext that is all of them
		return context.WithCancel(parent)
	}
	return signal.NotifyContext(parent, signals...)
}

// OutlivePipes makes a process that is to outlive its terminal outlive its pipes too: what
// it writes to a `| tee` that went with the terminal is an error, and no longer its end.
func OutlivePipes() {
	if signal.Ignored(syscall.SIGHUP) {
		// Not signal.Ignore: the programs that we start would inherit that.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
}
