// SPDX-License-Identifier: MIT

package stream

import "context"

type togetherKey struct{}

// Together marks a context: one controller has begun both ends, so the receiver listens before its
// sender connects, and both have the same cookie. The advice for a flow that cannot be opened is
// then not to start the other end.
func Together(ctx context.Context) context.Context {
	return context.WithValue(ctx, togetherKey{}, true)
}

func isTogether(ctx context.Context) bool { return ctx.Value(togetherKey{}) != nil }
