/** Texts that arrive in pieces, for detectors with and without a bounded reach. */

export { compileReaches, type ReachSet } from "./reach-set.ts";
export { createSlide, type Slide } from "./sliding-text.ts";
export {
  createChannel,
  type MaybePromise,
  mapMaybePromise,
  type StreamTerms,
  type TextChannel,
} from "./text-channel.ts";
