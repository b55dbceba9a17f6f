/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Tracepoints (events/ipoib in tracefs): what one wants to see when packets do not
 * arrive.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ipoib

#if !defined(IPOIB_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define IPOIB_TRACE_H

#include <linux/tracepoint.h>

#include "cm_conn.h"
#include "ipoib.h"

TRACE_EVENT(ipoib_flush,
	    TP_PROTO(const struct ipoib_intf *intf, int level),
	    TP_ARGS(intf, level),
	    TP_STRUCT__entry(__array(char, dev, IFNAMSIZ)
			     __field(int, level)),
	    TP_fast_assign(strscpy(__entry->dev, intf->dev->name, IFNAMSIZ);
			   __entry->level = level;),
	    TP_printk("%s level=%s", __entry->dev,
		      __print_symbolic(__entry->level,
				       { IPOIB_FLUSH_LIGHT, "light" },
				       { IPOIB_FLUSH_NORMAL, "normal" },
				       { IPOIB_FLUSH_HEAVY, "heavy" },
				       { IPOIB_FLUSH_RESTART, "restart" }))
);

DECLARE_EVENT_CLASS(ipoib_answer,
		    TP_PROTO(const struct ipoib_intf *intf, const union ib_gid *gid,
			     int status, u16 lid),
		    TP_ARGS(intf, gid, status, lid),
		    TP_STRUCT__entry(__array(char, dev, IFNAMSIZ)
				     __array(u8, gid, 16)
				     __field(int, status)
				     __field(u16, lid)),
		    TP_fast_assign(strscpy(__entry->dev, intf->dev->name, IFNAMSIZ);
				   memcpy(__entry->gid, gid->raw, 16);
				   __entry->status = status;
				   __entry->lid = lid;),
		    TP_printk("%s gid=%pI6 status=%d lid=0x%04x", __entry->dev,
			      __entry->gid, __entry->status, __entry->lid)
);

/* A path record has come, or has not; the LID if it has. */
DEFINE_EVENT(ipoib_answer, ipoib_path,
	     TP_PROTO(const struct ipoib_intf *intf, const union ib_gid *gid,
		      int status, u16 lid),
	     TP_ARGS(intf, gid, status, lid));

/* The answer to a join; the multicast LID if it was granted. */
DEFINE_EVENT(ipoib_answer, ipoib_join,
	     TP_PROTO(const struct ipoib_intf *intf, const union ib_gid *gid,
		      int status, u16 lid),
	     TP_ARGS(intf, gid, status, lid));

#define ipoib_show_conn_state(state) \
	__print_symbolic(state, \
			 { IPOIB_CONN_NEW, "NEW" }, \
			 { IPOIB_CONN_PATH, "PATH" }, \
			 { IPOIB_CONN_REQ, "REQ" }, \
			 { IPOIB_CONN_UP, "UP" }, \
			 { IPOIB_CONN_DATAGRAM, "DATAGRAM" }, \
			 { IPOIB_CONN_RETRY_PATH, "RETRY_PATH" }, \
			 { IPOIB_CONN_RETRY, "RETRY" }, \
			 { IPOIB_CONN_GONE, "GONE" })

TRACE_EVENT(ipoib_connection,
	    TP_PROTO(const struct ipoib_intf *intf, const u8 *gid, u32 qpn,
		     int from, int event, int to),
	    TP_ARGS(intf, gid, qpn, from, event, to),
	    TP_STRUCT__entry(__array(char, dev, IFNAMSIZ)
			     __array(u8, gid, 16)
			     __field(u32, qpn)
			     __field(int, from)
			     __field(int, event)
			     __field(int, to)),
	    TP_fast_assign(strscpy(__entry->dev, intf->dev->name, IFNAMSIZ);
			   memcpy(__entry->gid, gid, 16);
			   __entry->qpn = qpn;
			   __entry->from = from;
			   __entry->event = event;
			   __entry->to = to;),
	    TP_printk("%s gid=%pI6 qpn=0x%06x %s -> %s event=%s", __entry->dev,
		      __entry->gid, __entry->qpn,
		      ipoib_show_conn_state(__entry->from),
		      ipoib_show_conn_state(__entry->to),
		      __print_symbolic(__entry->event,
				       { IPOIB_CONN_EV_PACKET, "PACKET" },
				       { IPOIB_CONN_EV_PATH, "PATH" },
				       { IPOIB_CONN_EV_REP, "REP" },
				       { IPOIB_CONN_EV_STALE, "STALE" },
				       { IPOIB_CONN_EV_REFUSED, "REFUSED" },
				       { IPOIB_CONN_EV_LOST, "LOST" },
				       { IPOIB_CONN_EV_HANGUP, "HANGUP" },
				       { IPOIB_CONN_EV_MOVED, "MOVED" },
				       { IPOIB_CONN_EV_RESET, "RESET" },
				       { IPOIB_CONN_EV_IDLE, "IDLE" },
				       { IPOIB_CONN_EV_STOP, "STOP" },
				       { IPOIB_CONN_EV_NOPATH, "NOPATH" }))
);

TRACE_EVENT(ipoib_tx_stall,
	    TP_PROTO(const struct ipoib_txq *txq),
	    TP_ARGS(txq),
	    TP_STRUCT__entry(__array(char, dev, IFNAMSIZ)
			     __field(u16, queue)
			     __field(u32, head)
			     __field(u32, posted)
			     __field(u32, tail)),
	    TP_fast_assign(strscpy(__entry->dev, txq->intf->dev->name,
				   IFNAMSIZ);
			   __entry->queue = txq->index;
			   __entry->head = txq->head;
			   __entry->posted = txq->posted;
			   __entry->tail = READ_ONCE(txq->tail);),
	    TP_printk("%s queue=%u filled=%u posted=%u completed=%u", __entry->dev,
		      __entry->queue, __entry->head, __entry->posted, __entry->tail)
);

#endif /* IPOIB_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ipoib_trace
#include <trace/define_trace.h>
