# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Seeds of conf_fuzz.cc that no editor would keep as they are."""


def inputs():
    return {
        "byte-order-mark": b"\xEF\xBB\xBFONBOOT=yes\n",
        "carriage-returns": b"ONBOOT=yes\r\nSET_IPOIB_CM=no\r\n",
    }
