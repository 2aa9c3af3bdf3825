# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# flags.sh is read by what runs tests: the flags of go test, and what this machine has apart.
plain=(-vet=off)
engines=(-tags giouring -ldflags=-checklinkname=0 -vet=off) # both io_uring engines, as make build makes them

# Lane quiet: these need the CPUs for themselves.
quiet='^TestCPUTruth$|^TestIntegrationProgramsAreTimed$|^TestIntegrationKnownWork$|^TestIntegrationWhy$|^TestIntegrationGenericIsDearer$|^TestIntegrationPaceIsKept$'

# These run in the lab, or are programs that a test there starts.
in_lab='^TestLab|^TestKilledReceiver$|^TestUpperInLab$|^TestNodesInLab$|^TestFlowLayoutsInLab$|^TestNetemInLab$|^TestPktgenInLab$'
