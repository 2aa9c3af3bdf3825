// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// The receiver in a container: see docs/containers.md.
func TestLabContainer(t *testing.T) { labtest.Container(t, zcrx.Mode) }

func TestLabContainerRings(t *testing.T) {
	needsShare(t)
	labtest.ContainerRings(t)
}

func TestLabContainerKilled(t *testing.T) { labtest.ContainerKilled(t, zcrx.Mode) }

func TestLabContainerOfOthers(t *testing.T) { labtest.ContainerOfOthers(t, zcrx.Mode) }

func TestLabContainerRoutes(t *testing.T) { labtest.ContainerRoutes(t, zcrx.Mode) }
