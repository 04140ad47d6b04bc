/** Texts that arrive in pieces, for detectors with and without a bounded reach. */

export { compileReaches, type ReachSet } from "./reach-set.ts";
export { createSlide, type Slide, type SlidePorts } from "./sliding-text.ts";
export {
  type ChannelPorts,
  createChannel,
  type MaybePromise,
  mapMaybePromise,
  type StreamTerms,
  type TextChannel,
} from "./text-channel.ts";
