/**
 * Computes upper bounds of the tokens of a body that may contain media.
 *
 * A text never has more tokens than bytes. Media have far fewer: an image of a megabyte takes a few thousand tokens, and a
 * caller must not be refused because of an estimate that is wrong by a factor of a hundred. So base64 in the places where
 * either dialect puts media is counted by its kind, which its first bytes show. All other base64 is text to a model, and is
 * counted as text. Images that the provider fetches from a URL are counted too.
 *
 * Every long base64 string covers a multiple of `STRIDE`. Only these offsets are examined, and from there a native search
 * finds the ends of the string.
 */

/**
 * Maximum tokens that the messages dialect documents for one image, 4,784 (2,576 by 1,456 pixels in squares of 28), rounded up;
 * compat providers scale images down to fewer, except for a few models.
 */
export const IMAGE_TOKENS = 4_800;

/**
 * Minimum bytes per token of audio and video: the documented maximum is 32 tokens per second, and a second of speech has 2,000
 * bytes or more.
 */
const BYTES_PER_AUDIO_TOKEN = 60;

/**
 * Minimum bytes per token of a document: a page is sent as its text and as an image, 4,600 tokens together, and typically has
 * 20 kB.
 */
const BYTES_PER_DOCUMENT_TOKEN = 4;

/** Minimum length of base64 that is counted as media; shorter strings count as text. */
const STRIDE = 1_024;
/** Number of bytes at an examined offset that must all be base64. */
const PROBE_BYTES = 16;
/** Distance of the bytes within a string that are sampled to confirm that all of it is base64. */
const SAMPLE_BYTES = 61;
/** Maximum number of occurrences of one name that are examined. No request has more media (600 is the documented maximum). */
const MAX_OCCURRENCES = 2_000;

const QUOTE = 0x22;

/** Base64 characters, including a backslash: some clients escape the slash, or break lines. */
const BASE64 = new Uint8Array(256);
for (const char of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\") {
  BASE64[char.charCodeAt(0)] = 1;
}

/** Names of the members in which the dialects and their hosts put media. */
const MEDIA_NAMES: ReadonlySet<string> = new Set(["data", "file_data", "url", "image_url", "image", "b64_json"]);

type MediaKind = "image" | "audio" | "document" | "other";

/** First characters of the formats of both dialects in base64. RIFF contains WAVE or WEBP; its ninth byte tells them apart. */
const MEDIA_SIGNATURES: readonly (readonly [beginning: string, kind: MediaKind])[] = [
  ["iVBORw0KGgo", "image"],
  ["/9j/", "image"],
  ["R0lGOD", "image"],
  ["SUkq", "image"],
  ["JVBERi", "document"],
  ["SUQz", "audio"],
  ["//", "audio"],
  ["T2dnUw", "audio"],
  ["ZkxhQw", "audio"],
  ["GkXfo", "audio"],
];

/**
 * Returns an upper bound of the tokens of a JSON body. `isMessages` is true for the messages dialect, which has the address of
 * an image in another place. `contains` returns false if the body certainly lacks a text.
 */
export function jsonTokenBound(plain: Buffer, isMessages: boolean, contains: (text: string) => boolean): number {
  const fetched = isMessages
    ? contains(MESSAGES_URL) && countMessagesUrls(plain)
    : contains(COMPAT_URL) && countCompatUrls(plain);
  let tokens = plain.length + IMAGE_TOKENS * Number(fetched);
  let at = STRIDE;
  while (at + PROBE_BYTES <= plain.length) {
    if (!isBase64(plain, at, at + PROBE_BYTES, 1)) {
      at += STRIDE;
      continue;
    }
    const start = plain.lastIndexOf(QUOTE, at) + 1;
    const closing = plain.indexOf(QUOTE, at);
    const end = closing < 0 ? plain.length : closing;
    tokens += mediaTokenCorrection(plain, start, end);
    at = end - (end % STRIDE) + STRIDE;
  }
  return Math.max(0, Math.ceil(tokens));
}

/**
 * Returns an upper bound of the tokens of a form or of raw bytes. The kind of a file, image or audio, depends on the route, so
 * the larger bound is used, with room for the text fields. A small body counts as at most its bytes plus its images.
 */
