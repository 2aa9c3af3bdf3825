package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/wire"
)

// Over a network a lost peer is not noticed by itself: a cable that is pulled
// says nothing. Each end must hear of the other at least every silence.
const (
	silence    = 6 * time.Second
	aliveEvery = time.Second
)

// errSilent is a far host that no longer answers.
var errSilent = fmt.Errorf("it did not answer for %v", silence)

// stayAlive tells the agent every second that we live, and gives the link up when
// the agent does not answer.
func (h *Host) stayAlive() {
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.done:
			return
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), silence, errSilent)
		err := h.Call(ctx, wire.OpAlive, nil, nil)
		cancel()
		if errors.Is(err, errSilent) {
			h.giveUp()
			return
		}
	}
}

func (h *Host) giveUp() {
	h.mu.Lock()
	h.lost = lostError(errSilent.Error())
	h.mu.Unlock()
	h.proc.kill()
}

// lostError is a link that broke.
func lostError(words string) error {
	return &stream.Error{Op: "the connection is lost: " + words,
		How: "check network and host; what ran there ends by itself within " + silence.String() + " and takes back what it set"}
}

// farEnd is why the far end of an ssh connection is gone, from what ssh said.
func farEnd(stderr string, exit error) error {
	e := explain(stderr, "", exit)
	if exit == nil {
		e.Op = "the agent ended"
	} else if e.How == "" && !exitedItself(exit) {
		return lostError(e.Op)
	}
	return e
}
