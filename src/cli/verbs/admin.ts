/**
 * `gateway admin [METHOD] PATH`: sends one request to the admin API. Source: specification document 1, "gateway admin".
 *
 * The body of the answer goes to stdout unchanged, or indented if a terminal shows JSON; an error is reported on
 * stderr. Any operation can be called, even one that is unknown to this version.
 */

import {
  type AdminAddress,
  type AdminAnswer,
  BASE_PATH,
  bodyShapeOf,
  openTransport,
  PROBE_PATHS,
  type RequestBody,
  readText,
  refusalOf,
} from "../../admin-api/index.ts";
import { escapeControlsOfLines } from "../../base/index.ts";
import { chooseAddress } from "../choose-address.ts";
import { readAll, stdinOf, untilAborted, writeAll } from "../copy-streams.ts";
import { type FileInput, readInput } from "../file-input.ts";
import { clipArgument, didYouMean, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { reportFailure } from "../report-failure.ts";
import type { adminFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof adminFlags>;

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/** Timeout in milliseconds: longer than the gateway allows for its slowest operation. */
const TIME_LIMIT_MS = 660_000;
/** Maximum size of a body: several times the maximum size of a document. */
const MAX_BODY_BYTES = 64 << 20;

export async function run(options: Options, positionals: readonly string[], io: Io): Promise<ExitStatus> {
  const { method, path } = targetOf(positionals);
  if (options.d !== undefined && method === "GET") {
    throw new UsageError(
      `a GET has no body: give the method, as in 'gateway admin -d BODY POST ${clipArgument(path)}'`,
    );
  }
  const address = chooseAddress(options, io);
  const body = options.d === undefined ? undefined : await bodyOf(options.d, method, path, io);
  // A read can wait for a change (`wait=`). A change is not cut short.
  if (method === "GET") io.watchReader();
  const transport = openTransport(address);
  try {
    const headers = {
      ...body?.headers,
      ...(options.ifMatch !== undefined && { "if-match": `"${options.ifMatch}"` }),
    };
    const answer = await transport.exchange({ method, path, headers, body: body?.body }, (it) => it, {
      signal: io.signal,
      timeLimitMs: TIME_LIMIT_MS,
    });
    // The API itself never redirects, so a redirect comes from a proxy in front of it and counts as a refusal.
    if (answer.status >= 300) return await printRefusal(answer, address, io);
    return await print(answer, io);
  } catch (error) {
    return reportFailure("admin", error, address, io);
  } finally {
    transport.close();
  }
}

interface Target {
  readonly method: string;
  /** Path from the root of the gateway. */
  readonly path: string;
}

function targetOf(positionals: readonly string[]): Target {
  const [first = "", second] = positionals;
  if (second === undefined && METHODS.includes(first)) throw new UsageError(`missing argument: the path to ${first}`);
  const method = second === undefined ? "GET" : first.toUpperCase();
  if (!METHODS.includes(method)) {
    throw new UsageError(`'${clipArgument(first)}' is not a method of the admin API${didYouMean(method, METHODS)}`);
  }
  return { method, path: pathOf(second ?? first) };
}

/**
 * Returns the full path for `keys`, `/keys` and `/admin/v1/keys`, which all mean the same. Escapes characters that HTTP
 * does not allow in a path.
 */
function pathOf(text: string): string {
  if (text === "") throw new UsageError("the path is empty");
  if (text.includes("://"))
    throw new UsageError("the path is a URL; name the gateway with -url and give only the path");
  const path = text.replace(/[^!$-;=?-Z_a-z~]/gu, (character) => encodeURIComponent(character.toWellFormed()));
  const rooted = path.startsWith("/") ? path : `/${path}`;
  const pathname = rooted.split("?", 1)[0] ?? "";
  const isWhole = pathname === BASE_PATH || pathname.startsWith(`${BASE_PATH}/`);
  return isWhole || pathname === PROBE_PATHS.alive || pathname === PROBE_PATHS.ready ? rooted : BASE_PATH + rooted;
}

interface SentBody {
  readonly headers: { readonly "content-type": string };
  readonly body: RequestBody;
}

/** Returns the body with the content type of the operation. Streams it if the operation takes a stream. */
async function bodyOf(text: string, method: string, path: string, io: Io): Promise<SentBody> {
  const { contentType, isStream } = bodyShapeOf(method, path);
  const headers = { "content-type": contentType };
  if (text === "@-") {
    const stdin = stdinOf(io, "the body");
    const body = isStream ? untilAborted(stdin, io.signal) : await readAll(stdin, MAX_BODY_BYTES, "stdin", io.signal);
    return { headers, body };
  }
  if (!text.startsWith("@")) return { headers, body: text };
  const file = await readInput(io, text.slice(1));
  return {
    headers,
    body: isStream ? streamOf(file) : await readAll(file.open(), MAX_BODY_BYTES, "the file", io.signal),
  };
}

/**
 * Returns a regular file as a function that opens it, so that the request can be repeated. A pipe can be read only
 * once.
 */
function streamOf({ isRegular, open }: FileInput): RequestBody {
  return isRegular ? () => open() : open();
}

async function print(answer: AdminAnswer, io: Io): Promise<ExitStatus> {
  if (!io.isTerminal("stdout")) {
    await writeAll(io.stdout, answer.body, io.signal);
    return 0;
  }
  const type = answer.headers["content-type"] ?? "";
  // An empty answer has no type and can be shown.
  if (type !== "" && !/json|^text\//.test(type)) {
    io.stderr.write(`gateway admin: the answer is ${clipArgument(type)}, which is not for a terminal\n`);
    io.stderr.write("try: the same command with > FILE\n");
    return 2;
  }
  await writeAll(io.stdout, [forTerminal(await readText(answer))], io.signal);
  return 0;
}

/** Prints the body to stdout, since it has more details than the message on stderr. */
async function printRefusal(answer: AdminAnswer, address: AdminAddress, io: Io): Promise<ExitStatus> {
  const body = await readText(answer);
  const isTerminal = io.isTerminal("stdout");
  await writeAll(io.stdout, [isTerminal ? forTerminal(body) : body], io.signal);
  return reportFailure("admin", refusalOf(answer.status, body), address, io);
}

function forTerminal(body: string): string {
  if (body === "") return "";
  let text = body;
  try {
    text = JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // Text that is not JSON is shown unchanged.
  }
  return `${escapeControlsOfLines(text).trimEnd()}\n`;
}
