// SPDX-License-Identifier: MIT

package matrix

import (
	"math/rand/v2"
	"strconv"
)

// maxReplays is how often a file may have its plan played.
const maxReplays = 100

// Replays returns how often the plan is played: each time with agents, ports and memory of its own,
// and in an order of its own. What they leave as it was, such as where memory happened to lie, is
// the same within a replay, and differs between them.
func (s *Spec) Replays() int { return 1 + s.Again }

// replay orders the plan for one replay, counted from 0. Repetitions and blocks are counted on,
// from an even number: two that follow each other are a pair of blocks.
func (s *Spec) replay(replay int) []Run {
	seed := s.Seed
	if replay > 0 {
		seed = rand.New(rand.NewPCG(s.Seed, uint64(replay))).Uint64()
	}
	plan := s.inOrder(seed)
	blocks, reps := s.perReplay()
	for i := range plan {
		p := &plan[i]
		p.Replay, p.Block = replay, p.Block+replay*blocks
		if !p.Warmup {
			p.Rep += replay * reps
		}
	}
	return plan
}

// replayKey defines the key replays.
func replayKey() Key {
	return Key{Name: "replays", Type: "int",
		Help: "times to play the whole plan, each with fresh agents, ports and memory",
		get:  func(s *Spec) string { return strconv.Itoa(s.Replays()) },
		set: func(s *Spec, text string) error {
			n, err := within(1, maxReplays)(text)
			if err == nil {
				s.Again = n - 1
			}
			return err
		}}
}
