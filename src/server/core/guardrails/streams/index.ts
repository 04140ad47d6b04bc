/** Texts that arrive in pieces. */

export {
  after,
  type ChannelPorts,
  createChannel,
  horizonBytes,
  type Later,
  type StreamTerms,
  type TextChannel,
} from "./channel.ts";
export { createSlide, type Slide, type SlidePorts } from "./slide.ts";
