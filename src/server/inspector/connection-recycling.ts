/**
 * Replaces connections of peers before Node refuses further streams. An Envoy resets each stream once it is done with it, and
 * after 1,000 resets (plus 33 a second) Node takes no further stream on that connection, so a request under way would fail.
 * After some hundred streams a GOAWAY is sent: the peer opens another connection for new requests, and open ones finish.
 * Source: RFC 9113, section 6.8; nghttp2, `stream_reset_rate_limit`.
 */
import { constants, type Http2Session } from "node:http2";

/**
 * Streams on a connection before it is replaced. Far below 1,000, to leave room for streams that begin before the peer has read
 * the GOAWAY.
 */
const MOST_STREAMS = 400;

/** Time for the peer to read the GOAWAY before the connection closes, and maximum streams of a peer that ignores it. */
const GRACE_MS = 5_000;
const MOST_STREAMS_AFTER_ALL = 1_000;

/** Highest stream id: all streams that still come are accepted. */
const ANY_STREAM = 2 ** 31 - 1;

type Session = Pick<Http2Session, "goaway" | "close" | "once">;

/** Returns a function to call for each stream that begins. */
export function createConnectionRecycling(): (session: Session) => void {
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
