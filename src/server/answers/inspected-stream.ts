/**
 * Inspects a streamed answer: events go in, and what may be shown of them comes out, in order. The transport, HTTP or a
 * session, is notified when there is more to show, and asks the answer whether it was refused. Source: guardrails reference,
 * 5.3 and 5.4; design decisions, section 11.
 */
import { openBufferedStream } from "./buffered-stream.ts";
import type { InspectedStream, StreamPorts } from "./stream-ports.ts";
import { openWindowedStream } from "./windowed-stream.ts";

export function inspectStream(ports: StreamPorts): InspectedStream {
  return ports.answer.guard.answers.policy === "buffer" ? openBufferedStream(ports) : openWindowedStream(ports);
}
