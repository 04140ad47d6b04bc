/** Recognizes response headers that contain our own credential, so that a careless provider cannot leak it to the client. */

/** Names of headers that always contain a credential. */
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "proxy-authorization",
]);

/** Minimum key length that is searched within longer text. A shorter key may occur by chance, so it must match a whole word. */
const MIN_SEARCHED_LENGTH = 8;

/** Returns whether a response header contains the credential. */
export type ContainsCredential = (lowerCaseName: string, value: string) => boolean;

/**
 * Builds a check by header name and by value: the key as it is, in other letter case, percent-encoded, in hexadecimal or within
 * base64.
 */
export function createCredentialCheck(key: string): ContainsCredential {
  if (key.length < MIN_SEARCHED_LENGTH) {
    return (name, value) => CREDENTIAL_HEADERS.has(name) || value.split(/[\s"',;:=]+/).includes(key);
  }
  const inAnyCase = [key, Buffer.from(key).toString("hex")].map((form) => form.toLowerCase());
  const exact = [0, 1, 2].flatMap((before) => {
    const form = withinBase64(key, before);
    return [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
  const shows = (value: string): boolean => {
    const lower = value.toLowerCase();
    return inAnyCase.some((form) => lower.includes(form)) || exact.some((form) => value.includes(form));
  };
  return (name, value) => {
    if (CREDENTIAL_HEADERS.has(name)) return true;
    if (value.length < key.length) return false;
    return shows(value) || (value.includes("%") && shows(decoded(value)));
  };
}

/** Returns the base64 of the key after `before` other bytes, without the characters that also encode neighboring bytes. */
function withinBase64(key: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(key)]);
  return bytes.toString("base64").slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
}

function decoded(value: string): string {
  return value.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