export function formTokenBound(plain: Buffer): number {
  const files = countOccurrences(plain, "filename=");
  const text = Math.min(plain.length, 32 << 10);
  return text + Math.max(files * IMAGE_TOKENS, Math.ceil(plain.length / BYTES_PER_AUDIO_TOKEN));
}

/** Returns the tokens of the string minus its bytes: usually negative, and zero for text. */
function mediaTokenCorrection(plain: Buffer, start: number, end: number): number {
  const name = nameBefore(plain, start - 1);
  if (end - start < STRIDE || name === undefined || !MEDIA_NAMES.has(name)) return 0;
  const head = plain.toString("latin1", start, Math.min(end, start + 128));
  const address = /^data:([a-z]*)[^,]*;base64,/i.exec(head);
  const data = address === null ? 0 : address[0].length;
  if (address === null && /url$/.test(name)) return 0;
  if (!isBase64(plain, start + data, end, SAMPLE_BYTES)) return 0;
  const bytes = ((end - start - data) * 3) / 4;
  return tokensOf(kindOf(head.slice(data), address?.[1]?.toLowerCase()), bytes) - (end - start);
}

function tokensOf(kind: MediaKind, bytes: number): number {
  switch (kind) {
    case "image":
      return IMAGE_TOKENS;
    case "audio":
      return bytes / BYTES_PER_AUDIO_TOKEN;
    case "document":
      return IMAGE_TOKENS + bytes / BYTES_PER_DOCUMENT_TOKEN;
    // Text files and encrypted thinking have at most as many tokens as bytes before encoding.
    case "other":
      return bytes;
    default:
      return kind satisfies never;
  }
}

/**
 * Returns the kind of a medium. `type` is the first half of the media type in a data URL. It is the caller's claim, so the
 * bytes take precedence.
 */
function kindOf(head: string, type: string | undefined): MediaKind {
  const text = head.replaceAll("\\", "");
  if (text.startsWith("UklGR")) return text.startsWith("XRUJQ", 11) ? "image" : "audio";
  for (const [beginning, kind] of MEDIA_SIGNATURES) if (text.startsWith(beginning)) return kind;
  if (type === "image") return "image";
  return type === "audio" || type === "video" ? "audio" : "other";
}

/** Returns the name of the member whose string opens at `quote`. */
function nameBefore(plain: Buffer, quote: number): string | undefined {
  const before = plain.toString("latin1", Math.max(0, quote - 32), Math.max(0, quote));
  return /"([a-z0-9_]+)"\s*:\s*$/.exec(before)?.[1];
}

function isBase64(plain: Buffer, from: number, to: number, step: number): boolean {
  for (let at = from; at < to; at += step) if (BASE64[plain[at] as number] === 0) return false;
  return true;
}

/** Texts that mark the address of an image, by dialect. */
const COMPAT_URL = '_url"';
const MESSAGES_URL = '"url"';

/**
 * Returns the number of images that the provider has to fetch: `"image_url"` before an address, or before an object that has
 * one.
 */
function countCompatUrls(plain: Buffer): number {
  let count = 0;
  visitOccurrences(plain, COMPAT_URL, (_, end) => {
    if (plain.toString("latin1", Math.max(0, end - 11), end) !== '"image_url"') return;
    if (/^\s*:\s*(\{[^{}]{0,40}"url"\s*:\s*)?"https?:/i.test(plain.toString("latin1", end, end + 96))) count++;
  });
  return count;
}

/** Returns the number of images and documents that the provider has to fetch: sources with `"type": "url"`. */
function countMessagesUrls(plain: Buffer): number {
  let count = 0;
  visitOccurrences(plain, MESSAGES_URL, (at) => {
    if (/"type"\s*:\s*$/.test(plain.toString("latin1", Math.max(0, at - 24), at))) count++;
  });
  return count;
}

function countOccurrences(plain: Buffer, text: string): number {
  let count = 0;
  visitOccurrences(plain, text, () => count++);
  return count;
}

function visitOccurrences(plain: Buffer, text: string, visit: (at: number, end: number) => void): void {
  let at = plain.indexOf(text);
  for (let count = 0; at >= 0 && count < MAX_OCCURRENCES; count++) {
    visit(at, at + text.length);
    at = plain.indexOf(text, at + text.length);
  }
}
