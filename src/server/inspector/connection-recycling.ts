/**
 * Replaces connections of peers before Node refuses further streams. An Envoy resets each stream once it has finished with it,
 * and after 1,000 resets (plus 33 a second) Node accepts no further stream on that connection, so that a pending request would
 * fail. Therefore a GOAWAY is sent after some hundred streams: the peer opens another connection for new requests, and open ones
 * finish. Source: RFC 9113, section 6.8; nghttp2, `stream_reset_rate_limit`.
 */
import { constants, type Http2Session } from "node:http2";

/**
 * Number of streams after which a connection is replaced. It is far below 1,000, to leave room for streams that begin before the
 * peer has read the GOAWAY.
 */
const MAX_STREAMS_BEFORE_GOAWAY = 400;

/**
 * Time that the peer has to read the GOAWAY before the connection closes, in milliseconds. The next constant is the maximum
 * number of streams of a peer that ignores it.
 */
const GRACE_MS = 5_000;
const MAX_STREAMS = 1_000;

/** Highest stream id, which the GOAWAY contains so that all streams on their way are still accepted. */
const MAX_STREAM_ID = 2 ** 31 - 1;

type Session = Pick<Http2Session, "goaway" | "close" | "once">;

/** Returns a function that must be called for each stream that begins. */
export function createConnectionRecycling(): (session: Session) => void {
  const streamCounts = new WeakMap<Session, number>();
  return (session) => {
    const streams = (streamCounts.get(session) ?? 0) + 1;
    streamCounts.set(session, streams);
    if (streams === MAX_STREAMS) session.close();
    if (streams !== MAX_STREAMS_BEFORE_GOAWAY) return;
    session.goaway(constants.NGHTTP2_NO_ERROR, MAX_STREAM_ID);
    const closing = setTimeout(() => session.close(), GRACE_MS).unref();
    session.once("close", () => clearTimeout(closing));
  };
}
