/**
 * Reads the visible content of a compat message, whole or delta by delta: its texts, its images and its sound.
 *
 * Providers send images in `images` (OpenRouter, LiteLLM) or as parts of the content, and sound in `audio`. A client whose dialect
 * has no such content gets the address of an image as a link, the transcript of sound as text, and a notice in place of the data,
 * so that nothing is left out without a word.
 */
import { createHash } from "node:crypto";
import { listOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";
import { isThought, partsOf, textOfPart } from "./chat-answer-parts.ts";

/** Image as base64. */
export interface ContentImage {
  /** Part of the media type after `image/`. */
  readonly format: string;
  readonly data: string;
}

export type ContentPart = { readonly text: string } | { readonly image: ContentImage };

type Media = "image" | "audio" | "video" | "file";

/** Kinds of media by the type of the content part. */
const MEDIA_TYPES: ReadonlyMap<unknown, Media> = new Map<unknown, Media>([
  ["image_url", "image"],
  ["image", "image"],
  ["output_image", "image"],
  ["input_audio", "audio"],
  ["output_audio", "audio"],
  ["audio", "audio"],
  ["audio_url", "audio"],
  ["video_url", "video"],
  ["video", "video"],
  ["file", "file"],
]);

/** Members that contain the address or the data of media, in a part or in the object of the same name within it. */
const SOURCES =
  "url b64_json data file_data image_url image output_image input_audio output_audio audio audio_url video_url video file source".split(
    " ",
  );

const NAMES: Readonly<Record<Media, string>> = {
  image: "An image",
  audio: "Sound",
  video: "A video",
  file: "A file",
};

/** Length from which a transcript that arrives after text is no longer kept until the end, in UTF-16 units. */
const MAX_KEPT = 1 << 20;

/** Maximum number of notices in an answer. The media beyond it get one notice with their number, at the end. */
const MAX_NOTICES = 8;

const DATA_URL = /^data:([^;,]*)[^,]*,/;
const WEB_URL = /^https?:\/\/\S+$/;
const IMAGE_TYPE = /^image\/([a-z0-9.+-]+)$/i;

interface FoundMedia {
  readonly media: Media;
  /** Address, a `data:` URL or base64; empty if there is none. */
  readonly source: string;
}

export class AnswerContent {
  readonly #takesImage: (data: string) => boolean;
  /** Hashes of the images so far, since some providers repeat an image in their last chunk. */
  readonly #images = new Set<string>();
  /** Length of the text so far, without transcripts, in UTF-16 units. The text itself is not kept, since most answers have no sound. */
  #textLength = 0;
  /** Transcript that arrived after text, which it usually repeats. */
  #transcript = "";
  #hasReturnedText = false;
  /** Whether the next text begins a new paragraph, since a notice or a link precedes it. */
  #needsBreak = false;
  #audioLength = 0;
  /** Number of images, videos and files that the client's dialect has no form for. */
  #omitted = 0;

  /** `takesImage` returns whether the client's dialect has a form for the image. */
  constructor(takesImage: (data: string) => boolean) {
    this.#takesImage = takesImage;
  }

  /** Returns the content of a message or delta, in order. */
  read(message: Values): readonly ContentPart[] {
    const { content, images, audio } = message;
    const found: ContentPart[] = [];
    if (typeof content === "string") this.#addText(found, content);
    else if (content !== undefined && content !== null) {
      for (const part of partsOf(content)) this.#addPart(found, part);
    }
    for (const image of listOf(images)) this.#addMedia(found, { media: "image", source: sourceOf(image) });
    this.#addAudio(found, objectOf(audio));
    return found;
  }

  /**
   * Returns what is known only at the end of the answer: a transcript that the text does not repeat, the notice in place of
   * sound, and the number of media without a notice of their own.
   */
  end(): readonly ContentPart[] {
    const found: ContentPart[] = [];
    const transcript = this.#transcript.trim();
    const isRepeated = this.#transcript.length === this.#textLength;
    if (transcript !== "" && !isRepeated) this.#addParagraph(found, transcript);
    if (this.#audioLength > 0) this.#addParagraph(found, notice("audio", "", this.#audioLength));
    if (this.#omitted > MAX_NOTICES) this.#addParagraph(found, summaryNotice(this.#omitted - MAX_NOTICES));
    this.#audioLength = 0;
    this.#omitted = 0;
    return found;
  }

  #addPart(found: ContentPart[], part: Values): void {
    const media = MEDIA_TYPES.get(part["type"]);
    if (media !== undefined) this.#addMedia(found, { media, source: sourceOf(part) });
    else if (!isThought(part)) this.#addText(found, textOfPart(part));
  }

  #addText(found: ContentPart[], text: string): void {
    if (text === "") return;
    this.#textLength += text.length;
    this.#write(found, text);
  }

  #write(found: ContentPart[], text: string): void {
    const written = this.#needsBreak ? `\n\n${text}` : text;
    const last = found.at(-1);
    if (last !== undefined && "text" in last) found[found.length - 1] = { text: last.text + written };
    else found.push({ text: written });
    this.#needsBreak = false;
    this.#hasReturnedText = true;
  }

  #addParagraph(found: ContentPart[], text: string): void {
    this.#needsBreak = this.#hasReturnedText;
    this.#write(found, text);
    this.#needsBreak = true;
  }

  #addMedia(found: ContentPart[], { media, source }: FoundMedia): void {
    if (media === "image" && this.#isRepeated(source)) return;
    if (WEB_URL.test(source)) {
      this.#addParagraph(found, `${media === "image" ? "!" : ""}[${media}](${source})`);
      return;
    }
    const [prefix = "", type = ""] = DATA_URL.exec(source) ?? [];
    const data = source.slice(prefix.length);
    const format = (IMAGE_TYPE.exec(type)?.[1] ?? "png").toLowerCase();
    if (media !== "image" || data === "" || !this.#takesImage(data)) {
      this.#omitted += 1;
      if (this.#omitted <= MAX_NOTICES) this.#addParagraph(found, notice(media, type, data.length));
      return;
    }
    found.push({ image: { format, data } });
    this.#hasReturnedText = false;
    this.#needsBreak = false;
  }

  /** Adds the transcript, unless there is a text that may have the same words. The sound itself arrives in pieces. */
  #addAudio(found: ContentPart[], audio: Values | undefined): void {
    if (audio === undefined) return;
    const transcript = stringOf(audio["transcript"]) ?? "";
    if (this.#textLength > 0 && this.#transcript.length < MAX_KEPT) this.#transcript += transcript;
    else if (transcript !== "") this.#write(found, transcript);
    this.#audioLength += (stringOf(audio["data"]) ?? "").length;
  }

  #isRepeated(source: string): boolean {
    const hash = createHash("sha256").update(source).digest("base64");
    if (source === "" || !this.#images.has(hash)) {
      this.#images.add(hash);
      return false;
    }
    return true;
  }
}

