/** Finds out what a request is addressed to: its route, its model, and the provider that serves it. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { GatewayError } from "../../base/index.ts";
import {
  boundaryOf,
  findField,
  type Member,
  memberValue,
  type Route,
  type RouteDialect,
  scanObject,
} from "../core/dialects/index.ts";
import type { Routed, Snapshot } from "../snapshot/index.ts";

/** Where the model's name stands, so that an alias can be written in its place. */
export type ModelSpot =
  | { readonly kind: "none" }
  | { readonly kind: "json"; readonly member: Member }
  | { readonly kind: "form"; readonly start: number; readonly end: number }
  | { readonly kind: "path"; readonly prefix: string }
  | { readonly kind: "query" };

export interface Target extends Routed {
  readonly route: Route;
  readonly dialect: RouteDialect;
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
  /** As the client asked for it. */
  readonly model: string | undefined;
  readonly spot: ModelSpot;
  /** The body as it goes upstream when nothing changes. */
  readonly original: Buffer;
  /** The body with its content encoding taken off; the same buffer where there was none. */
  readonly plain: Buffer;
  /** True when `plain` is a JSON object. */
  readonly isJson: boolean;
  readonly streams: boolean;
  readonly streamOptions: Member | undefined;
}

export interface Addressed {
  readonly route: Route;
  readonly dialect: RouteDialect;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

type Body = Pick<Target, "original" | "plain" | "isJson" | "streams" | "streamOptions" | "model" | "spot">;

const WANTED = ["model", "stream", "stream_options"] as const;

/** Throws `invalid_request` or `model_not_found`. */
export async function address(snapshot: Snapshot, request: Addressed): Promise<Target> {
  const { route, dialect, path, query } = request;
  const body = await readModel(snapshot, request);
  if (body.model === undefined && route.modelRequired) {
    throw new GatewayError("invalid_request", "The request names no model.", { param: "model" });
  }
  const routed =
    body.model === undefined
      ? snapshot.defaultProvider && { provider: snapshot.defaultProvider, label: "none" }
      : snapshot.route(body.model);
  if (routed === undefined) {
    const what = body.model === undefined ? "requests without a model" : "this model";
    throw new GatewayError("model_not_found", `No provider serves ${what}, and there is no default provider.`, {
      param: "model",
    });
  }
  return { ...body, route, dialect, path, query, provider: routed.provider, label: routed.label };
}

async function readModel(snapshot: Snapshot, request: Addressed): Promise<Body> {
  const { route } = request;
  const raw: Body = {
    original: request.body,
    plain: request.body,
    isJson: false,
    streams: false,
    streamOptions: undefined,
    model: undefined,
    spot: { kind: "none" },
  };
  const contentType = String(request.headers["content-type"] ?? "");
  switch (route.model) {
    case "none":
      return raw;
    case "path": {
      const prefix = "/v1/models/";
      return { ...raw, model: decodePath(request.path.slice(prefix.length)), spot: { kind: "path", prefix } };
    }
    case "query": {
      const model = new URLSearchParams(request.query).getAll("model");
      if (model.length > 1)
        throw new GatewayError("invalid_request", "The query names the model twice.", { param: "model" });
      return { ...raw, model: model[0], spot: { kind: "query" } };
    }
    case "batch":
      return { ...(await readJson(snapshot, request, raw)), ...(await readBatch(snapshot, request)) };
    case "json":
      return request.body.length === 0 && !route.modelRequired ? raw : readJson(snapshot, request, raw);
    case "form": {
      if (/^application\/([a-z.+-]+\+)?json/i.test(contentType)) return readJson(snapshot, request, raw);
      const boundary = /^multipart\/form-data/i.test(contentType) ? boundaryOf(contentType) : undefined;
      return boundary === undefined ? raw : readForm(raw, boundary);
    }
    default:
      return route.model satisfies never;
  }
}

async function readJson(snapshot: Snapshot, request: Addressed, raw: Body): Promise<Body> {
  const plain = await decode(request, snapshot.maxBodyBytes);
  const scan = scanObject(plain, WANTED);
  if (scan.kind === "problem") throw new GatewayError("invalid_request", `Cannot read the request: ${scan.message}.`);
  const [model, stream, streamOptions] = scan.members;
  const value = model === undefined ? undefined : valueOrRefuse(plain, model);
  // Null is absence where the model is optional; where it is required it is refused as absent.
  if (value !== undefined && value !== null && typeof value !== "string") {
    throw new GatewayError("invalid_request", "The model must be a string.", { param: "model" });
  }
  return {
    ...raw,
    plain,
    isJson: true,
    streams: stream !== undefined && plain[stream.valueStart] === 0x74,
    streamOptions,
    model: value ?? undefined,
    spot: model === undefined ? { kind: "none" } : { kind: "json", member: model },
  };
}

function valueOrRefuse(plain: Buffer, member: Member): unknown {
  try {
    return memberValue(plain, member);
  } catch {
    throw new GatewayError("invalid_request", "The model must be a string.", { param: "model" });
  }
}

function readForm(raw: Body, boundary: string): Body {
  const field = findField(raw.plain, boundary, "model");
  if (field.kind === "problem") throw new GatewayError("invalid_request", `Cannot read the request: ${field.message}.`);
  if (field.kind === "absent") return raw;
  return { ...raw, model: field.value, spot: { kind: "form", start: field.start, end: field.end } };
}

/** A batch names a model in each entry; one request goes to one provider, so they must agree on it. */
async function readBatch(snapshot: Snapshot, request: Addressed): Promise<Pick<Body, "model" | "spot">> {
  const plain = await decode(request, snapshot.maxBodyBytes);
  const models = new Set<string>();
  try {
    const { requests } = JSON.parse(plain.toString("utf8")) as { requests: { params: { model: unknown } }[] };
    for (const { params } of requests) models.add(String(params.model));
  } catch (cause) {
    throw new GatewayError("invalid_request", "A batch is an object whose requests each have params with a model.", {
      cause,
    });
  }
  const providers = new Set([...models].map((model) => snapshot.route(model)?.provider));
  if (providers.size > 1) {
    throw new GatewayError("invalid_request", "The batch names models of several providers: send one batch to each.");
  }
  if ([...models].some((model) => [...providers][0]?.aliases.has(model) === true)) {
    throw new GatewayError("invalid_request", "A batch must name the provider's own models, not aliases.", {
      param: "model",
    });
  }
  return { model: [...models][0], spot: { kind: "none" } };
}

const DECODERS: ReadonlyMap<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>> = new Map(
  [
    ["gzip", promisify(gunzip)],
    ["x-gzip", promisify(gunzip)],
    ["deflate", promisify(inflate)],
    ["br", promisify(brotliDecompress)],
  ],
);

/** Bounded like the body itself, so that a small body cannot grow into a large one. */
async function decode({ headers, body }: Addressed, maxBytes: number): Promise<Buffer> {
  const encoding = String(headers["content-encoding"] ?? "identity").toLowerCase();
  if (encoding === "identity") return body;
  const decoder = DECODERS.get(encoding);
  if (decoder === undefined) {
    throw new GatewayError("invalid_request", "The content encoding is not one of gzip, deflate and br.");
  }
  try {
    return await decoder(body, { maxOutputLength: maxBytes });
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    throw isTooLarge
      ? new GatewayError("body_too_large", `The decoded request body is larger than ${maxBytes} bytes.`)
      : new GatewayError("invalid_request", "The body does not decode as its content encoding says.", { cause });
  }
}

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new GatewayError("invalid_request", "The path is not correctly percent-encoded.");
  }
}
