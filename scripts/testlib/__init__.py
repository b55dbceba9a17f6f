# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which tests a change reaches, and running them."""
