/** Rules of a strict provider, in both dialects. */

export { checkChat, checkCount } from "./chat-rules.ts";
export { checkCounted, checkMessages } from "./messages-rules.ts";
