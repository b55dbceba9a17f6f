#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A program in a multicast group. member.py GROUP ADDRESS: join it by the interface that
has this address now, and stay.
"""
import signal
import socket
import sys

member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                  socket.inet_aton(sys.argv[1]) + socket.inet_aton(sys.argv[2]))
signal.pause()
