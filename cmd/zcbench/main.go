// Command zcbench: a stand-in for trying the lab until the real one is merged.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/lab/guest"
)

func main() {
	if guest.IsInit() {
		guest.Main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "zcbench", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(newLabCommand())
	err := root.ExecuteContext(ctx)
	var st *labExit
	if errors.As(err, &st) {
		if st.err != nil {
			fmt.Fprintln(os.Stderr, "zcbench:", st.err)
		}
		os.Exit(st.code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "zcbench:", err)
		os.Exit(2)
	}
}
