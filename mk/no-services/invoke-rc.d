#!/bin/sh
# SPDX-License-Identifier: MIT
# Starts and stops nothing. See mk/install.sh.
case " $* " in *" --query "*) exit 101 ;; esac # denied by policy: invoke-rc.d(8)
exit 0