/** Returns the address or data of media, wherever the provider writes it; empty if there is none. */
function sourceOf(value: unknown, depth = 0): string {
  if (typeof value === "string") return value;
  const object = objectOf(value);
  if (object === undefined || depth > 2) return "";
  for (const name of SOURCES) {
    const source = sourceOf(object[name], depth + 1);
    if (source !== "") return source;
  }
  return "";
}

/** Returns the text that stands in place of media. `length` is that of the base64. */
function notice(media: Media, type: string, length: number): string {
  const details = [type, sizeText(length)].filter((detail) => detail !== "").join(", ");
  const name = details === "" ? NAMES[media] : `${NAMES[media]} (${details})`;
  return `[${name} is left out, because answers of this API cannot contain it. POST /v1/chat/completions returns it.]`;
}

/** Returns the text that stands in place of further media. */
function summaryNotice(count: number): string {
  const [what, them] = count === 1 ? ["1 more image or file is", "it"] : [`${count} more images or files are`, "them"];
  return `[${what} left out, because answers of this API cannot contain ${them}. POST /v1/chat/completions returns ${them}.]`;
}

function sizeText(base64Length: number): string {
  if (base64Length === 0) return "";
  const bytes = Math.floor((base64Length * 3) / 4);
  return bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} kB`;
}
