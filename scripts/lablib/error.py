# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What the lab tells its user."""


class LabError(RuntimeError):
    """Something the user is to be told; `code` is the exit status."""

    def __init__(self, message, code=2):
        super().__init__(message)
        self.code = code
