export { type Channel, openChannel } from "./channel.ts";
export { BrokenFrame, MAX_FRAME_BYTES } from "./channel-frames.ts";
export { ChannelClosed } from "./faults.ts";
