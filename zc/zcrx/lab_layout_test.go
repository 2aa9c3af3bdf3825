package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

func TestLabLayouts(t *testing.T) { labtest.Layouts(t, zcrx.Mode) }
