export { type Channel, openChannel } from "./channel.ts";
export { ChannelClosed } from "./channel-errors.ts";
export { BrokenFrame, MAX_FRAME_BYTES } from "./channel-frames.ts";
