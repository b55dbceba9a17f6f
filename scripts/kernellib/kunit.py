# SPDX-License-Identifier: GPL-2.0-only OR MIT
def add_arguments(parser):
    pass
