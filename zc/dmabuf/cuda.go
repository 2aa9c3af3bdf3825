// SPDX-License-Identifier: MIT

package dmabuf

import "github.com/zcbench/zcbench/machine/gpu"

// cudas is memory of NVIDIA GPUs, by CUDA's driver (docs/devmem-gpu.md).
var cudas = ofGPU("cuda", gpu.NVIDIA)
