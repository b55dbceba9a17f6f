# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Constants of libibverbs by their names: of newer pyverbs they are members of enumerations.

A module instead of pyverbs.enums, which is called libibverbs_enums there.
"""

import enum

try:
    from pyverbs import libibverbs_enums as source
except ImportError:
    from pyverbs import enums as source

globals().update({name: value for name, value in vars(source).items() if name.isupper()})
for one in list(vars(source).values()):
    if isinstance(one, type) and issubclass(one, enum.Enum):
        globals().update(one.__members__)
