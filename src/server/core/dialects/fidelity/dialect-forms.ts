/**
 * Checks for forms that one dialect can express and the other cannot. Source: dialects reference, 7, 8.1, 8.3 and 8.4. A text
 * may be as long as the body, so it is either read once, or only a bounded head of it is examined.
 */

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Maximum length of the examined head. A media type with its parameters is shorter; the media itself follows. */
const MAX_HEAD_LENGTH = 256;

/** Charset parameters that are read as UTF-8, the only charset that JSON can hold. */
const UTF8_PARAMETERS: ReadonlySet<string> = new Set(["", "charset=utf-8", "charset=utf8", "charset=us-ascii"]);

/**
 * Returns the media type of a base64 data URI (RFC 2397) in lower case, or `undefined` if it is not one or its text cannot be
 * decoded.
 */
export function dataUriType(uri: string): string | undefined {
  const head = uri.slice(0, MAX_HEAD_LENGTH).toLowerCase();
  const comma = head.indexOf(",");
  if (!head.startsWith("data:") || comma < 0 || comma === uri.length - 1) return undefined;
  const [type = "", ...parameters] = head
    .slice("data:".length, comma)
    .split(";")
    .map((part) => part.trim());
  if (parameters.pop() !== "base64") return undefined;
  const isForeign = type === "text/plain" && !parameters.every((parameter) => UTF8_PARAMETERS.has(parameter));
  return isForeign ? undefined : type;
}

/** Returns whether a messages provider accepts images of the type in base64; `image/jpg` is sent as `image/jpeg`. */
export function isKnownImageType(type: string): boolean {
  switch (type) {
    case "image/jpeg":
    case "image/jpg":
    case "image/png":
    case "image/gif":
    case "image/webp":
      return true;
    default:
      return false;
  }
}

export function isHttpsUrl(url: string): boolean {
  return url.slice(0, 8).toLowerCase() === "https://";
}

/** Maximum length of an id that a messages provider accepts. */
const MAX_USER_ID_LENGTH = 256;

/** Returns whether the end user's id may be sent to a messages provider. */
export function isSendableUserId(id: string): boolean {
  return id.length <= MAX_USER_ID_LENGTH && isOpaqueId(id);
}

/** Returns whether an end user's id is free of personal data: neither an email address nor a telephone number. */
export function isOpaqueId(id: string): boolean {
  return !id.includes("@") && !isTelephoneNumber(id);
}

/**
 * Returns whether the id is a telephone number. Digits only may be the key of a database row; a leading plus, brackets or gaps
 * make them a telephone number.
 */
function isTelephoneNumber(id: string): boolean {
  return /^\+?[\d\s().-]{7,24}$/u.test(id) && /^\+|[\s().]/u.test(id);
}

/** Beginning of a PDF in base64. */
const PDF_HEAD = "JVBERi";

/**
 * Returns the contents of a file as a data URI. The type of bare base64 follows from its beginning or its name; `undefined` if
 * neither shows it.
 */
export function fileUri(data: string, filename: unknown): string | undefined {
  if (data.slice(0, "data:".length).toLowerCase() === "data:") return data;
  const name = typeof filename === "string" ? filename.slice(-MAX_ENDING_LENGTH).toLowerCase() : "";
  if (data.startsWith(PDF_HEAD) || name.endsWith(".pdf")) return `data:application/pdf;base64,${data}`;
  return name.endsWith(".txt") ? `data:text/plain;base64,${data}` : undefined;
}

const MAX_ENDING_LENGTH = 8;
