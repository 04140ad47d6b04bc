/**
 * Encodes an inference request: JSON, or JSON followed by the tensors as bytes. Source: kserve-v2 reference, "Infer request",
 * "Binary tensor extension".
 */

import type { Feed } from "../graph-shapes.ts";

interface InferRequest {
  readonly headers: readonly string[];
  readonly body: Uint8Array<ArrayBuffer>;
}

interface Inferring {
  readonly id: string;
  readonly feeds: readonly Feed[];
  /** Name of the requested output. */
  readonly output: string;
}

export function encodeRequest({ id, feeds, output }: Inferring, isBinary: boolean): InferRequest {
  const inputs = feeds.map(({ name, type, data, dims }) => ({
    name,
    shape: dims,
    datatype: type.toUpperCase(),
    // Token ids are far below the limit of a JSON number.
    ...(isBinary ? { parameters: { binary_data_size: data.byteLength } } : { data: Array.from(data, Number) }),
  }));
  const outputs = [{ name: output, ...(isBinary && { parameters: { binary_data: true } }) }];
  const json = new TextEncoder().encode(JSON.stringify({ id, inputs, outputs }));
  if (!isBinary) return { headers: ["content-type", "application/json"], body: new Uint8Array(json) };
  const body = new Uint8Array(json.length + feeds.reduce((sum, { data }) => sum + data.byteLength, 0));
  body.set(json);
  const view = new DataView(body.buffer);
  let at = json.length;
  for (const { data } of feeds) {
    for (const value of data) {
      if (typeof value === "bigint") view.setBigInt64(at, value, true);
      else view.setInt32(at, value, true);
      at += data.BYTES_PER_ELEMENT;
    }
  }
  const headers = ["content-type", "application/octet-stream", "inference-header-content-length", String(json.length)];
  return { headers, body };
}
