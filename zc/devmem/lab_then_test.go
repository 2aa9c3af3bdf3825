// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// What devmem receives goes on from where it lies: its dmabuf is bound for sending, too.
func TestLabThen(t *testing.T) { labtest.Then(t, devmem.Mode) }

// Killed while it sends from there, it leaves nothing.
func TestLabThenKilled(t *testing.T) { labtest.ThenKilled(t, devmem.Mode) }
