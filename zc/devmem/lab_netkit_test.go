// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// The receiver in a container: see docs/containers.md.
func TestLabContainer(t *testing.T) { labtest.Container(t, devmem.Mode) }

// The sender there, from a dmabuf and from pages.
func TestLabContainerSends(t *testing.T) {
	long.Test(t)
	for _, tx := range []string{"devmem", "msg-zerocopy"} {
		t.Run(tx, func(t *testing.T) { labtest.ContainerSends(t, tx, tx == "devmem") })
	}
}
