/** Frames, hello, consensus messages and links between peers. */

export { isRecord, readBytes, writeBytes } from "./bytes.ts";
export {
  decodeBatch,
  decodeMessage,
  encodeBatch,
  encodeMessage,
  entriesBytes,
  parseConfiguration,
} from "./consensus-message.ts";
export { DialError, type DialFailure, type DialOptions, dial } from "./dial.ts";
export {
  createFrameDecoder,
  encodeFrame,
  encodeJson,
  FRAME_OVERHEAD_BYTES,
  type Frame,
  KIND,
  MAX_PAYLOAD_BYTES,
} from "./frame.ts";
export type { Hello, SelfDescription } from "./hello.ts";
export type { Link, LinkHandlers, Pulse } from "./link.ts";
export {
  type InboundLink,
  type LinkListener,
  type ListenerStats,
  type ListenOptions,
  listenLinks,
} from "./listen-for-links.ts";
export { createRivals } from "./rivals.ts";
export { systemTiming, type Timing } from "./timing.ts";
export { WireError } from "./wire-error.ts";
