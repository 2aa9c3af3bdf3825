// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// One rule for the port, an RSS context, and a ring for each of its queues: no flow is copied.
func TestLabPort(t *testing.T) { labtest.PortFlows(t, zcrx.Mode, true) }

// So it is with a mode that takes no queue over.
func TestLabPortOfTCP(t *testing.T) {
	long.Test(t)
	labtest.PortFlows(t, "tcp", false)
}

// The queues of a context are the port's alone.
func TestLabPortTable(t *testing.T) { labtest.PortTable(t) }

// Three kills leave nothing.
func TestLabPortKilled(t *testing.T) { labtest.PortKilled(t, zcrx.Mode) }

// Some drivers have no RSS contexts.
func TestLabImitatedPort(t *testing.T) { labtest.PortPerDriver(t) }
