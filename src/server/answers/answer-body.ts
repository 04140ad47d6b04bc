/**
 * Determines how the body of an answer is inspected, from its content type and its first bytes. Both are needed, because a
 * provider may declare any type and clients parse the body regardless.
 */
import { isUtf8 } from "node:buffer";
import { type AnswerTexts, type Dialect, type Media, readAnswerTexts } from "../core/dialects/index.ts";
import { hidesText, UnreadableAnswer } from "./inspected-event.ts";

/**
 * Kind of a body. `events`: read one by one. `text`: read whole. `media`: passed unread. `unreadable`: in an unsupported charset.
 */
export type BodyKind = "events" | "text" | "media" | "unreadable";

/** Maximum number of bytes of a body that are examined to determine its kind. */
const MAX_HEAD_BYTES = 512;

/** Matches leading white space, which includes a byte order mark here. */
const SPACE = /^\s*/;
const FIELD = /^(?::|(?:data|event|id|retry)(?:[:\r\n]|$))/;
const FIELDS = ["data", "event", "id", "retry"];
const TEXT_TYPES =
  /^text\/|^application\/(?:[\w.+-]*[+.-])?(?:json|jsonl|ndjson|xml|javascript|yaml|x-www-form-urlencoded|x-subrip)$/;
/** Charsets in which ASCII characters have other bytes. */
const OTHER_ALPHABETS = /^(?:utf-?(?:7|16|32)|ucs|iso-10646|unicode|ebcdic|ibm|cp037|hz|iso-2022)/;

export interface AnswerType {
  /** Type in lower case, without parameters; empty if none is named. */
  readonly name: string;
  /** Charset in lower case; empty if none is named. */
  readonly charset: string;
}

export function typeOf(contentType: string): AnswerType {
  const [name = "", ...parameters] = contentType.toLowerCase().split(";");
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^"\s]*)/.exec(one)?.[1]).find((one) => one);
  return { name: name.trim(), charset: charset ?? "" };
}

/** Returns the kind, or `undefined` if more of the body is needed. `isAll`: nothing follows. */
export function kindOf({ name, charset }: AnswerType, head: Buffer, isAll: boolean): BodyKind | undefined {
  const isDeclared = TEXT_TYPES.test(name);
  if (isDeclared && OTHER_ALPHABETS.test(charset)) return "unreadable";
  const isEnough = isAll || head.length >= MAX_HEAD_BYTES;
  const text = head.toString("utf8", 0, MAX_HEAD_BYTES).replace(SPACE, "");
  if (!isEnough && mayBeField(text)) return undefined;
  const isEvents = FIELD.test(text);
  if (name === "text/event-stream") return isEvents || !/^[[{<"]/.test(text) ? "events" : "text";
  if (isEvents) return "events";
  if (isDeclared || /^[[{]/.test(text)) return "text";
  if (!isEnough) return undefined;
  return isText(head.subarray(0, MAX_HEAD_BYTES)) ? "text" : "media";
}

const mayBeField = (text: string): boolean =>
  text === "" || FIELDS.some((field) => field !== text && field.startsWith(text));

/**
 * Returns whether the byte is a control character that texts do not contain; white space, a backspace and an escape may occur.
 */
const isControl = (byte: number): boolean => byte < 0x08 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b);

function isText(head: Buffer): boolean {
  if (head.some(isControl)) return false;
  // The last character may be cut off.
  return [0, 1, 2, 3].some((cut) => isUtf8(head.subarray(0, Math.max(0, head.length - cut))));
}

export function mediaOf({ name }: AnswerType): Media {
  if (name.startsWith("image/")) return "image";
  return name.startsWith("audio/") ? "audio" : "file";
}

interface WholeTexts extends AnswerTexts {
  /** Whether the body was converted: a rewritten body is UTF-8, whatever it was. */
  readonly isTranscoded: boolean;
}

/** Returns the texts of a whole body, or `undefined` if it is not text after all. Throws `UnreadableAnswer`. */
export function wholeTexts(
  body: Buffer,
  type: AnswerType,
  routeName: string,
  dialect: Dialect,
): WholeTexts | undefined {
  const isPlain = type.name.startsWith("text/") && !type.name.endsWith("json");
  if (body.includes(0)) {
    if (TEXT_TYPES.test(type.name) || /^\s*[[{]/.test(body.toString("utf8", 0, MAX_HEAD_BYTES))) {
      throw new UnreadableAnswer("its alphabet is not supported");
    }
    return undefined;
  }
  const isTranscoded = !isUtf8(body);
  const source = isTranscoded ? decoded(body, type.charset) : body.toString("utf8");
  const plain = isTranscoded ? Buffer.from(source) : body;
  const { texts, uninspected, rewrite } = readAnswerTexts(routeName, dialect, plain);
  if (!isPlain && texts.length === 1 && texts[0]?.text === source && hidesText(source)) {
    throw new UnreadableAnswer("it contains JSON that cannot be parsed");
  }
  return {
    texts,
    uninspected,
    isTranscoded,
    rewrite: (changes) => {
      const made = rewrite(changes);
      return made === plain ? body : made;
    },
  };
}

/** Decodes a body as most clients do, with replacement characters for invalid bytes. */
function decoded(body: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset === "" ? "utf-8" : charset, { ignoreBOM: true }).decode(body);
  } catch {
    return body.toString("utf8");
  }
}
