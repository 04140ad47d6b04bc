/**
 * Converts images and documents of compat parts to sources of the messages dialect. Source: dialects reference, 8.3 and 5.1.
 *
 * The functions return `undefined` for content that the messages dialect has no form for: another media type, or an address
 * that is not https.
 */
import { dataUriType, isHttpsUrl, isKnownImageType } from "../../fidelity/dialect-forms.ts";
import type { DocumentSource, ImageSource } from "./block-types.ts";

const PDF = "application/pdf";

/** Converts the `url` of an `image_url` part. A PDF becomes a document, as with several providers. */
export function imageUrlSource(url: string): ImageSource | DocumentSource | undefined {
  if (isHttpsUrl(url)) return { type: "url", url };
  const type = dataUriType(url);
  if (type === PDF) return { type: "base64", media_type: PDF, data: dataOf(url) };
  if (type === undefined || !isKnownImageType(type)) return undefined;
  // `image/jpg` is common, but not a registered type.
  return { type: "base64", media_type: type === "image/jpg" ? "image/jpeg" : type, data: dataOf(url) };
}

/** Converts the `file_data` of a `file` part. */
export function fileDataSource(fileData: string): DocumentSource | undefined {
  switch (dataUriType(fileData)) {
    case PDF:
      return { type: "base64", media_type: PDF, data: dataOf(fileData) };
    case "text/plain": {
      const data = Buffer.from(dataOf(fileData), "base64").toString("utf8");
      return isBlank(data) ? undefined : { type: "text", media_type: "text/plain", data };
    }
    default:
      return undefined;
  }
}

export function isDocument(source: ImageSource | DocumentSource): source is DocumentSource {
  return source.type === "text" || (source.type === "base64" && source.media_type === PDF);
}

/** Returns whether the text has no visible character; the API refuses such a text. */
export function isBlank(text: string): boolean {
  return !/\S/.test(text);
}

/** Returns the data without the line breaks of encoders, which the API does not accept. */
function dataOf(dataUri: string): string {
  const data = dataUri.slice(dataUri.indexOf(",") + 1);
  return /\s/.test(data) ? data.replace(/\s+/g, "") : data;
}
