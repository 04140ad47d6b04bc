/**
 * Inspects a streamed answer: takes events and returns the frames that may be shown, in order. The transport (HTTP or a session)
 * is notified when there is more to show, and checks whether the answer was refused. Source: guardrails reference, 5.3 and 5.4;
 * design decisions, section 11.
 */
import { openBufferedStream } from "./buffered-stream.ts";
import type { InspectedStream, StreamPorts } from "./stream-ports.ts";
import { openWindowedStream } from "./windowed-stream.ts";

export function inspectStream(ports: StreamPorts): InspectedStream {
  return ports.answer.guard.answers.policy === "buffer" ? openBufferedStream(ports) : openWindowedStream(ports);
}
