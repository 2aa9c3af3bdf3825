package devmem

import "github.com/zcbench/zcbench/stream"

// Kill ends the binding under a receiver.
func Kill(r stream.Receiver) error {
	b := r.(*Receiver).binding
	err := b.Close()
	return err
}
