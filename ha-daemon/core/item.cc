// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/item.hpp"

#include <algorithm>

namespace openipoib::ha
{

bool has(const Items &items, const Item &item)
{
    return std::ranges::any_of(items, [&](const Item &one) { return one.is(item); });
}

bool belongs(const Item &item)
{
    return item.kind != Kind::peer && item.kind != Kind::standIn;
}

} // namespace openipoib::ha
