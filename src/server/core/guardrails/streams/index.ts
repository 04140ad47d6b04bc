/** Texts that arrive in pieces. */

export { type ChannelPorts, createChannel, horizonBytes, type StreamTerms, type TextChannel } from "./channel.ts";
