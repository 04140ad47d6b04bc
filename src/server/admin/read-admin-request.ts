/** Reads the body of a request, and the headers that control a write. */

import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Operation, OperationId } from "../../admin-api/index.ts";
import type { WriteOptions } from "../cluster/index.ts";
import {
  type BodyReader,
  type BufferedBody,
  bodyNotAllowed,
  decodeText,
  parseJson,
  streamBody,
} from "./body-reader.ts";
import type { Ports } from "./ports.ts";
import { actorOf, type Principal } from "./principal.ts";
import { refusal } from "./refusal.ts";

/** Time limit of a write in milliseconds: an election takes two seconds, a slow disk some more. */
const WRITE_LIMIT_MS = 15_000;
/** Time limit of a change of members or leader, and of a restore, in milliseconds: these wait for others to catch up. */
const LONG_WRITE_LIMIT_MS = 60_000;
const LONG_WRITES: ReadonlySet<OperationId> = new Set([
  "delete_cluster_member",
  "prune_cluster",
  "transfer_leader",
  "restore_snapshot",
]);

/** Visible ASCII without the character that separates principal and key. */
const IDEMPOTENCY_KEY = /^[!-.0-~]{1,128}$/;
const REVISION = /^"?(\d{1,16})"?$/;

interface ReceivedBody extends BufferedBody {
  readonly value: unknown;
}

/** Returns the body in the form that its operation takes: parsed JSON, the text of a document, or the unread stream. */
export async function receiveBody(
  bodies: BodyReader,
  request: IncomingMessage,
  operation: Operation,
  signal: AbortSignal,
): Promise<ReceivedBody> {
  const contentType = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  switch (operation.body.kind) {
    case "none":
      return { ...(await readEmptyBody(bodies, request, operation, signal)), value: undefined };
    case "stream":
      return { bytes: Buffer.alloc(0), value: streamBody(request), release() {} };
    case "document": {
      const buffered = await bodies.read(request, operation, signal);
      return parseBufferedBody(buffered, decodeText);
    }
    case "json": {
      const buffered = await bodies.read(request, operation, signal);
      // A web page can send any text to an address that it can reach, but this type needs a CORS preflight.
      if (buffered.bytes.length > 0 && contentType !== "application/json") {
        buffered.release();
        throw refusal("invalid", "The body must be sent as content-type application/json.");
      }
      return parseBufferedBody(buffered, parseJson);
    }
    default:
      return operation.body satisfies never;
  }
}

function parseBufferedBody(buffered: BufferedBody, parse: (bytes: Buffer) => unknown): ReceivedBody {
  try {
    return { ...buffered, value: parse(buffered.bytes) };
  } catch (error) {
    buffered.release();
    throw error;
  }
}

async function readEmptyBody(
  bodies: BodyReader,
  request: IncomingMessage,
  operation: Operation,
  signal: AbortSignal,
): Promise<BufferedBody> {
  const buffered = await bodies.read(request, operation, signal);
  if (buffered.bytes.length > 0 && buffered.bytes.toString("latin1").trim() !== "{}") {
    buffered.release();
    throw bodyNotAllowed();
  }
  return buffered;
}

interface WriteHeaders {
  /** Revision of `If-Match`. */
  readonly ifMatch: number | undefined;
  readonly write: WriteOptions;
}

/** Reads the headers that control a write. Throws `invalid` for a malformed header or one that the operation does not take. */
export function readWriteHeaders(
  ports: Ports,
  request: IncomingMessage,
  { id, operation }: { readonly id: OperationId; readonly operation: Operation },
  principal: Principal,
  body: Buffer,
  signal: AbortSignal,
): WriteHeaders {
  const key = header(request, "idempotency-key");
  const match = header(request, "if-match");
  if (
    key !== undefined &&
    (operation.group === "read" || operation.method === "GET" || operation.body.kind === "stream")
  ) {
    throw refusal("invalid", "This operation takes no Idempotency-Key.");
  }
  if (key !== undefined && !IDEMPOTENCY_KEY.test(key)) {
    throw refusal("invalid", "An Idempotency-Key has 1 to 128 visible ASCII characters and no slash.");
  }
  if (match !== undefined && operation.takesIfMatch !== true) {
    throw refusal("invalid", "This operation takes no If-Match.");
  }
  const by = actorOf(principal);
  return {
    ifMatch: match === undefined ? undefined : revisionOf(match),
    write: {
      by,
      timeoutMs: LONG_WRITES.has(id) ? LONG_WRITE_LIMIT_MS : WRITE_LIMIT_MS,
      signal,
      ...(key !== undefined && {
        idempotency: { key: `${by.iss}/${by.sub}/${key}`, digest: requestDigest(ports, request, id, body) },
      }),
    },
  };
}

function requestDigest(ports: Ports, request: IncomingMessage, id: OperationId, body: Buffer): string {
  const requestBytes = Buffer.concat([
    Buffer.from(`${request.method} ${request.url}\n${request.headers["if-match"] ?? ""}\n`),
    body,
  ]);
  if (id === "put_secret") return ports.secrets.requestDigest(requestBytes);
  return createHash("sha256").update(requestBytes).digest("hex");
}

function revisionOf(match: string): number {
  const [, digits] = REVISION.exec(match) ?? [];
  const revision = Number(digits);
  if (digits === undefined || !Number.isSafeInteger(revision)) {
    throw refusal("invalid", "If-Match must be one revision, as the ETag of the source gave it.");
  }
  return revision;
}

function header(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name] ?? [];
  if (values.length > 1) throw refusal("invalid", `The header ${name} is given more than once.`);
  return values[0];
}
