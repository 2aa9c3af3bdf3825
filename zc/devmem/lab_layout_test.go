package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
)

func TestLabLayouts(t *testing.T) { labtest.Layouts(t, "devmem") }
