// SPDX-License-Identifier: MIT

package stream

import "context"

type togetherKey struct{}

// Together says in a context that one controller has begun both ends: the receiver listens before
// its sender connects, and both have the same cookie. What a flow that cannot be opened is told
// then is not to start the other end.
func Together(ctx context.Context) context.Context {
	return context.WithValue(ctx, togetherKey{}, true)
}

func isTogether(ctx context.Context) bool { return ctx.Value(togetherKey{}) != nil }
