/** Checks media in requests: base64, data URLs and forms of addresses. */

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Returns whether the text is base64 of RFC 4648 with padding, and not empty. */
export function isBase64(data: string): boolean {
  return data.length > 0 && data.length % 4 === 0 && BASE64.test(data);
}

interface DataUrl {
  /** Media type in lower case. */
  readonly mediaType: string;
  readonly data: string;
}

/** Parses a data URL, or returns `undefined` if `url` is not a data URL in base64. */
export function readDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(",");
  const head = /^data:([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)(?:;[^;,]+)*;base64$/i.exec(
    url.slice(0, Math.min(comma, 256)),
  );
  if (comma < 0 || head === null) return undefined;
  const data = url.slice(comma + 1);
  return isBase64(data) ? { mediaType: (head[1] ?? "").toLowerCase(), data } : undefined;
}

export function isHttpUrl(url: string): boolean {
  return /^https?:\/\/[^/\s]+/i.test(url);
}

export function isHttpsUrl(url: string): boolean {
  return /^https:\/\/[^/\s]+/i.test(url);
}
