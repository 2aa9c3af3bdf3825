# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# flags.sh is read by what runs tests: the flags of go test.
plain=(-vet=off)
engines=(-tags giouring -ldflags=-checklinkname=0 -vet=off) # both io_uring engines, as make build makes them
