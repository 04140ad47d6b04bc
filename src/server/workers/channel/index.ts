export { type Channel, openChannel } from "./channel.ts";
export { ChannelClosed } from "./faults.ts";
export { BrokenFrame, MAX_FRAME_BYTES } from "./frames.ts";
