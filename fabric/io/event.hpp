// SPDX-License-Identifier: GPL-2.0-only OR MIT
// sd-event's handles, owned.
#pragma once

#include <systemd/sd-event.h>

#include <memory>

namespace openipoib::fabric
{

struct EventUnref {
    void operator()(sd_event *event) const { sd_event_unref(event); }
    // An owner's source must not call it when the owner is gone.
    void operator()(sd_event_source *source) const { sd_event_source_disable_unref(source); }
};
using Event = std::unique_ptr<sd_event, EventUnref>;
using EventSource = std::unique_ptr<sd_event_source, EventUnref>;

} // namespace openipoib::fabric
