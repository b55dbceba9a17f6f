// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The tracepoints' own code. */
#define CREATE_TRACE_POINTS
#include "ipoib_trace.h"
