// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// TestMain gives tools the time that they need on a busy machine.
func TestMain(m *testing.M) {
	beginsLimit, stopLimit, listensLimit = await.Hang, await.Hang, await.Hang
	os.Exit(m.Run())
}
