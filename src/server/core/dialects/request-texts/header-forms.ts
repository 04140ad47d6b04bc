/**
 * Alternative readings of a header value: encoded words (RFC 2047), split parameters (RFC 2231) and escapes within quotes (RFC
 * 9110, section 5.6.4). Parameters of RFC 8187 are percent-encoded, which is decoded for all values. Values have one character
 * per byte.
 */

const WORD = String.raw`=\?[\w*-]{1,40}\?[bq]\?[^?\s]*\?=`;
/** Pattern of consecutive encoded words: the white space between two is not part of the text. */
const WORDS = new RegExp(`${WORD}(?:[ \\t]+${WORD}|${WORD})*`, "gi");
const PARTS_OF_WORD = /=\?([\w*-]{1,40})\?([bq])\?([^?\s]*)\?=/gi;

const ESCAPED = /\\([\x20-\x7e\x80-\xff])/g;

const PART = /[;,\s]([\w!#$&^.+-]{1,80})\*(\d{1,3})\*?\s*=\s*("(?:[^"\\]|\\.)*"|[^;,\s]*)/g;

/** Returns the decoded readings of a header value; most values have none. */
export function headerForms(value: string): readonly string[] {
  const forms: string[] = [];
  if (value.includes("=?")) forms.push(value.replace(WORDS, decodedWords));
  if (value.includes("\\")) forms.push(value.replace(ESCAPED, "$1"));
  if (value.includes("*")) forms.push(...joinedParts(value));
  return forms.filter((form) => form !== value);
}

function decodedWords(words: string): string {
  let text = "";
  let charset = "";
  let bytes: Buffer[] = [];
  const flush = (): void => {
    text += decodedBy(charset, Buffer.concat(bytes));
    bytes = [];
  };
  for (const [, name = "", encoding = "", written = ""] of words.matchAll(PARTS_OF_WORD)) {
    const own = name.replace(/\*.*$/, "").toLowerCase();
    // A character may be split between two words, which is not allowed, but readers accept it.
    if (own !== charset) flush();
    charset = own;
    bytes.push(/b/i.test(encoding) ? Buffer.from(written, "base64") : quotedPrintable(written));
  }
  flush();
  return text;
}

function quotedPrintable(written: string): Buffer {
  const text = written
    .replaceAll("_", " ")
    .replace(/=([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return Buffer.from(text, "latin1");
}

/** Returns the text as UTF-8, one character per byte. Bytes in an unknown character set stay as they are. */
function decodedBy(charset: string, bytes: Buffer): string {
  if (bytes.length === 0) return "";
  try {
    return Buffer.from(new TextDecoder(charset).decode(bytes), "utf8").toString("latin1");
  } catch {
    return bytes.toString("latin1");
  }
}

/** Joins parameters in parts: `a*0="41"; a*1="11"` is one value. */
function joinedParts(value: string): readonly string[] {
  const parts = new Map<string, string[]>();
  for (const [, name = "", number = "", written = ""] of ` ${value}`.matchAll(PART)) {
    const own = parts.get(name.toLowerCase()) ?? [];
    parts.set(name.toLowerCase(), own);
    own[Number(number)] = written.replace(/^"(.*)"$/s, "$1").replace(ESCAPED, "$1");
  }
  return [...parts.values()].map((own) => own.join(""));
}
