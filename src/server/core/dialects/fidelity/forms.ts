/**
 * Forms that one dialect can tell and the other cannot. Source: dialects reference, 7, 8.1, 8.3 and 8.4.
 * Texts may be as long as the body: no more than a bounded head of one is looked at, or it is read once.
 */

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** A media type with its parameters is shorter; what follows is the media itself. */
const MAX_HEAD_LENGTH = 256;

/** Charsets that are read as UTF-8, which is all that JSON can hold. */
const UTF8_PARAMETERS: ReadonlySet<string> = new Set(["", "charset=utf-8", "charset=utf8", "charset=us-ascii"]);

/** The media type of a data URI (RFC 2397) in base64, in lower case. Undefined: it is none, or no text that can be told. */
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

/** Of the images that a messages provider takes in base64; `image/jpg` is told as `image/jpeg`. */
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

/** Longer ones a messages provider refuses. */
const MAX_USER_ID_LENGTH = 256;

/** Whether a messages provider is told the id. */
export function isToldUserId(id: string): boolean {
  return id.length <= MAX_USER_ID_LENGTH && isOpaqueId(id);
}

/** An id of an end user that says nothing of the person: no address for mail and no telephone number. */
export function isOpaqueId(id: string): boolean {
  return !id.includes("@") && !isTelephoneNumber(id);
}

/** Digits alone may as well be the key of a row; a leading plus, brackets or gaps make them a number to call. */
function isTelephoneNumber(id: string): boolean {
  return /^\+?[\d\s().-]{7,24}$/u.test(id) && /^\+|[\s().]/u.test(id);
}

/** How the base64 of a PDF begins. */
const PDF_HEAD = "JVBERi";

/** Contents of a file as a data URI. Bare base64 is of the type that its beginning or its name tells; undefined: neither does. */
export function fileUri(data: string, filename: unknown): string | undefined {
  if (data.slice(0, "data:".length).toLowerCase() === "data:") return data;
  const name = typeof filename === "string" ? filename.slice(-MAX_ENDING_LENGTH).toLowerCase() : "";
  if (data.startsWith(PDF_HEAD) || name.endsWith(".pdf")) return `data:application/pdf;base64,${data}`;
  return name.endsWith(".txt") ? `data:text/plain;base64,${data}` : undefined;
}

const MAX_ENDING_LENGTH = 8;
