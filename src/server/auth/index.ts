/** Who calls: virtual keys. */

export { digestOf, isSameDigest, type MintedKey, mintKey, parseKey, type VirtualKey } from "./virtual-key.ts";
