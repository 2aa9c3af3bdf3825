# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# flags.sh is read by what runs tests: the flags of go test. What is for debuggers takes a third of
# a link's time, and there are some 120 links.
plain=(-ldflags=-w -vet=off)
engines=(-tags giouring '-ldflags=-checklinkname=0 -w' -vet=off) # both io_uring engines, as make build makes them
