/**
 * `gateway admin [METHOD] PATH`: one request to the admin API. Source: specification document 1, "gateway admin".
 *
 * stdout gets the body of the answer as it came, indented when a terminal reads JSON; stderr what was refused. An answer
 * is not judged: any operation can be called, also one that this version's table does not have.
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
import { type FileInput, readInput } from "../file-input.ts";
import { clip, didYouMean, type FlagsOf, UsageError } from "../flags.ts";
import type { ExitStatus, Io } from "../io.ts";
import { reportFailure } from "../report-failure.ts";
import type { adminFlags } from "../specs.ts";
import { readAll, stdinOf, untilAborted, writeAll } from "../streams.ts";

type Options = FlagsOf<typeof adminFlags>;

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/** Above what the gateway grants its slowest operation. */
const TIME_LIMIT_MS = 660_000;
/** Several times what the gateway takes of a document. */
const MAX_BODY_BYTES = 64 << 20;

export async function run(options: Options, positionals: readonly string[], io: Io): Promise<ExitStatus> {
  const { method, path } = targetOf(positionals);
  if (options.d !== undefined && method === "GET") {
    throw new UsageError(`a GET has no body: give the method, as in 'gateway admin -d BODY POST ${clip(path)}'`);
  }
  const door = chooseAddress(options, io);
  const body = options.d === undefined ? undefined : await bodyOf(options.d, method, path, io);
  const transport = openTransport(door);
  try {
    const headers = {
      ...body?.headers,
      ...(options.ifMatch !== undefined && { "if-match": `"${options.ifMatch}"` }),
    };
    const answer = await transport.exchange({ method, path, headers, body: body?.body }, (it) => it, {
      signal: io.signal,
      timeLimitMs: TIME_LIMIT_MS,
    });
    // The API does not send anybody elsewhere, so what does is something in front of it.
    if (answer.status >= 300) return await printRefusal(answer, door, io);
    return await print(answer, io);
  } catch (error) {
    return reportFailure("admin", error, door, io);
  } finally {
    transport.close();
  }
}

interface Target {
  readonly method: string;
  /** From the root of the gateway. */
  readonly path: string;
}

function targetOf(positionals: readonly string[]): Target {
  const [first = "", second] = positionals;
  if (second === undefined && METHODS.includes(first)) throw new UsageError(`missing argument: the path to ${first}`);
  const method = second === undefined ? "GET" : first.toUpperCase();
  if (!METHODS.includes(method)) {
    throw new UsageError(`'${clip(first)}' is not a method of the admin API${didYouMean(method, METHODS)}`);
  }
  return { method, path: pathOf(second ?? first) };
}

/** `keys`, `/keys` and `/admin/v1/keys` are one path; what HTTP does not take in a path is escaped. */
function pathOf(text: string): string {
  if (text === "") throw new UsageError("the path is empty");
  if (text.includes("://")) throw new UsageError("the path is a URL; name the gateway by -url and give the path alone");
  const path = text.replace(/[^!$-;=?-Z_a-z~]/gu, (character) => encodeURIComponent(character.toWellFormed()));
  const rooted = path.startsWith("/") ? path : `/${path}`;
  const bare = rooted.split("?", 1)[0] ?? "";
  const isWhole = bare === BASE_PATH || bare.startsWith(`${BASE_PATH}/`);
  return isWhole || bare === PROBE_PATHS.alive || bare === PROBE_PATHS.ready ? rooted : BASE_PATH + rooted;
}

interface SentBody {
  readonly headers: { readonly "content-type": string };
  readonly body: RequestBody;
}

/** Its type is the operation's; what is streamed there is streamed here. */
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

/** Bytes that can be had again make a request that can be repeated. */
function streamOf({ isRegular, open }: FileInput): RequestBody {
  return isRegular ? () => open() : open();
}

async function print(answer: AdminAnswer, io: Io): Promise<ExitStatus> {
  if (!io.isTerminal("stdout")) {
    await writeAll(io.stdout, answer.body, io.signal);
    return 0;
  }
  const type = answer.headers["content-type"] ?? "";
  // An empty answer has no type and nothing that a terminal could take ill.
  if (type !== "" && !/json|^text\//.test(type)) {
    io.stderr.write(`gateway admin: the answer is ${clip(type)}, which is not for a terminal\n`);
    io.stderr.write("try: the same command with > FILE\n");
    return 2;
  }
  await writeAll(io.stdout, [forTerminal(await readText(answer))], io.signal);
  return 0;
}

/** The body, which says more than the line on stderr, is data. */
async function printRefusal(answer: AdminAnswer, door: AdminAddress, io: Io): Promise<ExitStatus> {
  const body = await readText(answer);
  const isTerminal = io.isTerminal("stdout");
  await writeAll(io.stdout, [isTerminal ? forTerminal(body) : body], io.signal);
  return reportFailure("admin", refusalOf(answer.status, body), door, io);
}

function forTerminal(body: string): string {
  if (body === "") return "";
  let text = body;
  try {
    text = JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // Then it is shown as it is.
  }
  return `${escapeControlsOfLines(text).trimEnd()}\n`;
}
