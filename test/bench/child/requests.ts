/** The requests of the bench as bytes, built once: HTTP/1.1, keep-alive, the headers an SDK sends. */

export type RequestKind = "unary" | "stream" | "large-request" | "large-answer";

export interface RequestShape {
  readonly kind: RequestKind;
  readonly model: string;
}

/** Whole requests, sent one after the other and from the first again. */
export interface TextShape {
  readonly kind: "texts";
  readonly texts: readonly string[];
}

/** Body bytes of a unary request, of the order of a short chat; a large one holds 1 MiB. */
const SMALL_BODY_BYTES = 1_000;
const LARGE_BODY_BYTES = 1 << 20;

export function buildRequests(shape: RequestShape | TextShape, port: number): readonly Buffer[] {
  return shape.kind === "texts" ? shape.texts.map((text) => Buffer.from(text)) : [buildRequest(shape, port)];
}

export function buildRequest(shape: RequestShape, port: number): Buffer {
  const body = buildBody(shape);
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Authorization: Bearer bench-client-credential",
    "Content-Type: application/json",
    "Accept: application/json",
    "User-Agent: bench/1.0",
    `Content-Length: ${body.length}`,
    "",
    "",
  ].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

/** Model and stream come first: the upstream of the bench looks at the first bytes only. */
function buildBody(shape: RequestShape): Buffer {
  const size = shape.kind === "large-request" ? LARGE_BODY_BYTES : SMALL_BODY_BYTES;
  const model = shape.kind === "large-answer" ? "bench-large-answer" : shape.model;
  const about = {
    model,
    ...(shape.kind === "stream" ? { stream: true } : {}),
    temperature: 0.2,
    messages: [
      { role: "system", content: "Answer briefly." },
      { role: "user", content: "" },
    ],
  };
  const rest = size - Buffer.byteLength(JSON.stringify(about));
  const sentence = "How vexingly quick daft zebras jump. ";
  about.messages[1] = { role: "user", content: sentence.repeat(Math.ceil(rest / sentence.length)).slice(0, rest) };
  return Buffer.from(JSON.stringify(about));
}
