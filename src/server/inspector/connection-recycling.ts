/**
 * Replaces connections of peers before Node refuses further streams. An Envoy resets each stream once it has finished with it,
 * and after 1,000 resets (plus 33 a second) Node accepts no further stream on that connection, so that a pending request would
 * fail. Therefore a notice after some hundred streams makes the peer open another connection for new requests; open ones finish.
 * Source: RFC 9113, section 6.8; nghttp2, `stream_reset_rate_limit`.
 */
import type { Http2Session } from "node:http2";

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

/**
 * GOAWAY frame without an error whose last stream is the highest possible one: it announces the end, and all streams that are
 * already on their way are served. The fields: length 8, type 7, no flags, stream 0; last stream 2^31-1, error code 0.
 */
const SHUTDOWN_NOTICE = Buffer.from("0000080700000000007fffffff00000000", "hex");

/** Encoding that says that the data is a buffer; it is missing in the type of encodings. */
const BUFFER = "buffer" as BufferEncoding;

type Session = Pick<Http2Session, "socket" | "close" | "once">;

/** Returns a function that must be called for each stream that begins. */
export function createConnectionRecycling(): (session: Session) => void {
  const streamCounts = new WeakMap<Session, number>();
  return (session) => {
    const streams = (streamCounts.get(session) ?? 0) + 1;
    streamCounts.set(session, streams);
    if (streams === MAX_STREAMS) session.close();
    if (streams !== MAX_STREAMS_BEFORE_GOAWAY) return;
    sendShutdownNotice(session);
    const closing = setTimeout(() => session.close(), GRACE_MS).unref();
    session.once("close", () => clearTimeout(closing));
  };
}

/**
 * Sends the notice past the session. `session.goaway` cannot be used: whatever last stream it names, nghttp2 silently drops each
 * stream that arrives after that frame was sent, and the peer's request would wait until the connection closes. nghttp2 has a
 * function for this notice, which Node does not expose. A session writes whole frames to its socket, so that this one cannot
 * land within another.
 */
function sendShutdownNotice(session: Session): void {
  // The session's view of its socket forbids `write`, but not the method below it.
  if (!session.socket.destroyed) session.socket._write(SHUTDOWN_NOTICE, BUFFER, () => undefined);
}
