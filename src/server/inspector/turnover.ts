/**
 * Connections of peers are replaced before they are full. An Envoy resets each stream once it is done with it, and of a
 * connection that was sent a thousand resets, and 33 a second more, Node takes no further stream: a request that was on its
 * way then would fail. So a connection that bore some hundreds is announced to end: the peer opens another for what comes, and
 * those that are open go on to their end. Source: RFC 9113, section 6.8; nghttp2, `stream_reset_rate_limit`.
 */
import { constants, type Http2Session } from "node:http2";

/** Resets are counted from the first. Those of streams that begin before the announcement is read have room beside these. */
const MOST_STREAMS = 400;

/** Until the announcement is read, and the last stream has come: for so long, or for so many streams of whoever heeds nothing. */
const GRACE_MS = 5_000;
const MOST_STREAMS_AFTER_ALL = 1_000;

/** Whatever stream comes is still taken. */
const ANY_STREAM = 2 ** 31 - 1;

type Session = Pick<Http2Session, "goaway" | "close" | "once">;

/** To be told of each stream that begins. */
export function createTurnover(): (session: Session) => void {
  const begun = new WeakMap<Session, number>();
  return (session) => {
    const streams = (begun.get(session) ?? 0) + 1;
    begun.set(session, streams);
    if (streams === MOST_STREAMS_AFTER_ALL) session.close();
    if (streams !== MOST_STREAMS) return;
    session.goaway(constants.NGHTTP2_NO_ERROR, ANY_STREAM);
    const closing = setTimeout(() => session.close(), GRACE_MS).unref();
    session.once("close", () => clearTimeout(closing));
  };
}
